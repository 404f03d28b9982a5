// Several versions of the credit model on one address, all from the same reading.

import { html } from "../dom.js";
import { path, useAsk } from "../api.js";
import { go } from "../route.js";
import { useMe } from "../session.js";
import { Answer, Digest, Facts, Mark, Problem, Raw, Table, Time, Title, announce } from "../parts.js";
import { Bar } from "../charts/bars.js";
import { bytes, count, number, range, several, signed } from "../words.js";
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
    return go(["compare", given.address.trim()], { versions: chosen.map((name) => name.slice(8)).join(",") });
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
  const asked = useAsk(path(["models", "compare", "address", address], { versions }));
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
      <${Results} versions=${body.versions} />
      <${Factors} versions=${body.versions} />
    </section>
    <${Raw} text=${text} name="The comparison as JSON" />
  `;
  return html`<${Answer} asked=${asked} what="the comparison" show=${show} />
    <p class="faint">Each version costs ${several(me.costs.score, "unit")}.</p>`;
}

/**
 * @param {Api.ComparedVersion} version
 * @param {(difference: Api.Difference) => Html} show
 */
const difference = ({ difference: of }, show) => (of ? show(of) : "");

/** @param {{ versions: Api.ComparedVersion[] }} props */
function Results({ versions }) {
  /**
   * @param {string} title
   * @param {(version: Api.ComparedVersion) => Html} of
   */
  const line = (title, of) =>
    html`<tr>
      <th scope="row">${title}</th>
      ${versions.map((one) => html`<td>${of(one)}</td>`)}
    </tr>`;
  /** @param {Api.Difference} difference */
  const moved = ({ range: moved }) =>
    moved && html`<br /><${Mark} kind="warn">${range(moved.from)} → ${range(moved.to)}</${Mark}>`;
  const rows = [
    line(
      "Score",
      (one) => html`<b class="mid">${count(one.score)}</b> ${difference(one, ({ score }) => `(${signed(score)})`)}`,
    ),
    line("Range", (one) => html`${range(one.range)} ${difference(one, moved)}`),
    line("Decile", (one) => html`${count(one.decile)} ${difference(one, ({ decile }) => `(${signed(decile)})`)}`),
    line("Microseconds", (one) => number(one.latency_us)),
    line("Fuel", (one) => count(one.fuel)),
    line("Memory", (one) => bytes(one.memory_bytes)),
    line("Model", (one) => html`<${Digest} of=${one.digest} />`),
  ];
  if (versions.some(({ error }) => error)) {
    rows.unshift(
      line(
        "Problem",
        ({ error }) => error && html`<span class="bad">${error.detail}</span> <span class="faint">${error.code}</span>`,
      ),
    );
  }
  return html`<${Table}
    caption="What each version says"
    head=${["Version", ...versions.map(({ version }) => version)]}
    rows=${rows}
  />`;
}

/** @param {{ versions: Api.ComparedVersion[] }} props */
function Factors({ versions }) {
  const labels = [...new Set(versions.flatMap(({ factors }) => factors ?? []).map(({ label }) => label))];
  if (labels.length === 0) return null;
  /**
   * @param {Api.ComparedVersion} one
   * @param {string} label
   */
  const cell = (one, label) => {
    const factor = one.factors?.find((factor) => factor.label === label);
    const gap = one.difference?.factors.find((gap) => gap.label === label)?.points;
    const against = gap !== undefined && html` <b>(${signed(gap)})</b>`;
    if (!factor) return html`<td>not in this version${against}</td>`;
    return html`<td class="wide">
      ${signed(factor.points)} of ${count(factor.possible)}${against}<${Bar}
        value=${factor.points}
        most=${factor.possible}
      />
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
