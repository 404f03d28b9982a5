// The rates that a model claims for such wallets.

import { html } from "../dom.js";
import { percent, several } from "../words.js";

/**
 * The rates, or that there is none. Their population is a footnote.
 * @param {{ score: Api.Score | Api.ReportScore }} props
 */
export function Rates({ score: { claims, no_claim: none } }) {
  if (none) return html`<p class="faint">No probability: ${none.replace(/^./, (first) => first.toLowerCase())}</p>`;
  if (!claims?.length)
    return html`<p class="faint">This model claims no probability: its score only orders wallets.</p>`;
  const notes = populations(claims);
  return claims.map(
    (claim) =>
      html`<p>
        <b>${percent(claim.estimate)}</b> of such wallets are ${claim.outcome} within ${several(claim.horizon_days, "day")}${" "}
        <span class="faint">(${percent(claim.low)} to ${percent(claim.high)})<sup>${notes.indexOf(population(claim)) + 1}</sup></span>
      </p>`,
  );
}

/** @param {{ score: Api.Score | Api.ReportScore }} props */
export function Populations({ score: { claims } }) {
  return populations(claims ?? []).map((text, at) => html`<p class="faint footnote"><sup>${at + 1}</sup> ${text}</p>`);
}

/** @param {Api.ClaimedRate} claim */
const population = ({ population, condition }) =>
  `Such wallets: ${population.replace(/^wallets\b\s*/, "")}${condition ? `; ${condition}` : ""}.`;

/**
 * Each once.
 * @param {Api.ClaimedRate[]} claims
 */
const populations = (claims) => [...new Set(claims.map(population))];
