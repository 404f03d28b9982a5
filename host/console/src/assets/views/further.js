// What a decision rarely needs: the effect of off-chain assets, the score over time, and what the reports do not show.

import { html, useState } from "../dom.js";
import { ask, path, useAction } from "../api.js";
import { useMe } from "../session.js";
import { Problem, announce } from "../parts.js";
import { dollars, protocolIn, range, several, signed } from "../words.js";
import { ScoreCourse } from "./course.js";
import { Identity } from "./identity.js";
import { Statement } from "./statement.js";

/** @param {{ address: string; score?: Api.Score; report: Api.Report; boost: (score: number | null) => void; children: Html }} props */
export function Further({ address, score, report, boost, children }) {
  return html`<section class="card further" aria-label="Further">
    ${
      score &&
      html`<details id="off-chain">
        <summary>With off-chain assets</summary>
        <${Boost} score=${score} show=${boost} />
      </details>`
    }
    <details id="over-time">
      <summary>Score over time</summary>
      <${ScoreCourse} address=${address} />
    </details>
    ${score && !score.provisional && html`<${Statement} address=${score.address} version=${score.model_version} />`}
    <${Identity} address=${address} />
    <${Unknown} report=${report} isAbove=${score?.provisional} />
    ${children}
  </section>`;
}

/**
 * What was not read, so that a missing figure is not taken for zero.
 * @param {{ report: Api.Report; isAbove?: boolean }} props
 */
function Unknown({ report: { unread = [], credit_events: events }, isAbove }) {
  const parts = isAbove ? [] : unread;
  return html`<details id="unknown" class="prints">
    <summary>What is not known</summary>
    ${
      parts.length > 0 &&
      html`<p>These parts were not read. The score does not use them; figures without them may be too low.</p>
        <ul>
          ${parts.map((part) => html`<li>${part}</li>`)}
        </ul>`
    }
    ${
      events.remarks.length > 0 &&
      html`<p>What the lending events do not show:</p>
        <ul>
          ${events.remarks.map((remark) => html`<li>${protocolIn(remark)}</li>`)}
        </ul>`
    }
    <p>Lenders that are not read, so that nothing can be said of them: ${events.not_covered.join(", ") || "none"}.</p>
  </details>`;
}

const MOST = 50000;

/**
 * Asks for the score with off-chain assets added, when the slider comes to rest.
 * @param {{ score: Api.Score; show: (score: number | null) => void }} props
 */
function Boost({ score, show }) {
  const me = useMe();
  const [assets, setAssets] = useState(0);
  /** @type {Action<Api.Score>} */
  const { done, busy, error, start } = useAction();
  /** @param {number} value */
  const rest = (value) =>
    start(async () => {
      if (value === 0) return show(null);
      const json = { total_asset_usd: value };
      const answer = await ask(path(["score", "address", score.address]), { method: "POST", json });
      show(answer.body.score);
      announce(`With ${dollars(value)}: ${answer.body.score}`);
      return answer.body;
    });
  return html`<div class="boost">
    <label for="boost">Off-chain assets of the owner: <output for="boost">${dollars(assets)}</output></label>
    <input
      id="boost"
      type="range"
      min="0"
      max=${MOST}
      step="1000"
      value=${assets}
      aria-valuetext=${dollars(assets)}
      onInput=${(event) => setAssets(Number(event.target.value))}
      onChange=${(event) => rest(Number(event.target.value))}
    />
    <p class="faint">
      The rule adds at most 15 % of the gap to 1000. Each question costs ${several(me.costs.score, "unit")}.
    </p>
    ${busy && html`<p>Asking …</p>`}
    ${
      done &&
      html`<p>
        With them the score is <b>${done.score}</b>, ${range(done.range)} (${signed(done.score - score.score)}).
      </p>`
    }
    ${error && html`<${Problem} error=${error} />`}
  </div>`;
}
