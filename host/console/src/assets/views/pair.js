// What the shadow has seen of a challenger beside the champion, in parts that evidence and promotion show.

import { html } from "../dom.js";
import { Mark, Table, figures } from "../parts.js";
import { RANGES, count, number, range } from "../words.js";

/** @type {Record<string, string>} */
const BANDS = { "no significant change": "good", "requires investigation": "warn", "significant change": "bad" };

/** @param {{ pair: Api.ShadowPair }} props */
export const Psi = ({ pair: { psi, psi_band: band } }) =>
  html`${number(psi)} ${band && html`<${Mark} kind=${BANDS[band]}>${band}</${Mark}>`}`;

/**
 * How many wallets moved from which range to which.
 * @param {{ pair: Api.ShadowPair }} props
 */
export function Migration({ pair }) {
  const total = Math.max(
    1,
    pair.range_migration.flat().reduce((sum, times) => sum + times, 0),
  );
  /** @param {number} times */
  const heat = (times) => (times === 0 ? 0 : 1 + Math.min(3, Math.floor((times / total) * 8)));
  /**
   * @param {number} times
   * @param {number} from
   * @param {number} to
   */
  const cell = (times, from, to) =>
    html`<td class=${`figure heat-${heat(times)} ${from === to ? "same" : ""}`}>${count(times)}</td>`;
  /**
   * @param {number[]} counts
   * @param {number} from
   */
  const row = (counts, from) =>
    html`<tr>
      <th scope="row">${range(RANGES[from][0])}</th>
      ${counts.map((times, to) => cell(times, from, to))}
    </tr>`;
  const head = [`From \\ to`, ...RANGES.map(([name]) => figures(range(name)))];
  return html`<${Table}
    caption=${`Range by ${pair.champion.version} (rows) and by ${pair.challenger.version} (columns), in wallets`}
    head=${head}
    rows=${pair.range_migration.map(row)}
  />`;
}
