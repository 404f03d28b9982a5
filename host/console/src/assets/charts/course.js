// A score over time: a dot for each moment on the scale from 300 to 1000, with the named ranges behind it.

import { html } from "../dom.js";
import { RANGES, day } from "../words.js";

const [LEAST, MOST] = [300, 1000];
/** @param {string} time */
const seconds = (time) => Date.parse(time) / 1000;

/**
 * `points` have `as_of` and `score`, the oldest first.
 * @param {{ points: Scored[] }} props
 */
export function Course({ points }) {
  const [first, last] = [points[0], points[points.length - 1]];
  const [from, to] = [seconds(first.as_of), seconds(last.as_of)];
  /** @param {Scored} point */
  const x = ({ as_of }) => 10 + ((seconds(as_of) - from) / Math.max(1, to - from)) * 980;
  /** @param {number} score */
  const y = (score) => MOST - score;
  const said = `Score from ${first.score} on ${day(first.as_of)} to ${last.score} on ${day(last.as_of)}`;
  return html`<div class="course">
    <svg viewBox="0 0 1000 700" preserveAspectRatio="none" role="img" aria-label=${said}>
      ${RANGES.map(
        ([name, least, most]) => html`<rect
          class=${`range-${name}`}
          opacity="0.25"
          x="0"
          y=${y(Math.min(most + 1, MOST))}
          width="1000"
          height=${Math.min(most + 1, MOST) - least}
        />`,
      )}
      <polyline points=${points.map((point) => `${x(point)},${y(point.score)}`).join(" ")} />
      ${points.map((point) => html`<rect class="marker" x=${x(point) - 4} y=${y(point.score) - 9} width="8" height="18" />`)}
    </svg>
    <div class="ends faint"><span>${day(first.as_of)}</span><span>${LEAST} to ${MOST}</span><span>${day(last.as_of)}</span></div>
  </div>`;
}
