// A batch job: its progress, then its rows.

import { html, useEffect } from "../dom.js";
import { ask, path, send, useAction, useAsk } from "../api.js";
import { go, link } from "../route.js";
import { Answer, Facts, Mark, Problem, Sortable, Time, Title, announce, save } from "../parts.js";
import { count, day, dollars, number, range, several } from "../words.js";

/** Milliseconds between two questions about a job that runs. */
const POLL = 1_000;
/** Rows that are shown at first, and at most: more are for a spreadsheet. */
const SHOWN = 200;
const MOST = 2_000;

/** @type {Record<string, string>} */
export const BATCH_TONES = { queued: "", running: "", paused: "warn", done: "good", failed: "bad" };

/** @type {Record<string, string>} */
const PAUSES = {
  units_used_up: "The units of this key are used up.",
  key: "The key may not read scores at the moment.",
};

/** @type {Record<string, string>} */
const STATUSES = {
  unresolved: "the name does not resolve",
  invalid: "no address or name",
  not_scored: "the model refuses it",
  inactive: "no activity",
  unread: "could not be read",
};

/**
 * @typedef {{
 *   input: Record<string, unknown>; status: string; reason: string | null; resolved_address: string | null;
 *   score: number | null; decile: number | null; range: string | null; coverage: string | null;
 *   debt_usd: number | null; lowest_health_factor: number | null; last_liquidation_at: string | null;
 * }} Row
 */

/** @param {{ id: string }} props */
export function Batch({ id }) {
  const asked = useAsk(path(["score", "batch", id]));
  const { answer, error, loading, again } = asked;
  const status = answer?.body.status;
  useEffect(() => {
    if (loading || error || (status !== "queued" && status !== "running")) return undefined;
    const later = setTimeout(again, POLL);
    return () => clearTimeout(later);
  }, [loading, error, answer]);
  useEffect(() => {
    if (status) announce(`The job is ${status}`);
  }, [status]);
  /** @param {Shown<typeof asked>} answer */
  const show = ({ body }) => html`
    <${State} job=${body} changed=${again} />
    ${body.status === "done" && html`<${Result} job=${body} key=${body.ended_at} />`}
  `;
  return html`
    <p><a href=${link(["several"])}>All jobs</a></p>
    <${Title} text=${answer ? several(answer.body.rows, "wallet") : "Several wallets"} />
    <${Answer} asked=${asked} what="the job" show=${show} />
  `;
}

/** @param {{ job: Api.BatchJob; changed: () => void }} props */
function State({ job, changed }) {
  const { id, status, reason, rows, counts, column, units, created_at: begun, expires_at: until } = job;
  const { busy, error, start } = useAction();
  const seen = Object.values(counts).reduce((sum, rows) => sum + rows, 0);
  /** @param {string} state */
  const set = (state) =>
    start(async () => {
      await ask(path(["score", "batch", id, "state"]), { method: "PUT", json: { state } });
      changed();
    });
  const remove = () =>
    start(async () => {
      await ask(path(["score", "batch", id]), { method: "DELETE" });
      go(["several"]);
    });
  const isPaused = status === "paused";
  const isActive = status === "queued" || status === "running";
  const others = Object.entries(counts).filter(([name, rows]) => name !== "found" && rows > 0);
  return html`<section class="card">
    <${Facts}
      of=${[
        [
          "Status",
          html`<${Mark} kind=${BATCH_TONES[status]}>${status}</${Mark}> ${reason && html`<small>${PAUSES[reason] ?? (isPaused ? "" : reason)}</small>`}`,
        ],
        ["Looked at", `${count(seen)} of ${count(rows)}`],
        ["Found", count(counts.found)],
        ...others.map(([name, rows]) => /** @type {Fact} */ ([STATUSES[name] ?? name, count(rows)])),
        ["Units", count(units)],
        ["Column of the wallets", html`<code>${column}</code>`],
        ["Begun", html`<${Time} at=${begun} />`],
        ["Kept until", html`<${Time} at=${until} />`],
      ]}
    />
    ${isActive && html`<progress max=${rows} value=${seen} aria-label="Rows that were looked at"></progress>`}
    ${error && html`<${Problem} error=${error} />`}
    <div class="buttons">
      ${isActive && html`<button type="button" disabled=${busy} onClick=${() => set("paused")}>Pause</button>`}
      ${isPaused && html`<button type="button" disabled=${busy} onClick=${() => set("running")}>Resume</button>`}
      ${
        status === "done" &&
        counts.unread > 0 &&
        html`<button type="button" disabled=${busy} onClick=${() => set("running")}>Read the unread rows again</button>`
      }
      <button type="button" disabled=${busy} onClick=${remove}>Remove</button>
    </div>
  </section>`;
}

