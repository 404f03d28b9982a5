// Several versions of the credit model on one address, all from the same reading.

import { html } from "../dom.js";
import { path, useAsk } from "../api.js";
import { go } from "../route.js";
import { useMe } from "../session.js";
import { Answer, Digest, Facts, Mark, Problem, Raw, Table, Time, Title, announce } from "../parts.js";
import { Bar } from "../charts/bars.js";
import { subjects } from "../wallets.js";
import { NOT_KNOWN, bytes, count, number, range, several, signed } from "../words.js";
import { AddressForm } from "./look_up.js";

/** As many as one comparison may have. */
const MOST = 8;

/** @param {Place} props */
export function Compare({ parts: [address], query }) {
  const versions = query.get("versions") ?? "";
  const shelf = useAsk("models");
  /** @param {Values} given */
  const submit = (given) => {
    const chosen = Object.keys(given).filter((name) => name.startsWith("version-"));
    if (chosen.length > MOST) return announce(`At most ${MOST} versions`);
    const [subject = given.address.trim()] = subjects(given.address);
    return go(["compare", subject], { versions: chosen.map((name) => name.slice(8)).join(",") });
  };
  return html`
    <${Title} text="Compare" />
    <p>One reading of an address, scored by several versions. Differences are relative to the first version.</p>
    <${AddressForm} address=${address} action="Compare" submit=${submit}>
      <${Versions} shelf=${shelf} chosen=${versions.split(",").filter(Boolean)} />
    </${AddressForm}>
    ${address && html`<${Comparison} key=${address + versions} address=${address} versions=${versions} />`}
  `;
}

/** @param {{ shelf: Asked<Api.Models>; chosen: string[] }} props */
function Versions({ shelf: { answer, error, again }, chosen }) {
  if (error) return html`<${Problem} error=${error} again=${again} />`;
  /** @type {Record<string, number>} */
  const order = { champion: 0, challenger: 1 };
  const models = (answer?.body.models ?? [])
    .filter(({ kind, version }) => kind === "credit" && version)
    .sort((a, b) => (order[a.role] ?? 2) - (order[b.role] ?? 2));
  /** @param {Api.Model} model */
  const isChosen = ({ version, role }) => (chosen.length > 0 ? chosen.includes(version ?? "") : role !== "none");
  return html`<fieldset>
    <legend>Versions, at most ${MOST}; none: champion and challengers</legend>
    ${models.map(
      (model, at) =>
        html`<label class="choice">
          <input type="checkbox" name=${`version-${model.version}`} defaultChecked=${isChosen(model) && at < MOST} />
          ${model.version} <span class="faint">${model.role}${model.state !== "ready" && `, ${model.state}`}</span>
        </label>`,
    )}
  </fieldset>`;
}

/** @param {{ address: string; versions: string }} props */
function Comparison({ address, versions }) {
  const me = useMe();
  const asked = useAsk(path(["models", "compare", "address", address], { versions, include_reasons: true }));
  /** @param {Shown<typeof asked>} answer */
  const show = ({ body, text, cost }) => html`
    <section class="card">
      <h2>Versions on <code>${body.address}</code></h2>
      <${Facts}
        of=${[
          ["Read", html`<${Time} at=${body.snapshot_time} />`],
          ["Coverage of lending events", body.credit_events_coverage],
          ["Cost of this comparison", several(cost, "unit")],
        ]}
      />
      ${
        body.provisional &&
        html`<p class="note warn">
          <b>Provisional.</b> Not everything was read; all versions score the same incomplete reading.
        </p>`
      }
      <${Lines} caption="What each version says" lines=${said(body.versions)} versions=${body.versions} />
      <${Factors} versions=${body.versions} />
      <details>
        <summary>Cost and bytes of each version</summary>
        <${Lines} caption="Cost of a call" lines=${COSTS} versions=${body.versions} />
      </details>
    </section>
    <${Raw} text=${text} name="The comparison as JSON" />
  `;
  return html`<${Answer} asked=${asked} what="the comparison" show=${show} />
    <p class="faint">Each version costs ${several(me.costs.score, "unit")}.</p>`;
}

