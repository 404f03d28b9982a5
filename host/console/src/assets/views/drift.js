// The drift of inputs: how far the wallets of a week have moved from those that a model was trained on.

import { html, useState } from "../dom.js";
import { path, useAsk } from "../api.js";
import { Answer, Mark, Raw, Table } from "../parts.js";
import { NOT_KNOWN, count, day, number, percent } from "../words.js";

/** @type {Record<string, string>} */
const SEGMENTS = { all: "All", owes: "Owe", owes_nothing: "Owe nothing", unread: "Debt unread" };
/** @type {Record<string, string>} */
const AGAINST = { training: "the training", first_week: "the first full week" };

export function InputDrift() {
  const asked = useAsk(path(["admin", "models", "drift"]));
  /** @param {Shown<typeof asked>} answer */
  const show = ({ body, text }) => html`
    <p class="faint">
      A wallet counts once a week. A week is compared if it has ${count(body.minimum_wallets)} wallets.
    </p>
    ${body.models.map((of) => html`<${Model} of=${of} key=${of.model.digest} />`)}
    <${Raw} text=${text} name="The drift of inputs as JSON" />
  `;
  return html`<section>
    <h2>Drift of inputs</h2>
    <${Answer} asked=${asked} what="the drift of inputs" show=${show} />
  </section>`;
}

/** @param {{ of: Api.ModelInputDrift }} props */
function Model({ of: { model, role, weeks } }) {
  const froms = [...new Set(weeks.map(({ from }) => from))];
  const [chosen, choose] = useState(froms[0]);
  const ofWeek = weeks.filter(({ from }) => from === chosen);
  const id = `week-${model.digest}`;
  return html`<section class="card">
    <h3>${model.version}, ${role}</h3>
    ${
      froms.length === 0
        ? html`<p>No wallet was scored while this version had its role.</p>`
        : html`<form class="line">
              <label for=${id}>Week of</label>
              <select id=${id} onChange=${(event) => choose(event.target.value)}>
                ${froms.map((from) => html`<option value=${from} selected=${from === chosen}>${day(from)}</option>`)}
              </select>
            </form>
            <${Week} segments=${ofWeek} />`
    }
  </section>`;
}

/** @param {{ segments: Api.InputWeek[] }} props */
function Week({ segments }) {
  const [all] = segments;
  /** @param {Api.InputShift | undefined} input */
  const psi = (input) => {
    if (input?.psi == null) return NOT_KNOWN;
    const kind = input.drift === "drifted" ? "bad" : input.drift === "shifting" ? "warn" : "good";
    return html`<${Mark} kind=${kind}>${number(input.psi)}</${Mark}>`;
  };
  const rows = all.inputs.map(
    ({ name, against, missing, expected_missing: expected, median }, at) =>
      html`<tr>
        <th scope="row">${name}</th>
        ${segments.map(({ inputs }) => html`<td class="figure">${psi(inputs[at])}</td>`)}
        <td class="figure">${percent(missing)}${expected == null ? "" : ` (${percent(expected)})`}</td>
        <td class="figure">${median == null ? NOT_KNOWN : number(median)}</td>
        <td>${against == null ? NOT_KNOWN : AGAINST[against]}</td>
      </tr>`,
  );
  /** @param {Api.InputWeek} segment */
  const column = ({ segment, wallets }) => ({ figures: `${SEGMENTS[segment]}, ${count(wallets)}` });
  const head = [
    "Input",
    ...segments.map(column),
    { figures: "Missing (expected)" },
    { figures: "Median" },
    "Compared with",
  ];
  return html`<${Table} caption="Population stability index by wallets" head=${head} rows=${rows} />`;
}
