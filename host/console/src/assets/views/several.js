// The scores of many addresses, pasted or from a file.

/** @typedef {Partial<Api.Score> & { address: string; reason: string }} Row */

import { html, useState } from "../dom.js";
import { Refusal, ask, path, useAction } from "../api.js";
import { link } from "../route.js";
import { useMe } from "../session.js";
import { Mark, Problem, Sortable, Title, announce, save, values } from "../parts.js";
import { subjects } from "../wallets.js";
import { count, range, several } from "../words.js";

/** Addresses of one request: a longer address line is refused by some proxies. */
const AT_ONCE = 50;
/** Addresses of one list. */
const MOST = 1000;

/** @type {Record<string, string>} */
const REASONS = {
  invalid: "no address or name",
  not_found: "no activity",
  unread: "could not be read, ask again",
};

/**
 * The rows of `list`, as many at once as one request may have. `show` gets them as they come.
 * @param {string[]} list
 * @param {(rows: Row[]) => void} show
 */
async function scored(list, show) {
  /** @type {Row[]} */
  const rows = [];
  for (let at = 0; at < list.length; at += AT_ONCE) {
    const part = list.slice(at, at + AT_ONCE);
    try {
      const { body } = await ask(path(["score", "batch", ""], { address: part.join(",") }));
      rows.push(...body.scores.map((score) => ({ ...score, reason: "" })));
      rows.push(...(body.skipped ?? []).map(({ address, reason }) => ({ address, reason: REASONS[reason] ?? reason })));
    } catch (error) {
      // Without any score the whole part is refused.
      if (!(error instanceof Refusal) || error.status !== 404) throw error;
      rows.push(...part.map((address) => ({ address, reason: REASONS.not_found })));
    }
    show([...rows]);
  }
  announce(`${rows.length} addresses`);
  return rows;
}

/** @type {(keyof Row)[]} */
const CSV = [
  "address",
  "score",
  "decile",
  "range",
  "credit_events_coverage",
  "provisional",
  "model_version",
  "timestamp",
  "reason",
];

/**
 * A cell that begins like a formula is shown as text by a spreadsheet.
 * @param {unknown} value
 */
const cell = (value) => {
  const text = String(value ?? "").replace(/^[=+\-@\t\r]/, "'$&");
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** @param {Row[]} rows */
export const csv = (rows) =>
  [CSV, ...rows.map((row) => CSV.map((name) => row[name]))].map((row) => row.map(cell).join(",")).join("\n");

/** @type {Column<Row>[]} */
const COLUMNS = [
  {
    title: "Address",
    of: ({ address }) => address.toLowerCase(),
    show: ({ address }) => html`<a href=${link(["look-up", address])}><code>${address}</code></a>`,
  },
  { title: "Score", isFigure: true, of: ({ score }) => score ?? -1, show: ({ score }) => score ?? "–" },
  {
    title: "Range",
    of: ({ score }) => score ?? -1,
    show: (row) => row.range && html`<${Mark} kind=${`range-${row.range}`}>${range(row.range)}</${Mark}>`,
  },
  { title: "Decile", isFigure: true, of: ({ decile }) => decile ?? -1, show: ({ decile }) => decile ?? "–" },
  {
    title: "Lending history",
    of: (row) => row.credit_events_coverage ?? row.reason,
    show: (row) => row.reason || row.credit_events_coverage || "",
  },
];

/** @param {Place} props */
export function Several({ query }) {
  const me = useMe();
  const [text, setText] = useState(query.get("list") ?? "");
  const [rows, setRows] = useState(/** @type {Row[]} */ ([]));
  const { busy, error, start } = useAction();
  const list = subjects(text);
  /** @param {Happening} event */
  const submit = (event) => {
    values(event);
    setRows([]);
    if (list.length > 0 && list.length <= MOST) start(() => scored(list, setRows));
  };
  /** @param {Happening} event */
  const open = async (event) => setText((await event.target.files?.[0]?.text()) ?? "");
  return html`<${Title} text="Several wallets" />
    <form class="stack" onSubmit=${submit}>
      <label for="list">Addresses or names: one a line, or a table with other columns</label>
      <textarea id="list" rows="6" spellcheck="false" value=${text} onInput=${(event) => setText(event.target.value)}></textarea>
      <label for="table">Or a file, such as CSV</label>
      <input id="table" type="file" accept=".csv,.txt,.tsv,.json,text/*" onChange=${open} />
      <p class="faint" aria-live="polite">
        ${count(list.length)} found${list.length > MOST && `; ${count(MOST)} is the most`}. They cost
        ${" "}${several(list.length * me.costs.score, "unit")}.
      </p>
      <button class="main" disabled=${busy || list.length === 0 || list.length > MOST}>
        ${busy ? `${count(rows.length)} of ${count(list.length)} …` : "Score them"}
      </button>
    </form>
    ${error && html`<${Problem} error=${error} />`}
    ${
      rows.length > 0 &&
      html`<section class="card narrow-rows scores">
        <h2>${several(rows.length, "wallet")}</h2>
        <${Sortable} caption="Scores" columns=${COLUMNS} rows=${rows} by=${1} />
        <p class="buttons">
          <button type="button" onClick=${() => save("assay-scores.csv", "text/csv", `${csv(rows)}\n`)}>Save as CSV</button>
          <button type="button" onClick=${() => print()}>Print</button>
        </p>
      </section>`
    }`;
}
