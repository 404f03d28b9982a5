// The key that is signed in, and for admins every key of the server.

import { html } from "../dom.js";
import { useAsk } from "../api.js";
import { useMe } from "../session.js";
import { Answer, Facts, Table, Time, Title, figures } from "../parts.js";
import { count, several } from "../words.js";

const CALLS = {
  score: "Score, for each address and version",
  report: "Report, for each address",
  attestation: "Signed statement of a score",
  submission: "Submission",
  status: "Status and document of a submission",
  agents: "Agents",
  models: "Models",
  sandbox: "Sandbox",
  usage: "Usage",
  admin: "Administration",
};

export function Keys() {
  const me = useMe();
  const asked = useAsk("usage");
  return html`
    <${Title} text="Keys and limits" />
    <${Answer} asked=${asked} what="your key" show=${({ body }) => html`<${Own} usage=${body} />`} />
    ${me.scopes.includes("admin") && html`<${All} />`}
  `;
}

function Own({ usage: { name, scopes, limit, used, left, rate, costs } }) {
  const row = ([call, units]) =>
    html`<tr>
      <th scope="row">${CALLS[call] ?? call}</th>
      <td class="figure">${count(units)}</td>
    </tr>`;
  return html`<section class="card">
    <h2>Your key</h2>
    <${Facts}
      of=${[
        ["Name", name],
        ["Scopes", scopes.join(", ")],
        ["Units", limit === null ? "not metered" : `${count(used)} of ${count(limit)} used, ${count(left)} left`],
        ["Rate", rate === null ? "no limit" : `${several(rate, "request")} a minute`],
      ]}
    />
    ${
      limit !== null &&
      html`<meter aria-label="Units used" min="0" max=${limit} value=${used}>${used} of ${limit}</meter>`
    }
    <${Table} caption="What a call costs" head=${["Call", figures("Units")]} rows=${Object.entries(costs).map(row)} />
  </section>`;
}

function All() {
  const asked = useAsk("admin/keys");
  const row = ({ name, scopes, limit, used, left, rate, source, minted_at }) =>
    html`<tr>
      <th scope="row">${name}</th>
      <td>${scopes.join(", ")}</td>
      <td class="figure">${limit === null ? "–" : count(used)}</td>
      <td class="figure">${limit === null ? "not metered" : count(limit)}</td>
      <td class="figure">${limit === null ? "–" : count(left)}</td>
      <td class="figure">${rate === null ? "no limit" : count(rate)}</td>
      <td>${source}${minted_at && html`, <${Time} at=${minted_at} />`}</td>
    </tr>`;
  const show = ({ body: { keys } }) =>
    html`<section class="card">
      <h2>All keys of this server</h2>
      <${Table}
        quiet
        caption="All keys of this server"
        head=${["Name", "Scopes", ...["Used", "Of", "Left", "A minute"].map(figures), "From"]}
        rows=${keys.map(row)}
      />
      <p class="faint">
        <code>assay key mint --store</code> adds a key, <code>assay key revoke</code> ends one. The text of a key is not
        kept.
      </p>
    </section>`;
  return html`<${Answer} asked=${asked} what="the keys" show=${show} />`;
}
