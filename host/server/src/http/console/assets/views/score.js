// The score of an address: its picture, its factors, and what off-chain assets would add.

import { html, useEffect, useState } from "../dom.js";
import { ask, path, useAction, useAsk } from "../api.js";
import { useMe } from "../session.js";
import { Answer, Digest, Facts, Mark, Problem, Raw, Time, announce } from "../parts.js";
import { RANGES, count, dollars, range, several, signed } from "../words.js";
import { Bar } from "../charts/bars.js";
import { Decile, Scale } from "../charts/scale.js";

/** The points that every wallet starts with. */
const BASE = RANGES[0][1];

/** `tell` is given where the score came from, as soon as that is known; `origin` is that. */
export function Score({ address, origin, tell }) {
  const asked = useAsk(path(["score", "address", address], { include_factors: true }));
  return html`<${Answer}
    asked=${asked}
    what="the score"
    show=${(answer) => html`<${Scored} answer=${answer} origin=${origin} tell=${tell} />`}
  />`;
}

function Scored({ answer: { body, text, scoreId }, origin, tell }) {
  const [boosted, setBoosted] = useState(null);
  useOrigin(scoreId, tell);
  useEffect(
    () => announce(`Score ${body.score}, ${range(body.range)}${body.provisional ? ", provisional" : ""}`),
    [body],
  );
  return html`
    <section class="card">
      <h2>Score</h2>
      <p><code>${body.address}</code></p>
      <div class="headline">
        <p class="big">${body.score}</p>
        <div>
          <p><${Mark} kind=${`range-${body.range}`}>${range(body.range)}</${Mark}>
            ${body.provisional && html` <${Mark} kind="warn">provisional</${Mark}>`}</p>
          <p>Decile ${body.decile} of 10 <${Decile} of=${body.decile} /></p>
        </div>
      </div>
      <${Scale} score=${body.score} name=${body.range} decile=${body.decile} boosted=${boosted} />
      ${body.provisional && html`<${Provisional} coverage=${body.credit_events_coverage} />`}
      <${Facts} of=${[
        ["Model", html`credit ${body.model_version}${origin && html`, <${Digest} of=${origin.model.digest} />`}`],
        ["Calculated", html`<${Time} at=${body.timestamp} />`],
        body.credit_events_coverage && ["Coverage of lending events", body.credit_events_coverage],
      ]} />
      <${Boost} body=${body} show=${setBoosted} />
    </section>
    <${Factors} factors=${origin?.factors ?? body.factors} total=${body.score} />
    <${Raw} text=${text} name="The score as JSON" />
  `;
}

/** Where the score came from: it has the points of each factor. The record may be written a moment after the answer. */
function useOrigin(id, tell) {
  useEffect(() => {
    if (!id) return undefined;
    let [left, timer] = [5, 0];
    const stop = new AbortController();
    const look = () =>
      ask(path(["score", id]), { signal: stop.signal }).then(
        ({ body }) => tell(body),
        (error) => {
          if (error.status === 404 && (left -= 1) > 0) timer = setTimeout(look, 300);
        },
      );
    look();
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [id]);
}

function Provisional({ coverage }) {
  const why = {
    pending: "The lending history is being read for the first time. Ask again shortly.",
    partial: "Something that the score uses was not read, or not up to now.",
    failed: "A lending market or its chain could not be read.",
  };
  return html`<p class="note warn">
    <b>Provisional.</b> ${why[coverage] ?? "Not everything was read."} The score can be too high, because unread
    liquidations do not count, or too low, because unread assets do not. “What is not known” lists the parts.
  </p>`;
}

const summand = ({ points }) => ` ${points < 0 ? "−" : "+"} ${Math.abs(points)}`;

function Factors({ factors, total }) {
  if (!factors?.length) return html`<p class="faint">This model names no factors.</p>`;
  const weighed = factors.every(({ points }) => points !== undefined);
  return html`<section class="card">
    <h2>Factors</h2>
    <ul class="factors">
      ${factors.map(
        ({ label, rating, description, points, possible }) => html`<li>
          <div class="factor">
            <b>${label}</b> <${Mark} kind=${`range-${rating}`}>${range(rating)}</${Mark}>
            ${weighed && html`<span class="points">${signed(points)} of ${count(possible)}</span>`}
          </div>
          ${weighed && html`<${Bar} value=${points} most=${possible} />`}
          <p>${description}</p>
        </li>`,
      )}
    </ul>
    ${
      weighed &&
      html`<p class="faint">
        ${BASE} to begin with${factors.map(summand)}; the score
        is ${total}.
      </p>`
    }
  </section>`;
}

const MOST = 50000;

/** Asks for the score with off-chain assets added, when the slider comes to rest. */
function Boost({ body, show }) {
  const me = useMe();
  const [assets, setAssets] = useState(0);
  const { done, busy, error, start } = useAction();
  const rest = (value) =>
    start(async () => {
      if (value === 0) return show(null);
      const json = { total_asset_usd: value };
      const answer = await ask(path(["score", "address", body.address]), { method: "POST", json });
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
        With them the score is <b>${done.score}</b>, ${range(done.range)} (${signed(done.score - body.score)}).
      </p>`
    }
    ${error && html`<${Problem} error=${error} />`}
  </div>`;
}
