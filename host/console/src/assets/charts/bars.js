// Bars that compare a few amounts.

import { html } from "../dom.js";
import { count } from "../words.js";

/** @param {number} share */
const within = (share) => Math.max(0, Math.min(1, Number.isFinite(share) ? share : 0));

/**
 * `value` as a part of `most`; what is below zero grows in the colour of a loss.
 * @param {{ value: number; most: number; kind?: string }} props
 */
export function Bar({ value, most, kind = "won" }) {
  const share = within(Math.abs(value) / most);
  return html`<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
    <rect class="open" x="0" y="0" width="100" height="8" />
    <rect class=${value < 0 ? "minus" : kind} x="0" y="0" width=${share * 100} height="8" />
  </svg>`;
}

/**
 * Two distributions in the same bins, as columns beside each other. `names` says what each is.
 * @param {{ names: string[]; bins: Bin[]; text: string }} props
 */
export function Columns({ names, bins, text }) {
  // An even number: the middle of the axis is a whole number of wallets.
  const most = 2 * Math.ceil(Math.max(1, ...bins.flatMap(({ counts }) => counts)) / 2);
  const width = 100 / bins.length;
  /**
   * @param {Bin} bin
   * @param {number} at
   */
  const column = ({ counts }, at) =>
    counts.map((times, series) => {
      const height = (times / most) * 60;
      const x = at * width + width * (0.08 + series * 0.42);
      return html`<rect class=${`series-${series}`} x=${x} y=${60 - height} width=${width * 0.4} height=${height} />`;
    });
  const edges = bins.filter((_, at) => at % 2 === 0).map(({ from }) => from);
  return html`<figure>
    <div class="plot">
      <span class="faint">Wallets</span>
      <div class="y faint" aria-hidden="true"><span>${count(most)}</span><span>${count(most / 2)}</span><span>0</span></div>
      <svg class="columns" viewBox="0 0 100 60" preserveAspectRatio="none" role="img" aria-label=${text}>
        ${[0, 30, 59.6].map((y) => html`<rect class="axis" x="0" y=${y} width="100" height="0.4" />`)}
        ${bins.map(column)}
      </svg>
      <div class="x faint" aria-hidden="true">${[...edges, bins[bins.length - 1].to].map((edge) => html`<span>${edge}</span>`)}</div>
      <span class="faint end">Score</span>
    </div>
    <figcaption>
      ${names.map(
        (name, series) => html`<span><i class=${`swatch series-${series}`} aria-hidden="true"></i>${name} </span>`,
      )}
    </figcaption>
  </figure>`;
}
