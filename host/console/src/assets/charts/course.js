// A score over time: a line on the scale from 300 to 1000, with the named ranges behind it. Moments that are not known
// are hatched.

import { html } from "../dom.js";
import { RANGES, day, range, signed } from "../words.js";

const [LEAST, MOST] = [300, 1000];
/** Of the drawing, in its own units. */
const [WIDTH, HEIGHT] = [1000, 200];
/** @param {string} time */
const seconds = (time) => Date.parse(time) / 1000;
/** @param {number} score */
const y = (score) => ((MOST - score) / (MOST - LEAST)) * HEIGHT;

/** A diagonal pattern for what is not known. */
export const Hatch = () => html`<defs>
  <pattern id="hatch" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
    <rect class="hatch" width="3" height="8" />
  </pattern>
</defs>`;

/**
 * `points`, the oldest first; only those that were scored have a score.
 * @param {{ points: Api.ScorePoint[] }} props
 */
export function Course({ points }) {
  const [from, to] = [seconds(points[0].as_of), seconds(points[points.length - 1].as_of)];
  /** @param {Api.ScorePoint} point */
  const x = ({ as_of }) => 10 + ((seconds(as_of) - from) / Math.max(1, to - from)) * (WIDTH - 20);
  const step = (WIDTH - 20) / Math.max(1, points.length - 1);
  const scored = points.filter(isScored);
  const unknown = points.filter((point) => !isScored(point));
  const [first, last] = [scored[0], scored[scored.length - 1]];
  const said =
    `Score from ${first.score} on ${day(first.as_of)} to ${last.score} on ${day(last.as_of)}` +
    (unknown.length > 0 ? `; ${unknown.length} of ${points.length} moments have no score` : "");
  return html`<div class="course">
    <div class="y faint" aria-hidden="true">
      ${RANGES.map(([name, least]) => html`<span class=${`at-${name}`}>${least} ${range(name)}</span>`)}
    </div>
    <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${said}>
      <${Hatch} />
      ${RANGES.map(
        ([name, least, most]) => html`<rect
          class=${`range-${name}`}
          opacity="0.25"
          x="0"
          y=${y(Math.min(most + 1, MOST))}
          width=${WIDTH}
          height=${y(least) - y(Math.min(most + 1, MOST))}
        />`,
      )}
      ${unknown.map(
        (point) => html`<rect class="unknown" x=${x(point) - step / 2} y="0" width=${step} height=${HEIGHT}>
          <title>${day(point.as_of)}: ${point.reason ?? point.state}</title>
        </rect>`,
      )}
      ${lines(points).map((line) => html`<polyline points=${line.map((point) => `${x(point)},${y(point.score)}`).join(" ")} />`)}
      ${scored.map(
        (point) => html`<rect class="marker" x=${x(point) - 3} y=${y(point.score) - 5} width="6" height="10">
          <title>${day(point.as_of)}: ${point.score}${point.change ? ` (${signed(point.change.score)})` : ""}</title>
        </rect>`,
      )}
    </svg>
    <div class="ends faint">
      <span>${day(points[0].as_of)}</span>
      ${unknown.length > 0 && html`<span class="legend"><span><i class="swatch hatched" aria-hidden="true"></i>no score</span></span>`}
      <span>${day(points[points.length - 1].as_of)}</span>
    </div>
  </div>`;
}

/**
 * @param {Api.ScorePoint} point
 * @returns {point is Scored}
 */
const isScored = (point) => point.score !== undefined;

/**
 * The runs of moments with a score: a line does not cross an unknown moment.
 * @param {Api.ScorePoint[]} points
 */
function lines(points) {
  /** @type {Scored[][]} */
  const runs = [[]];
  for (const point of points) {
    if (isScored(point)) runs[runs.length - 1].push(point);
    else runs.push([]);
  }
  return runs.filter((run) => run.length > 1);
}
