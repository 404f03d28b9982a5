// Assets and debts, by chain.

import { html } from "../dom.js";
import { Facts, Table, figures } from "../parts.js";
import { Bar } from "../charts/bars.js";
import { chain, count, day, dollars, several } from "../words.js";

const TOKENS = ["Token", figures("Balance"), figures("Value")];
const PROTOCOLS = ["Protocol", figures("Supplied"), figures("Borrowed")];

const sum = (items, of) => items.reduce((total, item) => total + of(item), 0);

/** What the report says of each chain that has something. */
function byChain({ assets, defi }) {
  const ids = new Set([...assets.tokens, ...assets.nfts, ...defi.protocols].map((item) => item.chain_id));
  const of = (items, id) => items.filter((item) => item.chain_id === id);
  const one = (id) => {
    const [tokens, protocols] = [of(assets.tokens, id), of(defi.protocols, id)];
    return {
      id,
      tokens,
      protocols,
      nfts: of(assets.nfts, id).length,
      held: sum(tokens, (token) => token.value_usd),
      supplied: sum(protocols, (protocol) => protocol.supplied),
      borrowed: sum(protocols, (protocol) => protocol.borrowed),
    };
  };
  return [...ids].map(one).sort((a, b) => b.held + b.supplied - a.held - a.supplied);
}

export function Holdings({ report }) {
  const { assets, defi, activity } = report;
  const chains = byChain(report);
  const most = Math.max(1, ...chains.flatMap(({ held, supplied, borrowed }) => [held, supplied, borrowed]));
  return html`<section class="card">
    <h2>Assets and debts</h2>
    <${Facts}
      of=${[
        ["Assets with deposits", dollars(assets.total_value_usd)],
        ["Supplied", dollars(defi.total_supplied)],
        ["Borrowed", dollars(defi.total_borrowed)],
        ["NFTs, not valued", count(assets.nfts.length)],
        ["First transaction", day(activity.first_transaction)],
        ["Transactions sent", count(activity.total_transactions)],
      ]}
    />
    ${
      report.unread?.length > 0 &&
      html`<p class="note warn">What was not read is missing in these figures; “What is not known” lists it.</p>`
    }
    ${chains.length === 0 && html`<p>Nothing was found on the chains that this server reads.</p>`}
    ${chains.map((one) => html`<${Chain} ...${one} most=${most} key=${one.id} />`)}
  </section>`;
}

function Chain({ id, tokens, protocols, nfts, held, supplied, borrowed, most }) {
  const also = nfts > 0 ? `, ${several(nfts, "NFT")}` : "";
  const line = (title, value, kind) =>
    html`<div class="amount">
      <span>${title}</span><${Bar} value=${value} most=${most} kind=${kind} /><span class="figure"
        >${dollars(value)}</span
      >
    </div>`;
  return html`<div class="chain">
    <h3>${chain(id)}</h3>
    ${line("In the wallet", held, "won")} ${line("Supplied", supplied, "range-good")}
    ${line("Borrowed", borrowed, "minus")}
    <details>
      <summary>
        ${several(tokens.length, "token")}, ${several(protocols.length, "protocol")}${also}
      </summary>
      ${
        tokens.length > 0 &&
        html`<${Table} caption=${`Tokens on ${chain(id)}`} head=${TOKENS} rows=${tokens.map(token)} />`
      }
      ${
        protocols.length > 0 &&
        html`<${Table} caption=${`Protocols on ${chain(id)}`} head=${PROTOCOLS} rows=${protocols.map(protocol)} />`
      }
    </details>
  </div>`;
}

const token = ({ symbol, name, balance, value_usd }) =>
  html`<tr>
    <th scope="row">${symbol} <span class="faint">${name !== symbol && name}</span></th>
    <td class="figure">${balance}</td>
    <td class="figure">${value_usd === 0 ? "none, or no price" : dollars(value_usd)}</td>
  </tr>`;

const protocol = ({ name, supplied, borrowed }) =>
  html`<tr>
    <th scope="row">${name}</th>
    <td class="figure">${dollars(supplied)}</td>
    <td class="figure">${dollars(borrowed)}</td>
  </tr>`;
