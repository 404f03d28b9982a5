// What the score is made of.

import { html } from "../dom.js";
import { Mark } from "../parts.js";
import { RANGES, count, range, signed } from "../words.js";
import { Bar } from "../charts/bars.js";

/** @typedef {Api.Factor | Api.WeighedFactor} Factor */

/** The points that every wallet starts with, and the highest score. */
const BASE = RANGES[0][1];
const MOST = 1000;

/** @param {Factor} factor */
const summand = ({ points }) => ` ${points < 0 ? "−" : "+"} ${Math.abs(points)}`;

/** @param {{ reason?: Api.ScoreReason }} props */
function Why({ reason }) {
  if (!reason) return null;
  const { rank, code, text } = reason;
  return html`<span class="faint" title=${text}>Reason ${rank}: <code>${code}</code></span>`;
}

/**
 * The factors, each with the reason for the points that it lost.
 * @param {{ factors?: Factor[]; reasons?: Api.ScoreReason[]; total: number }} props
 */
export function Factors({ factors, reasons, total }) {
  if (!factors?.length) return html`<p class="faint">This model names no factors.</p>`;
  // The factors of a mock do not add up to its score.
  const sum = factors.reduce((all, { points }) => all + points, BASE);
  const adds = Math.min(Math.max(sum, BASE), MOST) === total;
  return html`<section class="card">
    <div class="totals">
      <h2>Factors</h2>
      ${adds && html`<span class="faint">${BASE} to begin with${factors.map(summand)}; the score is ${total}.</span>`}
    </div>
    <ul class="factors">
      ${factors.map(
        ({ label, rating, description, points, possible }) => html`<li>
          <span class="factor"><b>${label}</b> <${Mark} kind=${`range-${rating}`}>${range(rating)}</${Mark}></span>
          <${Bar} value=${points} most=${possible} />
          <span class="points">${signed(points)} of ${count(possible)}</span>
          <p>${description} <${Why} reason=${reasons?.find(({ factor }) => factor === label)} /></p>
        </li>`,
      )}
    </ul>
  </section>`;
}
