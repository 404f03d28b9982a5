// What became of the wallets that champion and challengers scored: realised beside claimed rates, and the weeks.

import { html } from "../dom.js";
import { path, useAsk } from "../api.js";
import { Answer, Mark, Raw, Table, Time } from "../parts.js";
import { NOT_KNOWN, count, day, number, percent, range } from "../words.js";

/** Bounds of the population stability index, as in the shadow report. */
const [INVESTIGATE, SIGNIFICANT] = [0.1, 0.25];

/**
 * @param {number | null | undefined} low
 * @param {number | null | undefined} high
 */
const between = (low, high) => (low == null ? "" : ` (${percent(low)} to ${percent(high)})`);

export function Outcomes() {
  const asked = useAsk(path(["admin", "models", "outcomes"]));
  /** @param {Shown<typeof asked>} answer */
  const show = ({ body, text }) => html`
    <p class="faint">
      ${
        body.known_until
          ? html`Liquidations are known up to <${Time} at=${body.known_until} />. A wallet counts once a week.`
          : `Nothing is joined: ${body.reason}.`
      }
    </p>
    ${body.models.map((of) => html`<${Model} of=${of} key=${of.model.digest} />`)}
    <${Raw} text=${text} name="The outcomes as JSON" />
  `;
  return html`<section>
    <h2>What became of them</h2>
    <${Answer} asked=${asked} what="the outcomes" show=${show} />
  </section>`;
}

/** @param {{ of: Api.ModelOutcomes }} props */
function Model({ of }) {
  return html`<section class="card">
    <h3>${of.model.version}, ${of.role}</h3>
    <p class="faint">${count(of.scores)} scores of ${count(of.wallets)} wallets are kept.</p>
    ${of.realised.map((table) => html`<${Realised} table=${table} key=${table.population + table.horizon_days} />`)}
    ${of.weeks.length > 0 && html`<${Weeks} weeks=${of.weeks} />`}
  </section>`;
}

/** @param {{ table: Api.Realised }} props */
function Realised({ table }) {
  const caption = `Liquidated within ${table.horizon_days} days, of ${table.population}`;
  const hidden = table.hidden > 0 ? ` ${count(table.hidden)} are not counted: part of the debt was in vaults.` : "";
  const [other, undecided] = [table.other_regime, table.undecided];
  const regime =
    (other > 0 ? ` ${count(other)} are outside the condition.` : "") +
    (undecided > 0 ? ` Of ${count(undecided)} the condition is not known.` : "");
  const waiting = `${count(table.known)} scores are known to their end, ${count(table.waiting)} wait.${hidden}${regime}`;
  const rows = table.ranges
    .filter(({ scores }) => scores > 0)
    .map(
      (row) =>
        html`<tr>
          <th scope="row">${range(row.range)}</th>
          <td class="figure">${count(row.liquidated)} of ${count(row.scores)}</td>
          <td class="figure">${percent(row.rate)}${between(row.low, row.high)}</td>
          <td class="figure">
            ${row.claimed ? percent(row.claimed.estimate) + between(row.claimed.low, row.claimed.high) : NOT_KNOWN}
          </td>
          <td>
            ${row.verdict === "holds" && html`<${Mark} kind="good">holds</${Mark}>`}
            ${row.verdict === "fails" && html`<${Mark} kind="bad">fails</${Mark}>`}
            ${row.verdict === "not_shown" && html`<span class="faint">not shown</span>`}
          </td>
        </tr>`,
    );
  const head = ["Range", { figures: "Liquidated" }, { figures: "Rate" }, { figures: "Claimed" }, "Verdict"];
  return html`${rows.length > 0 && html`<${Table} caption=${caption} head=${head} rows=${rows} />`}
    <p class="faint">${rows.length > 0 ? waiting : `${caption}: ${waiting}`}</p>`;
}

/** @param {{ weeks: Api.ScoreWeek[] }} props */
function Weeks({ weeks }) {
  /** @param {number} psi */
  const kind = (psi) => (psi > SIGNIFICANT ? "bad" : psi > INVESTIGATE ? "warn" : "good");
  const rows = weeks.map(
    ({ from, scores, share, mean, psi }) =>
      html`<tr>
        <th scope="row">${day(from)}</th>
        <td class="figure">${count(scores)}${share < 1 && ` (${percent(share)} of the wallets)`}</td>
        <td class="figure">${count(mean)}</td>
        <td class="figure">${psi == null ? NOT_KNOWN : html`<${Mark} kind=${kind(psi)}>${number(psi)}</${Mark}>`}</td>
      </tr>`,
  );
  const head = ["Week of", { figures: "Scores" }, { figures: "Mean" }, { figures: "PSI since the first" }];
  return html`<${Table} caption="Scores by week" head=${head} rows=${rows} />`;
}
