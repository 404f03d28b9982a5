// What a watch follows, in words, with its last values.

import { html } from "../dom.js";
import { Mark } from "../parts.js";
import { NOT_KNOWN, count, dollars, market, number, percent, range } from "../words.js";

/** @type {Record<Api.WatchMeasure, string>} */
export const MEASURES = {
  health_factor: "health factor",
  debt_usd: "debt",
  score: "score",
  range: "range",
  probability: "claimed rate",
  liquidation: "liquidations",
  coverage: "coverage",
};

/**
 * A value of a measure.
 * @param {string} measure
 * @param {unknown} value
 */
export function shown(measure, value) {
  if (value === null || value === undefined) return NOT_KNOWN;
  if (measure === "range") return range(String(value));
  if (typeof value !== "number") return String(value);
  if (measure === "debt_usd") return dollars(value);
  if (measure === "probability") return percent(value);
  return measure === "health_factor" ? number(value) : count(value);
}

/**
 * The market of a value: `chain/protocol/address`.
 * @param {string | null | undefined} text
 */
export function place(text) {
  if (!text) return "";
  const [id, protocol] = text.split("/");
  return market({ protocol, chain_id: Number(id) });
}

/** @param {Api.WatchTrigger} trigger */
export const says = ({ measure, side, bound, market: of }) =>
  [MEASURES[measure], side && `${side} ${shown(measure, bound)}`, of && `of ${place(of)}`].filter(Boolean).join(" ");

/**
 * The values that say something: a market without debt has no health factor.
 * @param {Api.WatchTrigger} trigger
 */
export const known = ({ values }) => values.filter(({ value }) => value !== null && value !== undefined);

/** @param {{ trigger: Api.WatchTrigger }} props */
export function Trigger({ trigger }) {
  const { measure, stale, unread } = trigger;
  const values = known(trigger).map(({ value, fired }) => ({ text: shown(measure, value), fired }));
  const unlike = values.filter(({ text, fired }, at) => at === 0 || fired || text !== values[0].text);
  return html`${says(trigger)}: ${
    unlike.length === 0
      ? html`<span class="faint">${unread.length > 0 ? "not read" : "no value yet"}</span>`
      : unlike.map(({ text, fired }) => (fired ? html`<${Mark} kind="bad">${text}</${Mark}> ` : html`<b>${text}</b> `))
  }${stale && html`<${Mark} kind="warn">stale</${Mark}>`}`;
}
