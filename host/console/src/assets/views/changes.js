// What would raise or lower the score to another range, and what it would be after changes.

import { html } from "../dom.js";
import { Mark, Table, figures } from "../parts.js";
import { CLASSES, NOT_KNOWN, RANGES, dollars, market, marketOf, number, range, several } from "../words.js";
import { WhatIf } from "./what_if.js";

/**
 * A change in words.
 * @param {Change} change
 */
function says(change) {
  if ("days" in change) return `Wait ${several(change.days, "day")}`;
  if ("price" in change)
    return `The price of ${CLASSES[change.price.asset] ?? change.price.asset} falls by ${number(-change.price.percent)} %`;
  if ("repay" in change) return `Repay ${dollars(change.repay.usd)} to ${market(marketOf(change.repay.market))}`;
  return `Deposit ${dollars(change.deposit.usd)} in ${market(marketOf(change.deposit.market))}`;
}

/**
 * How the kinds of changes are named when they do not reach the target.
 * @type {Record<string, string>}
 */
const KINDS = { repay: "Repaying", deposit: "Depositing", wait: "Waiting", price_fall: "A fall of prices" };

/** @param {number} score */
const rangeOf = (score) => range(RANGES.find(([, , most]) => score <= most)?.[0]);

/** @param {{ score: Api.Score; report: Api.Report }} props */
export function Changes({ score, report }) {
  const { raise = [], lower, target, floor } = score.changes ?? {};
  const positions = report.credit_events.positions ?? [];
  /**
   * @param {number} goal
   * @returns {(step: Api.ChangeStep) => Html}
   */
  const row = (goal) => (step) => html`<${Step} step=${step} goal=${goal} key=${step.kind} />`;
  const rows = [
    ...(target == null ? [] : [...raise].sort((a, b) => Number(b.reaches) - Number(a.reaches)).map(row(target))),
    ...(lower && floor != null ? [row(floor)(lower)] : []),
  ];
  return html`<section class="card narrow-rows changes">
    <div class="totals">
      <h2>What would change it</h2>
      ${target != null && html`<span class="faint">Each on its own, to ${target} (${rangeOf(target)}) or below.</span>`}
    </div>
    ${rows.length > 0 && html`<${Table} quiet caption="What would change the score" head=${HEAD} rows=${rows} />`}
    <${WhatIf} score=${score} positions=${positions} />
  </section>`;
}

const HEAD = ["Change", figures("Score then"), "Range then", figures("Health factor then")];

/**
 * The smallest change that reaches the goal, or that it does not.
 * @param {{ step: Api.ChangeStep; goal: number }} props
 */
function Step({ step: { kind, reaches, minimal, range: name, score, health_factor: factor, ...step }, goal }) {
  const change = /** @type {Change | null | undefined} */ (step.change);
  if (!reaches || !change) {
    const nearest =
      change && score !== undefined && `; nearest: ${says(change).replace(/^./, (first) => first.toLowerCase())}`;
    return html`<tr>
      <th scope="row">${KINDS[kind] ?? kind} <span class="faint">does not reach ${goal} by itself${nearest}</span></th>
      <td class="figure">${nearest ? score : NOT_KNOWN}</td>
      <td>${nearest ? html`<${Mark} kind=${`range-${name}`}>${range(name)}</${Mark}>` : ""}</td>
      <td class="figure">${nearest ? number(factor) : NOT_KNOWN}</td>
    </tr>`;
  }
  return html`<tr>
    <th scope="row">${says(change)} ${!minimal && html`<span class="faint">, perhaps less</span>`}</th>
    <td class="figure">${score}</td>
    <td><${Mark} kind=${`range-${name}`}>${range(name)}</${Mark}></td>
    <td class="figure">${number(factor)}</td>
  </tr>`;
}
