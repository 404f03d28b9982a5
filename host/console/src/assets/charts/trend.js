// A small line of the last values of a figure, with its bound.

import { html } from "../dom.js";

const [WIDTH, HEIGHT] = [120, 24];

/**
 * `points`, the oldest first.
 * @param {{ points: { at: string; value: number }[]; bound?: number; text: string }} props
 */
export function Trend({ points, bound, text }) {
  if (points.length < 2) return null;
  const times = points.map(({ at }) => Date.parse(at));
  const values = [...points.map(({ value }) => value), ...(bound === undefined ? [] : [bound])];
  const [from, low, high] = [times[0], Math.min(...values), Math.max(...values)];
  const length = Math.max(1, times[times.length - 1] - from);
  /** @param {number} value */
  const y = (value) => HEIGHT - 2 - ((value - low) / (high - low || 1)) * (HEIGHT - 4);
  const line = points.map(({ value }, at) => `${((times[at] - from) / length) * WIDTH},${y(value)}`).join(" ");
  return html`<svg class="trend" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label=${text}>
    ${bound !== undefined && html`<line class="bound" x1="0" x2=${WIDTH} y1=${y(bound)} y2=${y(bound)} />`}
    <polyline points=${line} />
  </svg>`;
}
