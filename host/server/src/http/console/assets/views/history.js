// The lending history: totals, a time axis, and the counts of each market.

import { html } from "../dom.js";
import { Digest, Facts, Mark, Table, Time, figures } from "../parts.js";
import { Timeline } from "../charts/timeline.js";
import { chain, count } from "../words.js";

const KINDS = [
  ["borrow", "Borrowed"],
  ["repay", "Repaid"],
  ["liquidation", "Liquidated"],
  ["supply", "Supplied"],
  ["withdraw", "Withdrawn"],
];

const name = (pool) => `${pool.protocol}${pool.market ? ` ${pool.market}` : ""} on ${chain(pool.chain_id)}`;

/** The last liquidation in a market: the report has only their number, the input of the model has the time. */
function liquidated(pool, features) {
  const same = ({ chain_id, protocol, market }) =>
    chain_id === pool.chain_id && protocol === pool.protocol && market === pool.market;
  const time = features?.markets.find(same)?.last_liquidation;
  return time ? new Date(time * 1000).toISOString() : undefined;
}

const line = (pool, features) => ({
  name: name(pool),
  from: pool.first_event_at,
  to: pool.last_event_at,
  liquidated: liquidated(pool, features),
});

export function History({ report: { credit_events: events, timestamp }, features }) {
  const isWhole = events.coverage === "complete";
  const used = events.pools.filter((pool) => pool.first_event_at);
  return html`<section class="card">
    <h2>Lending history</h2>
    <${Facts}
      of=${KINDS.map(([kind, title]) => [title, count(events.totals[kind]) + (isWhole ? "" : " or more")])}
    />
    ${
      used.length > 0
        ? html`<${Timeline} now=${timestamp} rows=${used.map((pool) => line(pool, features))} />`
        : html`<p>
            ${isWhole ? "No lending event in any market that is read." : "No lending event was read yet."}
          </p>`
    }
    <${Pools} pools=${events.pools} />
    <p class="faint">
      Not read here, so that nothing can be said of them: ${events.not_covered.join(", ") || "nothing"}.
    </p>
  </section>`;
}

function Pools({ pools }) {
  if (pools.length === 0) return html`<p>This server reads no lending market.</p>`;
  const head = [
    "Market",
    "Coverage",
    ...KINDS.map(([, title]) => figures(title)),
    "First event",
    "Last event",
    figures("Read to block"),
    "Counts for the score",
  ];
  const row = (pool) => html`<tr>
    <th scope="row">${name(pool)}<br /><${Digest} of=${pool.market_address} /></th>
    <td><${Mark} kind=${pool.coverage === "complete" ? "good" : "warn"}>${pool.coverage}</${Mark}></td>
    ${KINDS.map(([kind]) => html`<td class="figure">${count(pool.counts[kind])}</td>`)}
    <td><${Time} at=${pool.first_event_at} /></td>
    <td><${Time} at=${pool.last_event_at} /></td>
    <td class="figure">${count(pool.synced_to_block)}</td>
    <td>${pool.feeds_score ? "yes" : "no"}</td>
  </tr>`;
  return html`<details open=${pools.length <= 4}>
    <summary>The ${pools.length} markets</summary>
    <${Table} quiet caption="Lending events by market" head=${head} rows=${pools.map(row)} />
    <p class="faint">A dash in place of a count: this kind of event is not collected, or could not be read.</p>
  </details>`;
}