/** @typedef {[title: string, of: (version: Api.ComparedVersion) => Html]} Line */

/** @param {{ caption: string; lines: Line[]; versions: Api.ComparedVersion[] }} props */
const Lines = ({ caption, lines, versions }) =>
  html`<${Table}
    caption=${caption}
    head=${["Version", ...versions.map(({ version }) => version)]}
    rows=${lines.map(
      ([title, of]) =>
        html`<tr>
          <th scope="row">${title}</th>
          ${versions.map((one) => html`<td>${of(one)}</td>`)}
        </tr>`,
    )}
  />`;

/** @type {Line[]} */
const COSTS = [
  ["Microseconds", ({ latency_us: time }) => number(time)],
  ["Fuel", ({ fuel }) => count(fuel)],
  ["Memory", ({ memory_bytes: memory }) => bytes(memory)],
  ["SHA-256", ({ digest }) => html`<${Digest} of=${digest} />`],
];

/**
 * A difference in parentheses; none for the first version and for an equal one.
 * @param {number | undefined} by
 */
const gap = (by) => (by ? ` (${signed(by)})` : "");

/**
 * @param {Api.ComparedVersion[]} versions
 * @returns {Line[]}
 */
const said = (versions) => [
  ...(versions.some(({ error }) => error) ? [PROBLEM] : []),
  ["Score", ({ score, difference }) => html`<b class="mid">${score ?? NOT_KNOWN}</b>${gap(difference?.score)}`],
  [
    "Range",
    ({ range: name, difference }) =>
      html`${name && html`<${Mark} kind=${`range-${name}`}>${range(name)}</${Mark}>`}
        ${difference?.range && html` <span class="faint">first: ${range(difference.range.from)}</span>`}`,
  ],
  ["Decile", ({ decile, difference }) => html`${count(decile)}${gap(difference?.decile)}`],
  [
    "Reasons",
    ({ reasons }) =>
      reasons &&
      html`<ol class="reasons">
        ${reasons.map(({ text, points_lost: lost }) => html`<li>${text} <span class="faint">−${count(lost)}</span></li>`)}
      </ol>`,
  ],
];

/** @type {Line} */
const PROBLEM = [
  "Problem",
  ({ error }) => error && html`<span class="bad">${error.detail}</span> <span class="faint">${error.code}</span>`,
];

/** @param {{ versions: Api.ComparedVersion[] }} props */
function Factors({ versions }) {
  const labels = [...new Set(versions.flatMap(({ factors }) => factors ?? []).map(({ label }) => label))];
  if (labels.length === 0) return null;
  /**
   * @param {Api.ComparedVersion | undefined} one
   * @param {string} label
   */
  const factorOf = (one, label) => one?.factors?.find((factor) => factor.label === label);
  /**
   * @param {Api.ComparedVersion} one
   * @param {string} label
   */
  const cell = (one, label) => {
    const factor = factorOf(one, label);
    if (!factor) return html`<td class="faint">${one.error ? "" : "not in this version"}</td>`;
    // What is not in both versions has no difference.
    const by = factorOf(versions[0], label) && one.difference?.factors.find((gap) => gap.label === label)?.points;
    return html`<td class="wide">
      ${count(factor.points)} of ${count(factor.possible)}<b>${gap(by)}</b>
      <${Bar} value=${factor.points} most=${factor.possible ?? factor.points} />
      <span class="faint">${factor.description}</span>
    </td>`;
  };
  const rows = labels.map(
    (label) =>
      html`<tr>
        <th scope="row">${label}</th>
        ${versions.map((one) => cell(one, label))}
      </tr>`,
  );
  return html`<${Table}
    caption="Points by factor, with the difference to the first version"
    head=${["Factor", ...versions.map(({ version }) => version)]}
    rows=${rows}
  />`;
}
