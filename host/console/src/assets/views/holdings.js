// What the wallet holds, supplies and owes, in one table.

import { html } from "../dom.js";
import { Digest, Sortable } from "../parts.js";
import { NOT_KNOWN, amount, chain, dollars, protocol, several } from "../words.js";

/** Rows that are shown at once. */
const SHOWN = 5;

/** @type {Record<Holding["kind"], string>} */
const KINDS = { token: "wallet", deposit: "supplied", debt: "borrowed" };

/** Who says what a token is worth. */
const SOURCES = { feed: "price feed", oracle: "market oracle", api: "price API", pool: "pool reserves" };

/**
 * One row for each token, deposit and debt.
 * @param {Api.Report} report
 * @returns {Holding[]}
 */
function rows({ assets, defi }) {
  /** @type {Holding[]} */
  const tokens = assets.tokens.map((token) => ({
    kind: "token",
    asset: token.symbol,
    name: token.name !== token.symbol ? token.name : undefined,
    address: token.address,
    chain: token.chain_id,
    balance: token.balance,
    value: token.priced ? token.value_usd : null,
    source: token.price_source && SOURCES[token.price_source],
  }));
  /**
   * @param {"deposit" | "debt"} kind
   * @param {string} asset
   * @param {number} id
   * @param {number} value
   */
  const of = (kind, asset, id, value) => ({ kind, asset, chain: id, value, source: "its market" });
  const positions = defi.protocols.flatMap(({ name, chain_id: id, supplied, borrowed }) => [
    ...(supplied > 0 ? [of("deposit", protocol(name), id, supplied)] : []),
    ...(borrowed > 0 ? [of("debt", protocol(name), id, -borrowed)] : []),
  ]);
  return [...tokens, ...positions];
}

/** @type {Column<Holding>[]} */
const COLUMNS = [
  {
    title: "Asset",
    of: ({ asset }) => asset.toLowerCase(),
    show: ({ asset, name, address }) =>
      html`${asset} ${name && html`<span class="faint">${name}</span>`} ${address && html`<${Digest} of=${address} />`}`,
  },
  { title: "Chain", of: (row) => chain(row.chain), show: (row) => chain(row.chain) },
  { title: "Where", of: (row) => KINDS[row.kind], show: (row) => KINDS[row.kind] },
  { title: "Price from", of: (row) => row.source ?? "", show: (row) => row.source ?? NOT_KNOWN },
  {
    title: "Balance",
    isFigure: true,
    of: (row) => Number(row.balance ?? 0),
    show: ({ balance }) => (balance === undefined ? "" : html`<span title=${balance}>${amount(balance)}</span>`),
  },
  {
    title: "Value",
    isFigure: true,
    // Debts stand among the assets by their size.
    of: (row) => Math.abs(row.value ?? 0),
    show: (row) => (row.value === null ? html`<span class="faint">no price</span>` : dollars(row.value)),
  },
];

/** @param {{ report: Api.Report }} props */
export function Holdings({ report }) {
  const all = rows(report);
  const worth = all.filter((row) => row.value !== null && Math.abs(row.value) >= 0.01);
  const rest = all.filter((row) => !worth.includes(row));
  const nfts = report.assets.nfts.length;
  const also = html`
    ${
      rest.length > 0 &&
      html`<details>
        <summary>${several(rest.length, "token")} worth less than a cent, or without a price</summary>
        <${Sortable} caption="Holdings without a value" columns=${COLUMNS} rows=${rest} by=${0} />
      </details>`
    }
    ${nfts > 0 && html`<span class="faint">${several(nfts, "NFT")}, not valued</span>`}
  `;
  return html`<section class="card narrow-rows holdings">
    <h2>Holdings</h2>
    ${
      worth.length > 0
        ? html`<${Sortable} caption="Holdings" columns=${COLUMNS} rows=${worth} by=${5} most=${SHOWN}>${also}</${Sortable}>`
        : html`<p>Nothing of value was found on the chains that this server reads.</p>${also}`
    }
  </section>`;
}
