// The open positions of a wallet, the nearest to liquidation first.

import { html, useState } from "../dom.js";
import { Table, figures } from "../parts.js";
import { dollars, market, number, several } from "../words.js";
import { PositionAssets } from "./position_assets.js";

/** Positions that are shown at once. */
const SHOWN = 4;

const HEAD = ["Position", figures("Supplied"), figures("Borrowed"), figures("Health factor")];

/** @param {Api.PoolPosition} position */
const risk = ({ borrowed, health_factor: factor }) => (borrowed > 0 ? (factor ?? 0) : Infinity);

/** @param {{ positions: Api.PoolPosition[] }} props */
export function Positions({ positions }) {
  if (positions.length === 0) return null;
  const open = [...positions].sort((a, b) => risk(a) - risk(b) || b.supplied - a.supplied);
  /** @param {Api.PoolPosition} position */
  const row = (position) => html`<${Row} position=${position} key=${market(position)} />`;
  const rest = open.slice(SHOWN);
  return html`<${Table} quiet caption="Positions" head=${HEAD} rows=${open.slice(0, SHOWN).map(row)} />
    ${
      rest.length > 0 &&
      html`<details>
        <summary>${several(rest.length, "more position")}</summary>
        <${Table} quiet caption="More positions" head=${HEAD} rows=${rest.map(row)} />
      </details>`
    }`;
}

/** @param {{ position: Api.PoolPosition }} props */
function Row({ position }) {
  const [isOpen, setOpen] = useState(false);
  const { supplied, borrowed, health_factor: factor } = position;
  return html`<tr>
      <th scope="row">
        <button type="button" class="fold" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
          ${market(position)}
        </button>${" "}
        <span class="faint">${made(position)}</span>
      </th>
      <td class="figure">${dollars(supplied)}</td>
      <td class="figure">${dollars(borrowed)}</td>
      <td class="figure">${borrowed > 0 ? (factor == null ? "not known" : number(factor)) : "no debt"}</td>
    </tr>
    <tr class="more" hidden=${!isOpen}>
      <td colspan="4"><${PositionAssets} position=${position} /></td>
    </tr>`;
}

/**
 * What secures which debt, as far as the tokens have symbols.
 * @param {Api.PoolPosition} position
 */
function made({ assets, delegations }) {
  /** @param {Api.AssetSide} wanted */
  const names = (wanted) =>
    assets.flatMap(({ side, symbol }) => (side === wanted && symbol ? [symbol] : [])).join(", ");
  const [secured, owed] = [names("collateral"), names("debt")];
  const parts = [
    secured && owed ? `${secured} secures ${owed}` : owed ? `owes ${owed}` : secured || names("deposit"),
    delegations?.length && "credit delegated",
  ];
  return parts.filter(Boolean).join("; ");
}
