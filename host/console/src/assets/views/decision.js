// What a lender asks first: how much is owed, how near that is to liquidation, whether there was one, how sure it is.

import { html, useState } from "../dom.js";
import { link } from "../route.js";
import { useMe } from "../session.js";
import { Mark, Time } from "../parts.js";
import { EXPLORERS, day, dollars, number, percent, range, several } from "../words.js";
import { Scale } from "../charts/scale.js";
import { Populations, Rates } from "./rates.js";
import { Positions } from "./positions.js";

/** @param {{ asked: string; score?: Api.Score; report: Api.Report; boosted: number | null; polls: boolean }} props */
export function Decision({ asked, score, report, boosted, polls }) {
  const isMuted = report.credit_events.coverage === "pending" || score?.credit_events_coverage === "pending";
  return html`<section class="card narrow-rows decision" aria-label="Decision">
    <${Who} asked=${asked} report=${report} />
    <div class="verdict">
      <div class=${isMuted ? "muted" : undefined}>
        ${score ? html`<${Points} score=${score} boosted=${boosted} /><${Rates} score=${score} />` : html`<${Unscored} score=${report.score} />`}
      </div>
      <${Answers} score=${score} report=${report} />
    </div>
    <${Notes} score=${score} report=${report} polls=${polls} />
    <${Positions} positions=${report.credit_events.positions ?? []} />
    ${score && html`<${Populations} score=${score} />`}
  </section>`;
}

