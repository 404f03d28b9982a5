// The state of the server: its chains with their endpoints, prices and index, the queue of submissions, gas at risk, and
// the store.

import { html, useEffect } from "../dom.js";
import { useAsk } from "../api.js";
import { Facts, Mark, Notes, Problem, Raw, Table, Time, Title, Waiting, figures } from "../parts.js";
import { NOT_KNOWN, cents, count, number, several, span } from "../words.js";

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

/** @param {{ gas: Api.GasAtRisk }} props */
function Gas({ gas: { budgets, period_seconds: period } }) {
  /** @param {Api.GasBudget} budget */
  const row = ({ of, budget_usd: budget, in_flight_usd: inFlight, lost_usd: lost, in_turn: inTurn }) => html`<tr>
    <th scope="row">${BUDGETS[of] ?? of}</th>
    <td data-label="Budget" class="figure">${cents(budget)}</td>
    <td data-label="In flight" class="figure">${cents(inFlight)}</td>
    <td data-label="Lost" class="figure"><${Mark} kind=${lost > 0 && "warn"}>${cents(lost)}</${Mark}></td>
    <td data-label="In turn" class="figure"><${Mark} kind=${inTurn > 0 && "warn"}>${count(inTurn)}</${Mark}></td>
  </tr>`;
  const head = ["Budget for", ...["Budget", "In flight", "Lost", "In turn"].map(figures)];
  return html`<section class="card">
    <h2>Gas at risk</h2>
    <div class="stacked"><${Table} quiet caption="Gas at risk" head=${head} rows=${budgets.map(row)} /></div>
    <p class="faint">
      Transactions that bring nothing cost these budgets at most. A loss returns evenly within ${span(period)}; without
      room in its budget, a payment or a submission waits for its turn.
    </p>
  </section>`;
}

/** @param {Api.ChainStatus} chain */
const isOld = ({ head_age_seconds: age, max_head_age_seconds: most }) => age != null && most != null && age > most;

/** @param {{ chains: Api.ChainStatus[] }} props */
function Chains({ chains }) {
  /** @param {Api.ChainStatus} chain */
  const row = (chain) => html`<tr>
    <th scope="row">${chain.chain_name} <span class="faint">${chain.chain_id}</span></th>
    <td data-label="Newest block" class="figure">${count(chain.head)}</td>
    <td data-label="Its age" class="figure">
      ${chain.head_age_seconds == null ? NOT_KNOWN : html`<${Mark} kind=${isOld(chain) && "warn"}>${span(chain.head_age_seconds)}</${Mark}>`}
    </td>
    <td data-label="Prices"><${Prices} prices=${chain.prices} /></td>
    <td data-label="Index"><${Index} index=${chain.index} /></td>
    <td data-label="Problem">${chain.problem ? html`<span class="bad">${chain.problem}</span>` : "none"}</td>
  </tr>`;
  const head = ["Chain", figures("Newest block"), figures("Its age"), "Prices", "Index of markets", "Problem"];
  const endpoints = chains.flatMap((chain) => chain.endpoints.map((endpoint) => ({ chain, endpoint })));
  return html`<section class="card">
      <h2>Chains</h2>
      <div class="stacked"><${Table} quiet caption="Chains" head=${head} rows=${chains.map(row)} /></div>
    </section>
    <section class="card">
      <h2>Endpoints</h2>
      <div class="stacked"><${Table} quiet caption="Endpoints" head=${ENDPOINTS} rows=${endpoints.map(Endpoint)} /></div>
      <p class="faint">Only hosts are named: an address may hold a key. An empty pace means that no limit is known.</p>
    </section>`;
}

/** @param {{ prices: Api.ChainStatus["prices"] }} props */
function Prices({ prices }) {
  if (!prices) return html`<span class="faint">not read yet</span>`;
  const { age_seconds: age, priced, lacking, stale_feeds: stale, oldest_round_seconds: oldest, trusted } = prices;
  const doubts = [
    lacking > 0 && `${count(lacking)} lacking`,
    stale > 0 && several(stale, "stale feed"),
    !trusted && "not trusted: the sequencer is not known to be up",
  ].filter(Boolean);
  return html`${several(priced, "price")}, read ${span(age)} ago
    ${oldest != null && html`<br /><span class="faint">oldest round ${span(oldest)}</span>`}
    ${doubts.length > 0 && html`<br /><${Mark} kind="warn">${doubts.join(", ")}</${Mark}>`}`;
}

/** @param {{ index: Api.ChainStatus["index"] }} props */
function Index({ index }) {
  if (!index) return html`<span class="faint">none</span>`;
  const { through, behind_blocks: behind, in_step: isInStep, problem } = index;
  return html`${through == null ? "begins" : `through ${count(through)}`}${" "}
    <${Mark} kind=${isInStep ? "good" : "warn"}>${isInStep ? "in step" : behind == null ? "behind" : `${count(behind)} behind`}</${Mark}>
    ${problem && html`<br /><span class="bad">${problem}</span>`}`;
}

const ENDPOINTS = [
  "Endpoint",
  "Chain",
  "State",
  ...["Pace", "Answers", "Failures", "Newest block", "Logs at once"].map(figures),
];

/** @type {Record<string, string>} */
const TONES = { ready: "good", rests: "bad" };

/** @param {{ chain: Api.ChainStatus; endpoint: Api.EndpointStatus }} row */
function Endpoint({
  chain,
  endpoint: { host, current, state, error, answers, failures, pace, log_range: range, head },
}) {
  return html`<tr>
    <th scope="row"><code>${host}</code> ${current && html`<${Mark} kind="main">in use</${Mark}>`}</th>
    <td data-label="Chain">${chain.chain_name}</td>
    <td data-label="State"><${Mark} kind=${TONES[state]}>${state}</${Mark}> ${error && html`<span class="bad">${error}</span>`}</td>
    <td data-label="Pace" class="figure">${pace ? `${number(pace.per_second)} ${pace.counts}/s` : ""}</td>
    <td data-label="Answers" class="figure">${count(answers)}</td>
    <td data-label="Failures" class="figure">${count(failures)}</td>
    <td data-label="Newest block" class="figure">${count(head)}</td>
    <td data-label="Logs at once" class="figure">${range == null ? "" : several(range, "block")}</td>
  </tr>`;
}
