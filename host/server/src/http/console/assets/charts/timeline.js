// The lending history on one time axis: a line for each market, from its first to its last event.

import { html } from "../dom.js";
import { day } from "../words.js";

const seconds = (time) => Date.parse(time) / 1000;

/** `rows` have a name, `from` and `to`, and the time of the last liquidation where it is known. */
export function Timeline({ rows, now }) {
  const [first, last] = [Math.min(...rows.map((row) => seconds(row.from))), seconds(now)];
  const place = (time) => ((seconds(time) - first) / Math.max(1, last - first)) * 1000;
  return html`<div class="timeline">
    ${rows.map((row) => html`<${Row} ...${row} place=${place} />`)}
    <div class="ends faint"><span>${day(new Date(first * 1000).toISOString())}</span><span>${day(now)}</span></div>
    <p class="faint legend">
      <span><i class="swatch span" aria-hidden="true"></i>first to last event </span>
      <span><i class="swatch minus" aria-hidden="true"></i>last liquidation</span>
    </p>
  </div>`;
}

function Row({ name, from, to, liquidated, place }) {
  const [start, end] = [place(from), place(to)];
  const loss = liquidated ? `, last liquidation ${day(liquidated)}` : "";
  const said = `${name}: first event ${day(from)}, last event ${day(to)}${loss}`;
  return html`<div class="row">
    <span class="name">${name}</span>
    <svg viewBox="0 0 1000 20" preserveAspectRatio="none" role="img" aria-label=${said}>
      <rect class="open" x="0" y="9" width="1000" height="2" />
      <rect class="span" x=${start} y="5" width=${Math.max(6, end - start)} height="10" />
      ${liquidated && html`<rect class="minus" x=${Math.max(0, place(liquidated) - 4)} y="0" width="8" height="20" />`}
    </svg>
  </div>`;
}
