// Many wallets: a list or a table becomes a job, and the jobs of the key.

import { html, useState } from "../dom.js";
import { ask, path, useAction, useAsk } from "../api.js";
import { go, link } from "../route.js";
import { useMe } from "../session.js";
import { Answer, Mark, Problem, Table, Time, Title, figures, values } from "../parts.js";
import { read } from "../wallets.js";
import { count, several } from "../words.js";
import { BATCH_TONES, Batch } from "./batch.js";

const HEAD = ["Begun", "Status", figures("Rows"), figures("Found"), figures("Units"), "Kept until"];

/** @param {Place} props */
export function Several({ parts: [id], query }) {
  return id ? html`<${Batch} id=${id} key=${id} />` : html`<${All} list=${query.get("list") ?? ""} />`;
}

/** @param {{ list: string }} props */
function All({ list }) {
  const asked = useAsk(path(["score", "batch", "jobs"]));
  /** @param {Shown<typeof asked>} answer */
  const show = ({ body: { jobs } }) =>
    jobs.length > 0 &&
    html`<section>
      <h2>Your jobs</h2>
      <div class="stacked"><${Table} quiet caption="Jobs" head=${HEAD} rows=${jobs.map(row)} /></div>
    </section>`;
  return html`<${Title} text="Several wallets" />
    <${NewBatch} given=${list} />
    <${Answer} asked=${asked} what="your jobs" show=${show} />`;
}

/** @param {Api.BatchJob} job */
const row = ({ id, status, rows, counts, units, created_at: at, expires_at: until }) => html`<tr>
  <th scope="row"><a href=${link(["several", id])}><${Time} at=${at} /></a></th>
  <td data-label="Status"><${Mark} kind=${BATCH_TONES[status]}>${status}</${Mark}></td>
  <td data-label="Rows" class="figure">${count(rows)}</td>
  <td data-label="Found" class="figure">${count(counts.found)}</td>
  <td data-label="Units" class="figure">${count(units)}</td>
  <td data-label="Kept until"><${Time} at=${until} /></td>
</tr>`;

/** @param {{ given: string }} props */
function NewBatch({ given }) {
  const me = useMe();
  const [text, setText] = useState(given);
  const { busy, error, start } = useAction();
  const { subjects: list, wrong } = read(text);
  /**
   * @param {BodyInit} body
   * @param {string} type
   */
  const begin = (body, type) =>
    start(async () => {
      const job = await ask(path(["score", "batch", ""]), { method: "POST", body, headers: { "content-type": type } });
      go(["several", job.body.id]);
    });
  /** @param {Happening} event */
  const ofList = (event) => {
    values(event);
    begin(JSON.stringify(list), "application/json");
  };
  /** @param {Happening} event */
  const ofTable = (event) => {
    event.preventDefault();
    const file = /** @type {HTMLInputElement} */ (event.currentTarget.elements.namedItem("table")).files?.[0];
    // It goes as it is: the server finds the column of the wallets.
    if (file) begin(file, file.name.endsWith(".json") ? "application/json" : "text/csv");
  };
  return html`
    <p class="faint">Each wallet that is read costs ${several(me.costs.score, "unit")}.</p>
    <form class="stack" onSubmit=${ofList}>
      <label for="list">Addresses or names, in any text</label>
      <textarea id="list" rows="6" spellcheck="false" value=${text} onInput=${(event) => setText(event.target.value)}></textarea>
      <p class="faint" aria-live="polite">
        ${several(list.length, "wallet")} found
        ${wrong.length > 0 && html`; <strong>no wallet: ${wrong.slice(0, 5).join(", ")}${wrong.length > 5 && " …"}</strong>`}
      </p>
      <button class="main" disabled=${busy || list.length === 0}>Score them</button>
    </form>
    <form class="stack" onSubmit=${ofTable}>
      <label for="table">Or a table as CSV or JSON, which keeps its own columns</label>
      <input id="table" name="table" type="file" required accept=".csv,.tsv,.txt,.json,text/csv" />
      <button disabled=${busy}>Score the table</button>
    </form>
    ${error && html`<${Problem} error=${error} />`}
  `;
}
