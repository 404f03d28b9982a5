// A score on the scale from 300 to 1000, with the named ranges; and its decile.

import { html } from "../dom.js";
import { RANGES, range } from "../words.js";

const [LEAST, MOST] = [300, 1000];

/**
 * The shapes stretch with the page, so that words stand beside them and keep their size.
 * @param {{ score: number; name: Api.Range; decile: number; boosted: number | null }} props
 */
export function Scale({ score, name, decile, boosted }) {
  const said = `Score ${score} on a scale from 300 to 1000: ${range(name)}, decile ${decile} of 10`;
  /**
   * @param {number} at
   * @param {string} kind
   */
  const mark = (at, kind) =>
    html`<rect class=${kind} x=${Math.min(at, MOST - 5) - LEAST} y="0" width="5" height="30" />`;
  return html`<div class="scale">
    <svg viewBox="0 0 700 30" preserveAspectRatio="none" role="img" aria-label=${said}>
      ${RANGES.map(
        ([name, from, to]) =>
          html`<rect
            class=${`range-${name}`}
            x=${from - LEAST}
            y="6"
            width=${Math.min(to + 1, MOST) - from}
            height="18"
          />`,
      )}
      ${boosted !== null && boosted > score && mark(boosted, "boosted")} ${mark(score, "marker")}
    </svg>
    <ol class="ranges">
      ${RANGES.map(
        ([of, from, to]) =>
          html`<li class=${of === name ? "here" : undefined}>
            <i class=${`swatch range-${of}`} aria-hidden="true"></i>${range(of)}${" "}
            <span class="faint">${from}–${to}</span>
          </li>`,
      )}
    </ol>
  </div>`;
}

/** @param {{ of: number }} props */
export function Decile({ of }) {
  const tenths = Array.from({ length: 10 }, (_, index) => index + 1);
  return html`<svg class="decile" viewBox="0 0 100 10" role="img" aria-label=${`Decile ${of} of 10`}>
    ${tenths.map(
      (n) => html`<rect class=${n <= of ? "won" : "open"} x=${n * 10 - 10} y="0" width="8" height="10" rx="1.5" />`,
    )}
  </svg>`;
}
