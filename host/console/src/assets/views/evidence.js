// The evidence of challengers: what they said of the same subjects as the champion, in the shadow.

import { html, useState } from "../dom.js";
import { path, useAsk } from "../api.js";
import { go } from "../route.js";
import { useMe } from "../session.js";
import { Answer, Digest, Facts, Raw, Table, Time, figures } from "../parts.js";
import { Columns } from "../charts/bars.js";
import { count, number, percent, several, signed } from "../words.js";
import { InputDrift } from "./drift.js";
import { Change } from "./roles.js";
import { Outcomes } from "./outcomes.js";
import { Migration, Psi } from "./pair.js";

/** @type {Record<string, string>} */
const WINDOWS = {
  "": "as promotion is decided",
  "1h": "one hour",
  "24h": "a day",
  "168h": "a week",
  "720h": "30 days",
};
const BINS = 14;
const WIDTH = 50;

/** @param {Place} props */
export function Evidence({ query }) {
  const me = useMe();
  const span = query.get("window") ?? "";
  const asked = useAsk(path(["models", "credit", "report"], { window: span }));
  /** @param {Shown<typeof asked>} answer */
  const show = ({ body, text }) => html`
    <p class="faint">
      ${count(body.window_hours)} hours up to <${Time} at=${body.timestamp} />; ${percent(body.share)} of the computed
      scores go to challengers.
    </p>
    ${
      body.pairs.length === 0 &&
      html`<p>
        Nothing was scored in the shadow in this time. Make a version a challenger on the shelf; then every score that
        the champion computes is evidence.
      </p>`
    }
    ${body.pairs.map((pair) => html`<${Pair} pair=${pair} key=${pair.champion.digest + pair.challenger.digest} />`)}
    <${Raw} text=${text} name="The evidence as JSON" />
  `;
  return html`
    <form class="line">
      <label for="window">Time that is looked back</label>
      <select id="window" onChange=${(event) => go(["models", "evidence"], { window: event.target.value })}>
        ${Object.entries(WINDOWS).map(
          ([value, name]) => html`<option value=${value} selected=${value === span}>${name}</option>`,
        )}
      </select>
    </form>
    <${Answer} asked=${asked} what="the evidence" show=${show} />
    ${me.scopes.includes("admin") && html`<${Outcomes} /><${InputDrift} />`}
  `;
}

/** @param {{ pair: Api.ShadowPair }} props */
function Pair({ pair }) {
  const me = useMe();
  const [isAsking, setAsking] = useState(false);
  const { champion, challenger, difference } = pair;
  return html`<section class="card">
    <h2>${challenger.version} against ${champion.version}</h2>
    <${Facts}
      of=${[
        ["Wallets", `${count(pair.wallets)}, of which ${count(pair.refused_wallets)} are refused`],
        ["Calls scored by both", `${count(pair.scored)} of ${count(pair.seen)}`],
        ["PSI", html`<${Psi} pair=${pair} />`],
        ["Same range", percent(pair.same_range)],
        ["Same decile", percent(pair.same_decile)],
        ["Rank correlation", `${number(pair.spearman)} (Spearman), ${number(pair.kendall)} (Kendall)`],
        [
          "Difference",
          `mean ${signed(difference.mean)}, median ${signed(difference.p50)}, ` +
            `95 % within ${number(difference.p95_absolute)}`,
        ],
        ["Higher, equal, lower", `${count(difference.higher)}, ${count(difference.equal)}, ${count(difference.lower)}`],
        ["Failed, refused, dropped", html`<${Failures} pair=${pair} />`],
        ["Models", html`<${Digest} of=${challenger.digest} /> against <${Digest} of=${champion.digest} />`],
      ]}
    />
    ${pair.scored > 0 && html`<${Distribution} pair=${pair} /><${Migration} pair=${pair} />`}
    <${Drift} pair=${pair} />
    <${Cost} pair=${pair} />
    ${
      me.scopes.includes("admin") &&
      html`<div class="buttons">
        <button type="button" onClick=${() => setAsking(true)}>Promote ${challenger.version} …</button>
      </div>`
    }
    ${
      isAsking &&
      html`<${Change}
        change="promote"
        model=${challenger}
        changed=${() => {}}
        close=${(isChanged) => (isChanged ? go(["models", "shelf"]) : setAsking(false))}
      />`
    }
  </section>`;
}

/** @param {{ pair: Api.ShadowPair }} props */
function Failures({ pair: { failed, refused, dropped, failures } }) {
  const reasons = failures
    .map(({ code, count: times, message }) => `${code} ${count(times)} times${message ? ` (${message})` : ""}`)
    .join(", ");
  return html`${count(failed)}, ${count(refused)}, ${count(dropped)}${" "}
  ${reasons && html`<span class="bad">${reasons}</span>`}`;
}

/** @param {{ pair: Api.ShadowPair }} props */
function Distribution({ pair }) {
  const bins = Array.from({ length: BINS }, (_, at) => ({
    from: 300 + at * WIDTH,
    to: 300 + (at + 1) * WIDTH,
    counts: [0, 0],
  }));
  [pair.champion_scores, pair.challenger_scores].forEach(({ histogram }, series) => {
    for (const [score, times] of histogram)
      bins[Math.min(BINS - 1, Math.floor((score - 300) / WIDTH))].counts[series] += times;
  });
  /** @param {Api.ScoresSummary} scores */
  const summary = ({ mean, p10, p50, p90 }) =>
    `mean ${number(mean)}, 10 % below ${number(p10)}, median ${number(p50)}, 10 % above ${number(p90)}`;
  const [champion, challenger] = [pair.champion_scores, pair.challenger_scores].map(summary);
  const names = [
    `${pair.champion.version}, champion: ${champion}`,
    `${pair.challenger.version}, challenger: ${challenger}`,
  ];
  return html`<h3>Distribution of scores</h3>
    <${Columns} names=${names} bins=${bins} text=${`Distribution of scores. ${names.join(". ")}`} />`;
}

/** @param {{ pair: Api.ShadowPair }} props */
function Drift({ pair: { factors, champion, challenger } }) {
  if (factors.length === 0) return null;
  /** @param {Api.FactorDrift} factor */
  const row = ({ label, champion_points, challenger_points }) =>
    html`<tr>
      <th scope="row">${label}</th>
      <td class="figure">${number(champion_points)}</td>
      <td class="figure">${number(challenger_points)}</td>
    </tr>`;
  return html`<${Table}
    caption="Mean points by factor"
    head=${["Factor", figures(champion.version), figures(challenger.version)]}
    rows=${factors.map(row)}
  />`;
}

/** @param {{ pair: Api.ShadowPair }} props */
function Cost({ pair: { champion, challenger, champion_cost, challenger_cost } }) {
  /** @param {[Api.ModelReference, Api.ShadowCost]} costs */
  const row = ([model, cost]) =>
    html`<tr>
      <th scope="row">${model.version}</th>
      <td>${several(cost.calls, "call")}</td>
      <td class="figure">${number(cost.latency_us_p50)}</td>
      <td class="figure">${number(cost.latency_us_p99)}</td>
      <td class="figure">${count(cost.fuel_p50)}</td>
      <td class="figure">${count(cost.fuel_p99)}</td>
    </tr>`;
  return html`<${Table}
    caption="Cost of a call in the shadow"
    head=${["Version", "Measured", ...["µs, median", "µs, 99 %", "Fuel, median", "Fuel, 99 %"].map(figures)]}
    rows=${[row([champion, champion_cost]), row([challenger, challenger_cost])]}
  />`;
}
