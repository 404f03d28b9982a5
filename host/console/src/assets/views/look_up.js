// The search for one wallet, and those that were looked up.

import { html, useLayoutEffect, useRef } from "../dom.js";
import { go, link } from "../route.js";
import { take } from "../search.js";
import { session } from "../session.js";
import { Title, values } from "../parts.js";
import { subjects } from "../wallets.js";
import { moment, range } from "../words.js";
import { Subject } from "./subject.js";

const EXAMPLE = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045";
/**
 * A form for one address or name; `children` are further fields.
 * @param {{ address?: string; action: string; busy?: boolean; submit: (given: Values) => void; children?: Html }} props
 */
export function AddressForm({ address, action, busy, submit, children }) {
  const field = useRef(null);
  // After the title, which takes the focus of a view that appears.
  useLayoutEffect(() => take(field.current), []);
  return html`<form class="line" role="search" onSubmit=${(event) => submit(values(event))}>
    <label for="address">Ethereum address or ENS name</label>
    <input
      ref=${field}
      id="address"
      name="address"
      required
      spellcheck="false"
      autocomplete="off"
      placeholder=${EXAMPLE}
      defaultValue=${address}
      key=${address}
    />
    ${children}
    <button class="main" disabled=${busy}>${action}</button>
  </form>`;
}

/** @param {Place} props */
export function LookUp({ parts: [address] }) {
  /** @param {Values} given */
  const submit = ({ address }) => {
    const found = subjects(address);
    if (found.length > 1) go(["several"], { list: found.join("\n") });
    else go(["look-up", found[0] ?? address.trim()]);
  };
  return html`
    <div class="ask">
      <${Title} text="Look up" />
      <${AddressForm} address=${address} action="Look up" submit=${submit} />
    </div>
    ${address ? html`<${Subject} key=${address} address=${address} />` : html`<${Recent} />`}
  `;
}

/** What there is to see before the first question. */
function Recent() {
  const recent = session.recent;
  return html`<section class="card">
    <h2>Looked up in this tab</h2>
    ${
      recent.length > 0
        ? html`<ul class="plain">
            ${recent.map(
              ({ address, name, score, range: of, at }) =>
                html`<li>
                  <a href=${link(["look-up", name ?? address])}>${name && `${name} `}<code>${address}</code></a>${" "}
                  <b>${score}</b> ${range(of)} <span class="faint">${moment(at)}</span>
                </li>`,
            )}
          </ul>`
        : html`<p>
            Nothing yet. An address answers how much its owner owes, how near that is to liquidation, whether there ever
            was one, and how sure all of it is.
          </p>`
    }
    <p class="faint">
      <kbd>/</kbd> goes to the search. It also takes an explorer's link, or a list.
    </p>
  </section>`;
}
