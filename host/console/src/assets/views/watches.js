// The watches of the key that is signed in: a list, and a new one.

import { html } from "../dom.js";
import { path, useAsk } from "../api.js";
import { link } from "../route.js";
import { Answer, Mark, Pages, Table, Time, Title } from "../parts.js";
import { isName } from "../wallets.js";
import { count, short, span } from "../words.js";
import { NewWatch } from "./new_watch.js";
import { Trigger } from "./trigger.js";
import { Watch } from "./watch.js";

const LIMIT = 20;
const HEAD = ["Wallet", "State", "Follows", "Delivery", "Evaluated", "Ends"];

/** @type {Record<string, string>} */
export const TONES = {
  active: "good",
  paused: "warn",
  suspended: "bad",
  ended: "",
  unconfirmed: "warn",
  stopped: "bad",
};

/** @param {Place} props */
export function Watches({ parts: [id], query }) {
  if (id === "new") return html`<${NewWatch} address=${query.get("address") ?? ""} />`;
  if (id) return html`<${Watch} id=${id} key=${id} />`;
  return html`<${List} page=${Number(query.get("page") ?? 1)} />`;
}

/** @param {{ page: number }} props */
function List({ page }) {
  const asked = useAsk(path(["watches"], { page, limit: LIMIT }));
  /** @param {Shown<typeof asked>} answer */
  const show = ({ body: { watches, total } }) => html`
    <p>
      ${count(total)} ${total === 1 ? "watch" : "watches"} of your key.${" "}
      <a href=${link(["watches", "new"])}>Watch a wallet</a>
    </p>
    ${
      watches.length > 0
        ? html`<div class="stacked"><${Table} quiet caption="Watches" head=${HEAD} rows=${watches.map(row)} /></div>`
        : html`<p class="faint">
            A watch follows one wallet and tells when a figure crosses a bound: a health factor, a score, a liquidation.
          </p>`
    }
    <${Pages} page=${page} limit=${LIMIT} total=${total} href=${(page) => link(["watches"], { page })} />
  `;
  return html`<${Title} text="Watches" /><${Answer} asked=${asked} what="your watches" show=${show} />`;
}

/** @param {Api.Watch} watch */
const row = ({ id, subject, state, when, delivery, evaluated_at: at, every_s: every, until }) => html`<tr>
  <th scope="row">
    <a href=${link(["watches", id])}>${isName(subject) ? subject : html`<code title=${subject}>${short(subject)}</code>`}</a>
  </th>
  <td data-label="State"><${Mark} kind=${TONES[state]}>${state}</${Mark}></td>
  <td data-label="Follows">${when.map((trigger) => html`<div><${Trigger} trigger=${trigger} /></div>`)}</td>
  <td data-label="Delivery">
    ${delivery ? html`<${Mark} kind=${TONES[delivery.state]}>${delivery.state}</${Mark}>` : html`<span class="faint">polled</span>`}
  </td>
  <td data-label="Evaluated"><${Time} at=${at} /> <span class="faint">every ${span(every)}</span></td>
  <td data-label="Ends"><${Time} at=${until} /></td>
</tr>`;
