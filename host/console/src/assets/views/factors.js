// What the score is made of.

import { html } from "../dom.js";
import { Mark } from "../parts.js";
import { RANGES, count, range, signed } from "../words.js";
import { Bar } from "../charts/bars.js";

/** @typedef {(Api.Factor & { points?: undefined; possible?: undefined }) | Api.WeighedFactor} Factor */

/** The points that every wallet starts with. */
const BASE = RANGES[0][1];

/** @param {Factor} factor */
const summand = ({ points = 0 }) => ` ${points < 0 ? "−" : "+"} ${Math.abs(points)}`;

/** @param {{ factors?: Factor[]; total: number }} props */
export function Factors({ factors, total }) {
  if (!factors?.length) return html`<p class="faint">This model names no factors.</p>`;
  const weighed = factors.every(({ points }) => points !== undefined);
  return html`<section class="card">
    <div class="totals">
      <h2>Factors</h2>
      ${weighed && html`<span class="faint">${BASE} to begin with${factors.map(summand)}; the score is ${total}.</span>`}
    </div>
    <ul class="factors">
      ${factors.map(
        ({ label, rating, description, points, possible }) => html`<li>
          <span class="factor"><b>${label}</b> <${Mark} kind=${`range-${rating}`}>${range(rating)}</${Mark}></span>
          ${weighed && html`<${Bar} value=${points} most=${possible} />`}
          ${weighed && html`<span class="points">${signed(points)} of ${count(possible)}</span>`}
          <p>${description}</p>
        </li>`,
      )}
    </ul>
  </section>`;
}