/** @param {{ asked: string; report: Api.Report }} props */
function Who({ asked, report: { address, activity } }) {
  const me = useMe();
  const [copied, setCopied] = useState(false);
  const copy = () =>
    navigator.clipboard?.writeText(address).then(
      () => setCopied(true),
      () => {},
    );
  const explorer = EXPLORERS[activity.active_chains[0]] ?? EXPLORERS[1];
  return html`<h2 class="subject">
    ${asked.includes(".") && html`<span>${asked}</span>`} <code>${address}</code>
    <span class="tools">
      <button type="button" class="small" onClick=${copy}>${copied ? "Copied" : "Copy"}</button>
      ${!me.sandbox && html`<a href=${link(["watches", "new"], { address: asked })}>Watch this wallet</a>`}
      <a href=${`https://${explorer}/address/${address}`} rel="noreferrer" target="_blank">Explorer</a>
    </span>
  </h2>`;
}

/** @param {{ score: Api.Score; boosted: number | null }} props */
function Points({ score, boosted }) {
  return html`<div class="headline">
      <p class="big">${score.score}</p>
      <p>
        <${Mark} kind=${`range-${score.range}`}>${range(score.range)}</${Mark}>
        ${score.provisional && html` <${Mark} kind="warn">provisional</${Mark}>`}
        <br />${score.decile > 1 ? `Better than ${score.decile - 1} of 10 wallets` : "In the lowest tenth of wallets"}${" "}
        <small class="faint">of the model's reference</small>
      </p>
    </div>
    <${Scale} score=${score.score} name=${score.range} decile=${score.decile} boosted=${boosted} />`;
}

/** @param {{ score: Api.ReportScore }} props */
function Unscored({ score: { inactive, refused } }) {
  const why =
    refused?.reason ??
    (inactive ? "It has no activity on any chain that is read." : "The score could not be computed.");
  return html`<p class="mid"><b>Not scored</b></p>
    <p>${why}</p>`;
}

/**
 * What the wallet drew on the credit of others, who owe it, and what others drew on its own.
 * @param {{ report: Api.Report }} props
 */
function Delegated({ report: { address, credit_events: events } }) {
  const all = (events.positions ?? []).flatMap(({ delegations }) => delegations ?? []);
  /** @param {Api.Delegation[]} of */
  const drawn = (of) => {
    const known = of.every(({ drawn_usd: usd }) => usd != null);
    return known ? dollars(of.reduce((sum, { drawn_usd: usd }) => sum + (usd ?? 0), 0)) : several(of.length, "loan");
  };
  const others = all.filter(({ owner }) => owner !== address);
  const own = all.filter(({ owner }) => owner === address);
  return html`
    ${others.length > 0 && html`<small>drew ${drawn(others)} that others owe</small>`}
    ${own.length > 0 && html`<small>others drew ${drawn(own)} on its credit</small>`}
  `;
}

/** @param {{ positions: Api.PoolPosition[]; owes: number }} props */
function Nearness({ positions, owes }) {
  const owing = (positions ?? []).filter(({ borrowed }) => borrowed > 0);
  const known = owing.map((position) => position.health_factor).filter((factor) => factor != null);
  if (known.length === 0) return owes > 0 ? "not known" : "no debt";
  const least = Math.min(...known);
  const unknown = owing.length - known.length;
  return html`<${Mark} kind=${least < 1.1 ? "bad" : least < 1.5 ? "warn" : "good"}>health factor ${number(least)}</${Mark}>
    <small>
      ${least > 1 ? `collateral may fall by ${percent(1 - 1 / least)}` : "can be liquidated now"}
      ${unknown > 0 && `; ${several(unknown, "position")} not known`}
    </small>`;
}

/** @param {{ events: Api.CreditEvents }} props */
function Liquidation({ events }) {
  const [total, last] = [events.totals.liquidation, events.last_liquidation_at];
  if (total > 0) {
    return html`<${Mark} kind="bad">${last ? day(last) : "date not known"}</${Mark}>
      <small>${several(total, "liquidation")}${events.coverage !== "complete" && " or more"}</small>`;
  }
  return events.coverage === "complete" ? "never" : "none read so far";
}

/** @param {Api.Pool} pool */
const isRead = ({ coverage }) => coverage === "complete" || coverage === "partial";

/**
 * `12 markets, complete`, or how many of them were read.
 * @param {{ events: Api.CreditEvents }} props
 */
function Sureness({ events }) {
  const read = events.pools.filter(isRead).length;
  if (events.pools.length === 0) return "no market is read";
  const others = events.not_covered.length > 0 && html`<br />${several(events.not_covered.length, "lender")} not read`;
  if (events.coverage === "complete") return html`complete <small>${several(read, "market")}${others}</small>`;
  return html`<${Mark} kind="warn">${events.coverage}</${Mark}>
    <small>${read} of ${several(events.pools.length, "market")} read${others}</small>`;
}

/** @param {{ score?: Api.Score; report: Api.Report }} props */
function Answers({ score, report }) {
  const { assets, defi, activity, credit_events: events } = report;
  /** @type {Fact[]} */
  const facts = [
    ["Owes", html`<b class="mid">${dollars(defi.total_borrowed)}</b><${Delegated} report=${report} />`],
    ["Collateral", html`<b class="mid">${dollars(defi.total_supplied)}</b>`],
    ["Nearest to liquidation", html`<${Nearness} positions=${events.positions} owes=${defi.total_borrowed} />`],
    ["Last liquidation", html`<${Liquidation} events=${events} />`],
    ["All assets", dollars(assets.total_value_usd)],
    [
      "In use since",
      html`${day(activity.first_transaction)} <small>${several(activity.total_transactions, "transaction")}</small>`,
    ],
    ["Lending history", html`<${Sureness} events=${events} />`],
    score && [
      "Model",
      html`credit ${score.model_version}
        <small><${Time} at=${score.timestamp} /></small>`,
    ],
  ];
  return html`<dl class="answers">
    ${facts.filter((one) => !!one).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}

/** @type {Record<string, string>} */
const WHY = {
  pending: "The lending history is being read for the first time.",
  partial: "Something that the score uses was not read, or not up to now.",
  failed: "A lending market or its chain could not be read.",
};

/** @param {{ score?: Api.Score; report: Api.Report; polls: boolean }} props */
function Notes({ score, report, polls }) {
  const { credit_events: events, unread = [] } = report;
  if (report.score.inactive) {
    return html`<p class="note warn">
      <b>No activity.</b> This wallet shows none on any chain that is read, so there is nothing to
      score.${report.score.value == null ? "" : ` The ${report.score.value} of the report says nothing about its owner.`}
    </p>`;
  }
  if (!score?.provisional) return null;
  const coverage = score.credit_events_coverage;
  const read = events.pools.filter(isRead).length;
  return html`<div class="note warn">
    <p>
      <b>Provisional.</b> ${WHY[coverage ?? ""] ?? "Not everything was read."}${" "}
      ${coverage === "pending" && `${read} of ${several(events.pools.length, "market")} read. `}
      ${polls && "This page asks again by itself. "}
      The score can be too high, because unread liquidations do not count, or too low, because unread assets do not.
    </p>
    ${
      unread.length > 0 &&
      html`<details class="unread">
        <summary>${several(unread.length, "part")} not read, or not completely</summary>
        <ul>
          ${unread.map((part) => html`<li>${part}</li>`)}
        </ul>
      </details>`
    }
  </div>`;
}