/** @param {{ job: Api.BatchJob }} props */
function Result({ job: { id, column } }) {
  const asked = useAsk(path(["score", "batch", id, "result"]));
  const { error, start } = useAction();
  /**
   * @param {"csv" | "parquet"} format
   * @param {string} kind
   */
  const keep = (format, kind) =>
    start(async () => {
      const response = await send(path(["score", "batch", id, "result"], { format }), { headers: { accept: kind } });
      save(`assay-scores.${format}`, kind, await response.blob());
    });
  /** @param {Shown<typeof asked>} answer */
  const show = ({ body }) => html`<section class="card narrow-rows scores">
    <h2>Scores</h2>
    ${body.rows.length > MOST && html`<p class="faint">The first ${count(MOST)} rows; a file has all.</p>`}
    <${Sortable} caption="Scores" columns=${columns(column)} rows=${body.rows.slice(0, MOST)} by=${1} most=${SHOWN} />
    ${error && html`<${Problem} error=${error} />`}
    <p class="buttons">
      <button type="button" onClick=${() => keep("csv", "text/csv")}>Save as CSV</button>
      <button type="button" onClick=${() => keep("parquet", "application/vnd.apache.parquet")}>Save as Parquet</button>
      <button type="button" onClick=${() => print()}>Print</button>
    </p>
  </section>`;
  return html`<${Answer} asked=${asked} what="its rows" show=${show} />`;
}

/**
 * @param {string} column
 * @returns {Column<Row>[]}
 */
const columns = (column) => [
  {
    title: "Wallet",
    of: ({ input }) => String(input[column]).toLowerCase(),
    show: ({ input, resolved_address: address }) =>
      address
        ? html`<a href=${link(["look-up", address])}><code>${input[column]}</code></a>`
        : html`<code>${input[column]}</code>`,
  },
  { title: "Score", isFigure: true, of: ({ score }) => score ?? -1, show: ({ score }) => score ?? "–" },
  {
    title: "Range",
    of: ({ score }) => score ?? -1,
    show: (row) => row.range && html`<${Mark} kind=${`range-${row.range}`}>${range(row.range)}</${Mark}>`,
  },
  { title: "Decile", isFigure: true, of: ({ decile }) => decile ?? -1, show: ({ decile }) => decile ?? "–" },
  { title: "Debt", isFigure: true, of: (row) => row.debt_usd ?? -1, show: (row) => dollars(row.debt_usd) },
  {
    title: "Lowest health",
    isFigure: true,
    of: (row) => row.lowest_health_factor ?? Infinity,
    show: (row) => number(row.lowest_health_factor),
  },
  {
    title: "Last liquidation",
    of: (row) => row.last_liquidation_at ?? "",
    show: (row) => (row.last_liquidation_at ? day(row.last_liquidation_at) : ""),
  },
  {
    title: "Lending history",
    of: (row) => row.coverage ?? row.status,
    show: (row) => row.coverage ?? [STATUSES[row.status] ?? row.status, row.reason].filter(Boolean).join(": "),
  },
];
