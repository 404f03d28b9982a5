// The submissions of the key that is signed in, with a search; and a way to any other by its id.

import { html } from "../dom.js";
import { path, useAsk } from "../api.js";
import { go, link } from "../route.js";
import { Answer, Digest, Mark, Pages, Table, Time, Title, values } from "../parts.js";
import { several } from "../words.js";

const LIMIT = 20;
const HEAD = ["Submission", "Agent", "Address", "Tags", "State", "Made", "Changed"];
/** @type {Record<string, string>} */
const TONES = { confirmed: "good", failed: "bad" };

/** @param {Place} props */
export function Submissions({ query }) {
  const [text, page] = [query.get("q") ?? "", Number(query.get("page") ?? 1)];
  const asked = useAsk(path(["submissions"], { q: text, page, limit: LIMIT }));
  /** @param {Happening} event */
  const search = (event) => go(["submissions"], { q: values(event).q.trim() });
  /** @param {Shown<typeof asked>} answer */
  const show = ({ body: { submissions, total } }) => html`
    <p>
      ${several(total, "submission")} of your key${text ? html` match “${text}”. <a href=${link(["submissions"])}>Show all</a>` : "."}
    </p>
    <div class="stacked">
      ${submissions.length > 0 && html`<${Table} quiet caption="Submissions" head=${HEAD} rows=${submissions.map(row)} />`}
    </div>
    ${total === 0 && !text && html`<p class="faint">Open an <a href=${link(["agents"])}>agent</a> to make one.</p>`}
    <${Pages} page=${page} limit=${LIMIT} total=${total} href=${(page) => link(["submissions"], { q: text, page })} />
  `;
  return html`
    <${Title} text="Submissions" />
    <form class="line" role="search" onSubmit=${search}>
      <label for="q">Part of an id or an address, an agent, or a state such as <code>failed</code></label>
      <input id="q" name="q" type="search" spellcheck="false" defaultValue=${text} key=${text} />
      <button class="main">Search</button>
    </form>
    <${Answer} asked=${asked} what="your submissions" show=${show} />
    <${Other} />
  `;
}

/** @param {Api.OwnSubmission} submission */
const row = ({ submission_id: id, agent_id: agent, address, tags, status, error, created_at, updated_at }) => html`<tr>
  <th scope="row"><a href=${link(["agents", agent, "submissions", id])}><code>${id.slice(0, 13)}…</code></a></th>
  <td data-label="Agent"><a href=${link(["agents", agent])}>${agent}</a></td>
  <td data-label="Address"><${Digest} of=${address} /></td>
  <td data-label="Tags">${tags.join(", ")}</td>
  <td data-label="State"><${Mark} kind=${TONES[status]}>${status}</${Mark}> ${error && html`<span class="clip">${error}</span>`}</td>
  <td data-label="Made"><${Time} at=${created_at} /></td>
  <td data-label="Changed"><${Time} at=${updated_at} /></td>
</tr>`;

/** A submission that another key or a payment made. */
function Other() {
  /** @param {Happening} event */
  const open = (event) => {
    const { agent, submission } = values(event);
    go(["agents", agent.trim(), "submissions", submission.trim()]);
  };
  return html`<details>
    <summary>Open any other by its id</summary>
    <form class="line" onSubmit=${open}>
      <label for="agent">Agent</label
      ><input id="agent" name="agent" inputmode="numeric" pattern="[0-9]+" required size="8" />
      <label for="submission">Submission</label><input id="submission" name="submission" required spellcheck="false" />
      <button>Open</button>
    </form>
  </details>`;
}
