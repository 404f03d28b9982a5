// The names of a wallet, and what is attested about its owner.

import { html, useState } from "../dom.js";
import { path, useAsk } from "../api.js";
import { useMe } from "../session.js";
import { Answer, Table, Time, figures } from "../parts.js";
import { chain, number, several } from "../words.js";

/**
 * Is read when somebody opens it, because it costs units.
 * @param {{ address: string }} props
 */
export function Identity({ address }) {
  const me = useMe();
  const [isOpen, setOpen] = useState(false);
  /** @param {Happening} event */
  const open = (event) => event.currentTarget.open && setOpen(true);
  return html`<details id="identity" onToggle=${open}>
    <summary>Identity <span class="faint">(${several(me.costs.report, "unit")})</span></summary>
    ${isOpen && html`<${Read} address=${address} />`}
  </details>`;
}

/** @param {{ address: string }} props */
function Read({ address }) {
  const asked = useAsk(path(["identity", "address", address, "attestations"]));
  /** @param {Api.Attestation} one */
  const row = (one) => html`<tr>
    <th scope="row">${one.name ?? one.kind ?? "attested"}</th>
    <td>${one.provider}</td>
    <td>${chain(one.chain_id)}</td>
    <td><${Time} at=${one.issued_at} /></td>
    <td><${Time} at=${one.expires_at} /></td>
    <td class="figure">${number(one.score)}</td>
  </tr>`;
  const head = ["Name or statement", "From", "Chain", "Issued", "Expires", figures("Score")];
  /** @param {Shown<typeof asked>} answer */
  const show = ({ body: { attestations, coverage } }) => html`
    ${coverage !== "complete" && html`<p class="note warn">Not every source was read: ${coverage}.</p>`}
    ${
      attestations.length > 0
        ? html`<${Table} quiet caption="Names and attestations" head=${head} rows=${attestations.map(row)} />`
        : html`<p>None was found.</p>`
    }
  `;
  return html`<${Answer} asked=${asked} what="names and attestations" show=${show} />`;
}
