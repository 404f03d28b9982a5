// Bars that compare a few amounts.

import { html } from "../dom.js";
import { several } from "../words.js";

const within = (share) => Math.max(0, Math.min(1, Number.isFinite(share) ? share : 0));

/** `value` as a part of `most`; what is below zero grows in the colour of a loss. */
export function Bar({ value, most, kind = "won" }) {
  const share = within(Math.abs(value) / most);
  return html`<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
    <rect class="open" x="0" y="0" width="100" height="8" />
    <rect class=${value < 0 ? "minus" : kind} x="0" y="0" width=${share * 100} height="8" />
  </svg>`;
}

/** Two distributions in the same bins, as columns beside each other. `names` says what each is. */
export function Columns({ names, bins, text }) {
  const most = Math.max(1, ...bins.flatMap(({ counts }) => counts));
  const width = 100 / bins.length;
  const column = ({ counts }, at) =>
    counts.map((count, series) => {
      const height = (count / most) * 60;
      const x = at * width + width * (0.08 + series * 0.42);
      return html`<rect class=${`series-${series}`} x=${x} y=${60 - height} width=${width * 0.4} height=${height} />`;
    });
  return html`<figure>
    <svg class="columns" viewBox="0 0 100 60" preserveAspectRatio="none" role="img" aria-label=${text}>
      ${bins.map(column)}
      <rect class="axis" x="0" y="59.6" width="100" height="0.4" />
    </svg>
    <div class="ends faint">
      <span>${bins[0].from}</span><span>${(bins[0].from + bins.at(-1).to) / 2}</span><span>${bins.at(-1).to}</span>
    </div>
    <figcaption>
      <span class="faint">The highest column has ${several(most, "wallet")}.</span>
      ${names.map(
        (name, series) => html`<span><i class=${`swatch series-${series}`} aria-hidden="true"></i>${name} </span>`,
      )}
    </figcaption>
  </figure>`;
}
