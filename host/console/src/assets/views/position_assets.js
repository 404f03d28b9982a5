// What a position consists of: its deposits and debts by token, and credit that it gave or received.

import { html } from "../dom.js";
import { Digest, Table, figures } from "../parts.js";
import { NOT_KNOWN, amount, dollars, percent } from "../words.js";

/** @type {Record<Api.PositionAsset["side"], string>} */
const SIDES = { collateral: "collateral", deposit: "deposit, secures nothing", debt: "debt" };

/** @param {{ position: Api.PoolPosition }} props */
export function PositionAssets({ position: { assets, e_mode: mode, isolated, delegations } }) {
  const rules = mode ? `e-mode: ${mode.label ?? `category ${mode.category}`}` : isolated ? "isolated collateral" : "";
  return html`
    ${rules && html`<p class="faint">${rules}</p>`}
    ${assets.length > 0 && html`<${Table} quiet caption="Assets" head=${HEAD} rows=${assets.map(row)} />`}
    ${
      delegations &&
      delegations.length > 0 &&
      html`<ul>
        ${delegations.map((credit) => html`<li><${Credit} credit=${credit} /></li>`)}
      </ul>`
    }
  `;
}

const HEAD = [
  "Asset",
  "Side",
  figures("Balance"),
  figures("Value"),
  figures("Price"),
  figures("Threshold"),
  figures("Liquidated at"),
];

/** @param {Api.PositionAsset} asset */
const row = ({ symbol, address, side, balance, usd, ...of }) => {
  const { price_usd: price, liquidation_threshold: threshold, liquidation_price: limit } = of;
  return html`<tr>
    <th scope="row">${symbol ?? "token"} ${address && html`<${Digest} of=${address} />`}</th>
    <td>${SIDES[side]}</td>
    <td class="figure" title=${balance}>${amount(balance)}</td>
    <td class="figure">${dollars(usd)}</td>
    <td class="figure">${price == null ? NOT_KNOWN : dollars(price)}</td>
    <td class="figure">${threshold == null ? "" : percent(threshold)}</td>
    <td class="figure">${limit == null ? "" : `${side === "debt" ? "above" : "below"} ${dollars(limit)}`}</td>
  </tr>`;
};

/**
 * Whose risk it is, in a sentence.
 * @param {{ credit: Api.Delegation }} props
 */
function Credit({ credit: { owner, delegate, symbol, allowance, drawn } }) {
  const token = symbol ?? "of a token";
  return html`<${Digest} of=${delegate} /> drew ${amount(drawn)} ${token} on the credit of <${Digest} of=${owner} />, who
    owes it; ${allowance == null ? "more without a limit" : `${amount(allowance)} more`} can be drawn.`;
}
