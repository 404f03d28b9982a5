// The lending history on one time axis: a line for each market, with a mark for each borrow, repay and liquidation.

import { html } from "../dom.js";
import { day, dollars } from "../words.js";
import { Hatch } from "./course.js";

/** @param {string} time */
const seconds = (time) => Date.parse(time) / 1000;

/**
 * Where a mark stands: a borrow above the line, a repayment below it, a liquidation across.
 * @type {Record<string, { title: string; kind: string; y: number; height: number }>}
 */
const MARKS = {
  borrow: { title: "borrow", kind: "borrowed", y: 0, height: 10 },
  repay: { title: "repayment", kind: "repaid", y: 12, height: 10 },
  liquidation: { title: "liquidation", kind: "minus", y: 0, height: 22 },
};
/** Width of a mark, of 1000. */
const WIDTH = 6;

/**
 * `rows` have a name, `from` and `to`, and the dated events if they are known.
 * @param {{ rows: Line[]; now: string }} props
 */
export function Timeline({ rows, now }) {
  const [first, last] = [Math.min(...rows.map((row) => seconds(row.from))), seconds(now)];
  /** @param {string} time */
  const place = (time) => ((seconds(time) - first) / Math.max(1, last - first)) * 1000;
  const legend = rows.some(({ events }) => events)
    ? Object.values(MARKS).map(({ title, kind }) => [title, kind])
    : [["first to last event", "span"]];
  if (rows.some(isHatched)) legend.push(["not loaded", "hatched"]);
  return html`<div class="timeline">
    ${rows.map((row) => html`<${Row} ...${row} place=${place} />`)}
    <div class="ends faint">
      <span>${day(new Date(first * 1000).toISOString())}</span>
      <span class="legend">
        ${legend.map(([title, kind]) => html`<span><i class=${`swatch ${kind}`} aria-hidden="true"></i>${title}</span>`)}
      </span>
      <span>${day(now)}</span>
    </div>
  </div>`;
}

/**
 * Whether older events of the market are not loaded.
 * @param {Line} line
 */
const isHatched = ({ from, missing }) => missing !== undefined && seconds(from) < seconds(missing);

/** @param {Line & { place: (time: string) => number }} props */
function Row({ name, from, to, events, missing, place }) {
  const [start, end] = [place(from), place(to)];
  const marks = (events ?? []).filter(({ kind }) => MARKS[kind]);
  const isCut = isHatched({ name, from, to, missing });
  const until = isCut ? place(missing ?? to) : start;
  const said =
    `${name}: first event ${day(from)}, last event ${day(to)}, ${counted(marks)}` +
    (isCut ? `; older than ${day(missing)} not loaded` : "");
  return html`<div class="row">
    <span class="name">${name}</span>
    <svg viewBox="0 0 1000 22" preserveAspectRatio="none" role="img" aria-label=${said}>
      <rect class="open" x="0" y="10" width="1000" height="2" />
      ${!events && html`<rect class="span" x=${start} y="6" width=${Math.max(6, end - start)} height="10" />`}
      ${
        isCut &&
        html`<${Hatch} /><rect class="unknown" x=${start} y="2" width=${Math.max(6, until - start)} height="18">
          <title>Not loaded: events until ${day(missing)}</title>
        </rect>`
      }
      ${marks.map((event) => html`<${Event} ...${event} place=${place} />`)}
    </svg>
  </div>`;
}

/** @param {Api.PoolEvent & { place: (time: string) => number }} props */
function Event({ at, kind, usd, place }) {
  const { title, kind: colour, y, height } = MARKS[kind];
  const x = Math.max(0, Math.min(1000 - WIDTH, place(at) - WIDTH / 2));
  return html`<rect class=${`event ${colour}`} x=${x} y=${y} width=${WIDTH} height=${height}>
    <title>${day(at)} ${title} ${usd === null ? "" : dollars(usd)}</title>
  </rect>`;
}

/** @param {Api.PoolEvent[]} marks */
function counted(marks) {
  /** @param {string} wanted */
  const of = (wanted) => marks.filter(({ kind }) => kind === wanted).length;
  return `${of("borrow")} borrows, ${of("repay")} repayments, ${of("liquidation")} liquidations shown`;
}
