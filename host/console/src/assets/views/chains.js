// The chains of the server with their endpoints, prices and index: those that deviate, and all on request.

import { html } from "../dom.js";
import { Mark, Table, figures } from "../parts.js";
import { NOT_KNOWN, count, number, several, span } from "../words.js";

/** @param {Api.ChainStatus} chain */
const isOld = ({ head_age_seconds: age, max_head_age_seconds: most }) => age != null && most != null && age > most;

/** @param {Api.EndpointStatus} endpoint */
const isTroubled = ({ state, error }) => state !== "ready" || error != null;

/** @param {Api.ChainStatus["prices"]} prices */
const doubts = (prices) =>
  prices == null
    ? ["not read yet"]
    : [
        prices.lacking > 0 && `${count(prices.lacking)} lacking`,
        prices.stale_feeds > 0 && several(prices.stale_feeds, "stale feed"),
        !prices.trusted && "not trusted: the sequencer is not known to be up",
      ].filter((doubt) => doubt !== false);

/** @param {Api.ChainStatus} chain */
const deviates = (chain) =>
  chain.problem != null ||
  chain.head == null ||
  isOld(chain) ||
  doubts(chain.prices).length > 0 ||
  (chain.index != null && (!chain.index.in_step || chain.index.problem != null));

/** @param {{ chains: Api.ChainStatus[] }} props */
export function Chains({ chains }) {
  const endpoints = chains.flatMap((chain) => chain.endpoints.map((endpoint) => ({ chain, endpoint })));
  const [odd, troubled] = [chains.filter(deviates), endpoints.filter(({ endpoint }) => isTroubled(endpoint))];
  const ages = chains.flatMap(({ head_age_seconds: age }) => age ?? []);
  return html`<section class="card">
      <h2>Chains</h2>
      <p>
        ${several(chains.length - odd.length, "chain")} of ${count(chains.length)} as expected${
          ages.length > 0 && `; their newest blocks are at most ${span(Math.max(...ages))} old`
        }.
      </p>
      ${odd.length > 0 && html`<div class="stacked"><${Table} caption="Chains that deviate" head=${HEAD} rows=${odd.map(row)} /></div>`}
      <details id="chains">
        <summary>All chains</summary>
        <div class="stacked"><${Table} quiet caption="Chains" head=${HEAD} rows=${chains.map(row)} /></div>
      </details>
    </section>
    <section class="card">
      <h2>Endpoints</h2>
      <p>${several(endpoints.length - troubled.length, "endpoint")} of ${count(endpoints.length)} ready.</p>
      ${
        troubled.length > 0 &&
        html`<div class="stacked"><${Table} caption="Endpoints that deviate" head=${ENDPOINTS} rows=${troubled.map(Endpoint)} /></div>`
      }
      <details id="endpoints">
        <summary>All endpoints</summary>
        <div class="stacked"><${Table} quiet caption="Endpoints" head=${ENDPOINTS} rows=${endpoints.map(Endpoint)} /></div>
        <p class="faint">Only hosts are named: an address may hold a key. An empty pace means that no limit is known.</p>
      </details>
    </section>`;
}

const HEAD = ["Chain", figures("Newest block"), figures("Block age"), "Prices", "Index of markets", "Problem"];

/** @param {Api.ChainStatus} chain */
const row = (chain) => html`<tr>
  <th scope="row">${chain.chain_name} <span class="faint">${chain.chain_id}</span></th>
  <td data-label="Newest block" class="figure">${count(chain.head)}</td>
  <td data-label="Block age" class="figure">
    ${chain.head_age_seconds == null ? NOT_KNOWN : isOld(chain) ? html`<${Mark} kind="warn">${span(chain.head_age_seconds)}</${Mark}>` : span(chain.head_age_seconds)}
  </td>
  <td data-label="Prices"><${Prices} prices=${chain.prices} /></td>
  <td data-label="Index"><${Index} index=${chain.index} /></td>
  <td data-label="Problem">${chain.problem ? html`<span class="bad">${chain.problem}</span>` : "none"}</td>
</tr>`;

/** @param {{ prices: Api.ChainStatus["prices"] }} props */
function Prices({ prices }) {
  if (!prices) return html`<span class="faint">not read yet</span>`;
  const { age_seconds: age, priced, oldest_round_seconds: oldest } = prices;
  const doubted = doubts(prices);
  return html`${several(priced, "price")}, read ${span(age)} ago
    ${oldest != null && html`<br /><span class="faint">oldest round ${span(oldest)}</span>`}
    ${doubted.length > 0 && html`<br /><${Mark} kind="warn">${doubted.join(", ")}</${Mark}>`}`;
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
