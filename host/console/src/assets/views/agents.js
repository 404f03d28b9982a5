// The agents of the registry: list, search, one agent, and its submissions.

import { html } from "../dom.js";
import { path, useAsk } from "../api.js";
import { go, link } from "../route.js";
import { useMe } from "../session.js";
import { Answer, Digest, Facts, Pages, Raw, Table, Title, figures, values } from "../parts.js";
import { count, number } from "../words.js";
import { Submission, Submit } from "./submission.js";

const LIMIT = 20;
const HEAD = ["Id", "Name", "Description", "Owner"];

/** @param {Place} props */
export function Agents({ parts: [agent, what, submission], query }) {
  const me = useMe();
  if (agent && what === "submissions" && submission)
    return html`<${Submission} agent=${agent} id=${submission} key=${submission} />`;
  if (agent) return html`<${Agent} id=${agent} key=${agent} />`;
  return html`<${Title} text="Agents" />
    ${
      me.scopes.includes("read")
        ? html`<${List} query=${query} />`
        : html`<p class="note">To see agents needs the scope <code>read</code>.</p>`
    }
    <p><a href=${link(["submissions"])}>Submissions of your key</a></p>`;
}

/** @param {{ query: URLSearchParams }} props */
function List({ query }) {
  const [text, page] = [query.get("q") ?? "", Number(query.get("page") ?? 1)];
  const asked = useAsk(
    text ? path(["agents", "search"], { q: text, page, limit: LIMIT }) : path(["agents"], { page, limit: LIMIT }),
  );
  /** @param {Happening} event */
  const submit = (event) => go(["agents"], { q: values(event).q.trim() });
  /** @param {Shown<typeof asked>} answer */
  const show = ({ body }) => {
    const total = "total" in body ? body.total : body.total_results;
    return html`
    <p>
      ${count(total)}${" "}
      ${text ? html`agents match “${text}”. <a href=${link(["agents"])}>Show all</a>` : "agents in the registry."}
    </p>
    <div class="stacked">
      ${body.agents.length > 0 && html`<${Table} quiet caption="Agents" head=${HEAD} rows=${body.agents.map(row)} />`}
    </div>
    <${Pages}
      page=${page}
      limit=${LIMIT}
      total=${total}
      href=${(page) => link(["agents"], { q: text, page })}
    />
  `;
  };
  return html`
    <form class="line" role="search" onSubmit=${submit}>
      <label for="q">Words in the name or the description</label>
      <input id="q" name="q" type="search" defaultValue=${text} key=${text} />
      <button class="main">Search</button>
    </form>
    <${Answer} asked=${asked} what="the agents" show=${show} />
  `;
}

/**
 * The document of an agent may be missing, and its name too.
 * @param {Api.Agent["metadata"]} metadata
 */
const name = (metadata) => metadata?.name || html`<span class="faint">${metadata ? "no name" : "no document"}</span>`;

/** @param {Api.Agent} agent */
const row = ({ agent_id, owner, metadata }) =>
  html`<tr>
    <th scope="row"><a href=${link(["agents", agent_id])}>${agent_id}</a></th>
    <td dir="auto" class="name"><span class="clip">${name(metadata)}</span></td>
    <td dir="auto" class="wide"><span class="clip">${metadata?.description}</span></td>
    <td data-label="Owner"><a href=${link(["look-up", owner])}><${Digest} of=${owner} /></a></td>
  </tr>`;

/** @param {{ id: string }} props */
function Agent({ id }) {
  const me = useMe();
  return html`
    <p><a href=${link(["agents"])}>All agents</a></p>
    <${Title} text=${`Agent ${id}`} />
    ${me.scopes.includes("read") && html`<${Registered} id=${id} /><${Reputation} id=${id} />`}
    ${me.scopes.includes("submit") && html`<${Submit} agent=${id} />`}
  `;
}

/** @param {{ id: string }} props */
function Registered({ id }) {
  const asked = useAsk(path(["agents", id]));
  /** @param {Shown<typeof asked>} answer */
  const show = ({ body: { owner, metadata }, text }) =>
    html`<section class="card">
      <h2 dir="auto">${metadata?.name ?? "Without a name"}</h2>
      ${
        metadata
          ? html`<p dir="auto">${metadata.description}</p>`
          : html`<p class="faint">The document of this agent is not available.</p>`
      }
      <${Facts}
        of=${[
          ["Owner", html`<code>${owner}</code>`],
          metadata?.image && ["Image, as its owner wrote it", html`<code>${metadata.image}</code>`],
        ]}
      />
      <${Raw} text=${text} name="The agent as JSON" />
    </section>`;
  return html`<${Answer} asked=${asked} what="the agent" show=${show} />`;
}

/** @param {{ id: string }} props */
function Reputation({ id }) {
  const asked = useAsk(path(["agents", id, "reputation"]));
  /** @param {Api.TagSummary} summary */
  const row = ({ tag, count: times, clients, mean, min, max }) =>
    html`<tr>
      <th scope="row">${tag || "no tag"}</th>
      <td class="figure">${count(times)}</td>
      <td class="figure">${count(clients)}</td>
      <td class="figure">${number(mean)}</td>
      <td class="figure">${number(min)}</td>
      <td class="figure">${number(max)}</td>
    </tr>`;
  /** @param {Shown<typeof asked>} answer */
  const show = ({ body: { summaries, total_clients, clients_read, complete } }) =>
    html`<section class="card">
      <h2>Feedback in the registry</h2>
      ${
        summaries.length === 0
          ? html`<p>${complete ? "There is none." : "None was read."}</p>`
          : html`<${Table}
              quiet
              caption="Feedback by tag"
              head=${["Tag", ...["Entries", "Clients", "Mean", "Lowest", "Highest"].map(figures)]}
              rows=${summaries.map(row)}
            />`
      }
      ${
        !complete &&
        html`<p class="note warn">
          Not everything was read: ${count(clients_read)} of ${count(total_clients)} clients.
        </p>`
      }
    </section>`;
  return html`<${Answer} asked=${asked} what="the feedback" show=${show} />`;
}
