// The state of the server: the store, the queue of submissions, gas at risk, and its chains.

import { html, useEffect } from "../dom.js";
import { useAsk } from "../api.js";
import { Facts, Mark, Notes, Problem, Raw, Table, Time, Title, Waiting, figures } from "../parts.js";
import { cents, count, span } from "../words.js";
import { Chains } from "./chains.js";

/** Milliseconds between two questions. */
const POLL = 10_000;

export function Status() {
  const { answer, error, loading, again } = useAsk("admin/status");
  useEffect(() => {
    if (loading || error) return undefined;
    const later = setTimeout(again, POLL);
    return () => clearTimeout(later);
  }, [loading, error, answer]);
  return html`
    <${Title} text="Status" />
    ${error && html`<${Problem} error=${error} again=${again} />`}
    ${!answer && !error && html`<${Waiting} what="the status" />`}
    ${answer && html`<${State} body=${answer.body} text=${answer.text} />`}
  `;
}

/** @param {{ body: Api.Status; text: string }} props */
function State({ body, text }) {
  const { version, timestamp, ready, reasons, warnings, chains, submissions, gas, store } = body;
  return html`
    <section class="card">
      <h2>This host <${Mark} kind=${ready ? "good" : "bad"}>${ready ? "ready" : "not ready"}</${Mark}></h2>
      <${Facts}
        of=${[
          ["Version", version],
          ["Seen", html`<${Time} at=${timestamp} />`],
          [
            "Store",
            html`${store.backend} <${Mark} kind=${store.problem ? "bad" : "good"}>${store.problem ? "fails" : "works"}</${Mark}>`,
          ],
          ["Submissions", html`<${Queue} submissions=${submissions} />`],
        ]}
      />
      <${Notes} title="What keeps it from answering" items=${reasons} />
      <${Notes} title="Warnings" items=${warnings} />
      <p class="faint">
        Figures are of the host that answered, and follow by themselves. Prometheus reads more at <a href="../metrics">/metrics</a>.
      </p>
    </section>
    ${gas && html`<${Gas} gas=${gas} />`}
    ${chains.length > 0 && html`<${Chains} chains=${chains} />`}
    ${chains.length === 0 && html`<p class="note">This server reads no chain.</p>`}
    <${Raw} text=${text} name="The status as JSON" />
  `;
}

/** @param {{ submissions: Api.Status["submissions"] }} props */
function Queue({ submissions }) {
  if (!submissions) return "not configured";
  const waiting = Object.entries(submissions.open).filter(([, times]) => times > 0);
  const all = waiting.reduce((sum, [, times]) => sum + times, 0);
  if (all === 0) return "none is open";
  return html`${count(all)} open <small class="faint">
    ${waiting.map(([status, times]) => `${count(times)} ${status}`).join(", ")}; the oldest is ${span(submissions.oldest_seconds)} old
  </small>`;
}

/** @type {Record<string, string>} */
const BUDGETS = { accounts: "Transfers of accounts", contracts: "Transfers of contracts", feedback: "Feedback" };

/**
 * A figure, marked if it is not as it should be.
 * @param {{ is: boolean; children?: Html }} props
 */
const Raised = ({ is, children }) => (is ? html`<${Mark} kind="warn">${children}</${Mark}>` : children);

/** @param {{ gas: Api.GasAtRisk }} props */
function Gas({ gas: { budgets, period_seconds: period } }) {
  /** @param {Api.GasBudget} budget */
  const row = ({ of, budget_usd: budget, in_flight_usd: inFlight, lost_usd: lost, in_turn: inTurn }) => html`<tr>
    <th scope="row">${BUDGETS[of] ?? of}</th>
    <td data-label="Budget" class="figure">${cents(budget)}</td>
    <td data-label="In flight" class="figure">${cents(inFlight)}</td>
    <td data-label="Lost" class="figure"><${Raised} is=${lost > 0}>${cents(lost)}</${Raised}></td>
    <td data-label="Waiting" class="figure"><${Raised} is=${inTurn > 0}>${count(inTurn)}</${Raised}></td>
  </tr>`;
  const head = ["Budget for", ...["Budget", "In flight", "Lost", "Waiting"].map(figures)];
  return html`<section class="card">
    <h2>Gas at risk</h2>
    <div class="stacked"><${Table} quiet caption="Gas at risk" head=${head} rows=${budgets.map(row)} /></div>
    <p class="faint">
      Transactions that bring nothing cost these budgets at most. A loss returns evenly within ${span(period)}; without
      room in its budget, a payment or a submission waits for its turn.
    </p>
  </section>`;
}
