// The lending history: totals, each event on a time axis, and the counts of each market.

import { html } from "../dom.js";
import { Digest, Mark, Table, Time, figures } from "../parts.js";
import { Timeline } from "../charts/timeline.js";
import { chain, count, dollars, market, protocol, several } from "../words.js";

/** @type {[kind: Api.EventKind, title: string][]} */
const KINDS = [
  ["borrow", "Borrowed"],
  ["repay", "Repaid"],
  ["liquidation", "Liquidated"],
  ["supply", "Supplied"],
  ["withdraw", "Withdrawn"],
];
const TITLES = Object.fromEntries(KINDS);

/** @param {Api.Pool | Api.PoolEvent} of */
const key = ({ protocol, market_address: address, chain_id: id }) => `${protocol} ${address} ${id}`;

/** @param {{ report: Api.Report }} props */
export function History({ report: { credit_events: events, timestamp } }) {
  const isWhole = events.coverage === "complete";
  const used = events.pools.filter((pool) => pool.first_event_at);
  const missing = loadedSince(events);
  /** @param {Api.Pool} pool */
  const row = (pool) => ({
    name: market(pool),
    from: pool.first_event_at,
    to: pool.last_event_at,
    events: [...(events.events ?? []), ...lastLiquidation(events)].filter((event) => key(event) === key(pool)),
    missing,
  });
  return html`<section class="card">
    <div class="totals">
      <h2>Lending history</h2>
      ${KINDS.map(([kind, title]) => html`<span>${title} <b>${count(events.totals[kind])}</b></span>`)}
      ${!isWhole && html`<span class="faint">or more: not everything was read</span>`}
      <${Unscored} events=${events} />
    </div>
    ${
      used.length > 0
        ? html`<${Timeline} now=${timestamp} rows=${used.map(row)} />`
        : html`<p>
            ${isWhole ? "No lending event in any market that is read." : "No lending event was read yet."}
          </p>`
    }
    <div class="folds">
      <${Events} events=${events} pools=${events.pools} />
      <${Pools} pools=${events.pools} />
    </div>
  </section>`;
}

/**
 * The last liquidation, if it was not loaded with the newest events and only one market can have it.
 * @param {Api.CreditEvents} events
 * @returns {Api.PoolEvent[]}
 */
function lastLiquidation({ events, pools, last_liquidation_at: at }) {
  const [pool, ...others] = pools.filter(({ counts }) => (counts.liquidation ?? 1) > 0);
  const isLoaded = events?.some(({ kind }) => kind === "liquidation");
  return at && pool && others.length === 0 && !isLoaded ? [{ ...pool, at, kind: "liquidation", usd: null }] : [];
}

/**
 * The oldest event that was loaded, if older ones were not.
 * @param {Api.CreditEvents} events
 */
function loadedSince({ events, totals }) {
  const all = Object.values(totals).reduce((sum, one) => sum + one, 0);
  return events && events.length > 0 && events.length < all ? events[events.length - 1].at : undefined;
}

/**
 * Why the factors count fewer events than the report.
 * @param {{ events: Api.CreditEvents }} props
 */
function Unscored({ events: { totals, score_totals: scored, pools } }) {
  if (!scored) return null;
  const less = KINDS.filter(([kind]) => scored[kind] < totals[kind]);
  if (less.length === 0) return null;
  const names = new Set(pools.filter((pool) => !pool.feeds_score).map((pool) => protocol(pool.protocol)));
  const counts = less.map(([kind, title]) => `${title.toLowerCase()} ${scored[kind]} of ${totals[kind]}`);
  return html`<span class="faint">
    The score counts ${counts.join(", ")}: ${[...names].join(", ")} is shown and does not feed it.
  </span>`;
}

/** @param {{ events: Api.CreditEvents; pools: Api.Pool[] }} props */
function Events({ events: { events, totals }, pools }) {
  if (!events?.length) return null;
  const all = Object.values(totals).reduce((sum, one) => sum + one, 0);
  const names = new Map(pools.map((pool) => [key(pool), market(pool)]));
  /** @param {Api.PoolEvent} event */
  const row = (event) => html`<tr>
    <td><${Time} at=${event.at} /></td>
    <th scope="row">${TITLES[event.kind]}</th>
    <td class="figure">${event.usd === null ? "not known" : dollars(event.usd)}</td>
    <td>${names.get(key(event)) ?? `${protocol(event.protocol)} on ${chain(event.chain_id)}`}</td>
  </tr>`;
  return html`<details>
    <summary>
      ${several(events.length, "event")}${events.length < all && `, the newest of ${count(all)}`}
    </summary>
    <${Table} quiet caption="Lending events" head=${["Time", "Event", figures("Dollars then"), "Market"]} rows=${events.map(row)} />
  </details>`;
}

/** @param {{ pools: Api.Pool[] }} props */
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
  /** @param {Api.Pool} pool */
  const row = (pool) => html`<tr>
    <th scope="row">${market(pool)}<br /><span class="faint">${pool.protocol}</span> <${Digest} of=${pool.market_address} /></th>
    <td><${Mark} kind=${pool.coverage === "complete" ? "good" : "warn"}>${pool.coverage}</${Mark}></td>
    ${KINDS.map(([kind]) => html`<td class="figure">${count(pool.counts[kind])}</td>`)}
    <td><${Time} at=${pool.first_event_at} /></td>
    <td><${Time} at=${pool.last_event_at} /></td>
    <td class="figure">${count(pool.synced_to_block)}</td>
    <td>${pool.feeds_score ? "yes" : "no"}</td>
  </tr>`;
  return html`<details>
    <summary>The ${pools.length} markets</summary>
    <${Table} quiet caption="Lending events by market" head=${head} rows=${pools.map(row)} />
    <p class="faint">A dash in place of a count: this kind of event is not collected, or could not be read.</p>
  </details>`;
}
