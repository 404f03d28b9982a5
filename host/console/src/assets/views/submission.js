// A submission: making one, and its states as they change, with its transactions and its document.

import { html, useEffect } from "../dom.js";
import { ask, path, useAction, useAsk } from "../api.js";
import { ENDED, useSubmission } from "../events.js";
import { go, link } from "../route.js";
import { useMe } from "../session.js";
import { Answer, Facts, Mark, Problem, Raw, Table, Time, Title, Waiting, announce, figures, values } from "../parts.js";
import { count, several } from "../words.js";

/** @type {Record<Api.Tag, string>} */
const TAGS = { creditScore: "Credit score", sybilRisk: "Sybil risk", identityCount: "Attestations of identity" };
const HEAD = ["Tag", "Transaction", figures("Block"), figures("Gas")];
/** @type {Record<string, string>} */
const TONES = { confirmed: "good", failed: "bad" };
/** @type {Record<string, string>} */
const STATES = {
  pending: "queued",
  scoring: "computing the scores",
  uploading: "storing the document",
  submitting: "sending the transactions",
  confirmed: "on the chain",
};

/** A key of its own for each form, so that a lost answer is not paid twice. */
const retryKey = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/**
 * The address of a name; an address is its own. The API takes only addresses here.
 * @param {string} subject
 */
async function resolved(subject) {
  if (!subject.includes(".")) return subject;
  const { body } = await ask(path(["identity", "address", subject, "attestations"]));
  announce(`${subject} is ${body.address}`);
  return body.address;
}

/** @param {{ agent: string }} props */
export function Submit({ agent }) {
  const me = useMe();
  const { busy, error, start } = useAction();
  /** @param {Happening} event */
  const submit = (event) => {
    const given = values(event);
    const form = event.currentTarget;
    const tags = /** @type {Api.Tag[]} */ (Object.keys(TAGS)).filter((tag) => given[tag]);
    start(async () => {
      const json = { address: await resolved(given.address.trim()), tags };
      const content = JSON.stringify(json);
      const retry = (form.dataset.content === content && form.dataset.retry) || retryKey();
      Object.assign(form.dataset, { content, retry });
      const headers = { "idempotency-key": retry };
      const { body } = await ask(path(["agents", agent, "reputation"]), { method: "POST", json, headers });
      go(["agents", agent, "submissions", body.submission_id]);
    });
  };
  return html`<section class="card">
    <h2>Submit reputation</h2>
    <p>
      The scores of an address are written to the Reputation Registry for this agent. It costs${" "}
      ${several(me.costs.submission, "unit")}; a submission that fails returns them.
    </p>
    ${error && html`<${Problem} error=${error} />`}
    <form class="stack" onSubmit=${submit}>
      <label for="subject">Ethereum address to score, or an ENS name</label>
      <input
        id="subject"
        name="address"
        required
        pattern="0x[0-9a-fA-F]{40}|[^ ]+[.][^ ]+"
        spellcheck="false"
        autocomplete="off"
      />
      ${
        me.scopes.includes("read") &&
        html`<p class="faint">Resolving a name costs ${several(me.costs.report, "unit")}.</p>`
      }
      <fieldset>
        <legend>What is submitted</legend>
        ${Object.entries(TAGS).map(
          ([tag, name]) =>
            html`<label class="choice"><input type="checkbox" name=${tag} defaultChecked /> ${name}</label>`,
        )}
      </fieldset>
      <button class="main" disabled=${busy}>${busy ? "Submitting …" : "Submit"}</button>
    </form>
  </section>`;
}

/** @param {{ agent: string; id: string }} props */
export function Submission({ agent, id }) {
  const { submission, error, again } = useSubmission(agent, id);
  const status = submission?.status;
  useEffect(() => {
    if (status) announce(`The submission is ${status}`);
  }, [status]);
  return html`
    <p><a href=${link(["agents", agent])}>Agent ${agent}</a></p>
    <${Title} text="Submission" />
    <p><code>${id}</code></p>
    ${error && html`<${Problem} error=${error} again=${again} />`}
    ${!error && !submission && html`<${Waiting} what="the submission" />`}
    ${submission && html`<${State} submission=${submission} />`}
    ${submission?.scores && html`<${Document} agent=${agent} id=${id} />`}
  `;
}

/** @param {{ submission: Api.SubmissionState }} props */
function State({ submission }) {
  const { status, scores, transactions, feedback_uri, error, detail, created_at, updated_at } = submission;
  return html`<section class="card">
    <h2>State: <${Mark} kind=${TONES[status]}>${status}</${Mark}></h2>
    ${error && html`<p class="note bad">${error}</p>`}
    ${detail && html`<p class="note warn">It waits: ${detail}</p>`}
    ${status !== "failed" && html`<${Steps} status=${status} />`}
    ${!ENDED.includes(status) && html`<p class="faint">This page follows it by itself.</p>`}
    <${Facts} of=${[
      ["Made", html`<${Time} at=${created_at} />`],
      ["Changed", html`<${Time} at=${updated_at} />`],
      scores && ["Credit score", count(scores.credit_score)],
      scores && ["Sybil risk, 0 to 100", count(scores.sybil_score)],
      scores && ["Attestations", count(scores.identity_count)],
      feedback_uri && ["Document", html`<code>${feedback_uri}</code>`],
    ]} />
    ${
      transactions.length > 0 &&
      html`<${Table} caption="Transactions" head=${HEAD} rows=${transactions.map(transaction)} />`
    }
    <${Raw} text=${JSON.stringify(submission)} name="The submission as JSON" />
  </section>`;
}

/** @param {Api.FeedbackTransaction} transaction */
const transaction = ({ tag1, transaction_hash, block_number, gas_used }) =>
  html`<tr>
    <th scope="row">${tag1}</th>
    <td><code>${transaction_hash}</code></td>
    <td class="figure">${count(block_number)}</td>
    <td class="figure">${count(gas_used)}</td>
  </tr>`;

/** @param {{ status: Api.SubmissionStatus }} props */
function Steps({ status }) {
  const names = Object.keys(STATES);
  const at = names.indexOf(status);
  /** @param {number} index */
  const kind = (index) => (index < at || status === "confirmed" ? "past" : index === at ? "here" : "");
  return html`<ol class="steps">
    ${names.map(
      (name, index) =>
        html`<li class=${kind(index)} aria-current=${index === at ? "step" : undefined}>
          <b>${name}</b> <span class="faint">${STATES[name]}</span>
        </li>`,
    )}
  </ol>`;
}

/** @param {{ agent: string; id: string }} props */
function Document({ agent, id }) {
  const asked = useAsk(path(["agents", agent, "reputation", "feedback", id]));
  /** @param {Shown<typeof asked>} answer */
  const show = ({ text }) => html`<${Raw} text=${text} name="The document as it is stored" />`;
  return html`<${Answer} asked=${asked} what="the document" show=${show} />`;
}
