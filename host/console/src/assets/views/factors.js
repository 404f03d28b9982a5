// What the score is made of, and why points were lost.

import { html } from "../dom.js";
import { Mark } from "../parts.js";
import { RANGES, count, range } from "../words.js";
import { Bar } from "../charts/bars.js";

/** The points that every wallet starts with, and the highest score. */
const BASE = RANGES[0][1];
const MOST = 1000;

/** @param {Api.Factor} factor */
const summand = ({ points }) => ` ${points < 0 ? "−" : "+"} ${count(Math.abs(points))}`;

/**
 * The factors, each with the reason for the points that it lost.
 * @param {{ score: Api.Score }} props
 */
export function Factors({ score: { factors, reasons = [], reason_codes: codes, score } }) {
  if (!factors?.length) return html`<p class="faint">This model names no factors.</p>`;
  // The factors of a mock do not add up to its score.
  const sum = factors.reduce((all, { points }) => all + points, BASE);
  const within = Math.min(Math.max(sum, BASE), MOST);
  const limit = sum === within ? "" : ` = ${sum}, which is limited to ${within}`;
  return html`<section class="card">
    <div class="totals">
      <h2>Factors</h2>
      ${
        within === score &&
        html`<span class="faint">${BASE} to begin with${factors.map(summand)}${limit}; the score is ${score}.</span>`
      }
    </div>
    <ul class="factors">
      ${factors.map(
        (factor) =>
          html`<${Factor} ...${factor} reason=${reasons.find(({ factor: label }) => factor.label === label)} key=${factor.label} />`,
      )}
    </ul>
    ${reasons.length > 0 && html`<${Applicant} reasons=${reasons} codes=${codes} />`}
  </section>`;
}

/** @param {Api.Factor & { reason?: Api.ScoreReason }} props */
function Factor({ label, rating, description, points, possible, reason }) {
  const lost = possible - points;
  return html`<li>
    <span class="factor"><b>${label}</b> <${Mark} kind=${`range-${rating}`}>${range(rating)}</${Mark}></span>
    <${Bar} value=${points} most=${possible} />
    <span class="points">
      ${count(points)} of ${count(possible)}
      <small class="faint">${lost > 0 ? `${count(lost)} lost` : "none lost"}${reason && `, reason ${reason.rank}`}</small>
    </span>
    <div>
      ${reason && html`<p title=${reason.code}>${reason.text}</p>`}
      <p class=${reason ? "faint" : undefined}>“${description}”</p>
    </div>
  </li>`;
}

/**
 * What a lender may tell the applicant.
 * @param {{ reasons: Api.ScoreReason[]; codes?: string }} props
 */
function Applicant({ reasons, codes }) {
  return html`<details id="applicant">
    <summary>The reasons in words for the applicant</summary>
    <ol>
      ${reasons.map(
        ({ applicant_text: text, code, points_lost: lost, points_possible: possible }) =>
          html`<li>${text} <span class="faint">${count(lost)} of ${count(possible)} points lost, <code>${code}</code></span></li>`,
      )}
    </ol>
    <p class="faint">
      ${codes === "card" ? "The card of the model declares the codes." : "The codes are made from the names of the factors: the card of the model declares none."}
      ${" "}Sentences in quotes above are the model's, to the owner of the wallet.
    </p>
  </details>`;
}
