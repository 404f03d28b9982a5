// The audit log: every change to a model.

import { html } from "../dom.js";
import { path, useAsk } from "../api.js";
import { link } from "../route.js";
import { Answer, Mark, Pages, Table, Time } from "../parts.js";

const LIMIT = 20;
const HEAD = ["When", "By", "Change", "Kind", "From", "To", "Reason", "Outcome"];

/** @param {Place} props */
export function Audit({ query }) {
  const page = Number(query.get("page") ?? 1);
  const asked = useAsk(path(["admin", "audit"], { page, limit: LIMIT }));
  /** @param {Shown<typeof asked>} answer */
  const show = ({ body: { entries, total } }) => html`
    ${entries.length === 0 && html`<p>There is no entry on this page.</p>`}
    ${
      entries.length > 0 &&
      html`<div class="stacked">
        <${Table} quiet caption="Changes to models, newest first" head=${HEAD} rows=${entries.map(row)} />
      </div>`
    }
    <${Pages} page=${page} limit=${LIMIT} total=${total} href=${(page) => link(["models", "audit"], { page })} />
  `;
  return html`<${Answer} asked=${asked} what="the audit log" show=${show} />`;
}

/** @param {Api.ModelReference[]} models */
const versions = (models) => models.map(({ version }) => version).join(", ") || "–";

/** @type {Record<string, string>} */
const tone = { done: "good", refused: "bad", not_done: "warn" };

/** @param {Api.AuditEntry} entry */
const row = ({ at, by, action, kind, from, to, why, forced, outcome, detail }) => html`<tr>
  <td data-label="When"><${Time} at=${at} /></td>
  <td data-label="By">${by}</td>
  <th scope="row">${action}${forced && html` <${Mark} kind="warn">forced</${Mark}>`}</th>
  <td data-label="Kind">${kind}</td><td data-label="From">${versions(from)}</td><td data-label="To">${versions(to)}</td><td data-label="Reason">${why ?? "–"}</td>
  <td data-label="Outcome"><${Mark} kind=${tone[outcome ?? ""]}>${outcome ?? "open"}</${Mark}> ${detail}</td>
</tr>`;
