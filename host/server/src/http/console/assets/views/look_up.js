// One address or name: its score, what the score is made of, and what the chains say.

import { html, useState } from "../dom.js";
import { path, useAsk } from "../api.js";
import { go } from "../route.js";
import { useMe } from "../session.js";
import { Answer, Raw, Title, values } from "../parts.js";
import { several } from "../words.js";
import { Score } from "./score.js";
import { ScoreCourse } from "./course.js";
import { History } from "./history.js";
import { Holdings } from "./holdings.js";

const EXAMPLE = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045";

/** A form for one address or name; `children` are further fields. */
export function AddressForm({ address, action, busy, submit, children }) {
  return html`<form class="line" role="search" onSubmit=${(event) => submit(values(event))}>
    <label for="address">Ethereum address or ENS name</label>
    <input
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

export function LookUp({ parts: [address] }) {
  return html`
    <${Title} text="Look up" />
    <${AddressForm} address=${address} action="Look up" submit=${({ address }) => go(["look-up", address.trim()])} />
    ${address && html`<${Subject} key=${address} address=${address} />`}
  `;
}

function Subject({ address }) {
  const me = useMe();
  const [turn, setTurn] = useState(0);
  const [origin, setOrigin] = useState(null);
  const units = me.costs.score + me.costs.report;
  return html`<section aria-label=${`Answers about ${address}`} key=${turn}>
    <${Score} address=${address} origin=${origin} tell=${setOrigin} />
    <${Report} address=${address} origin=${origin} />
    <${ScoreCourse} address=${address} />
    <p class="faint">
      <button type="button" onClick=${() => setTurn(turn + 1)}>Ask again</button> Asking about an address costs${" "}
      ${several(units, "unit")}.
    </p>
  </section>`;
}

function Report({ address, origin }) {
  const asked = useAsk(path(["report", "address", address]));
  return html`<${Answer}
    asked=${asked}
    what="the report"
    show=${({ body, text }) => html`
      <${Unread} report=${body} />
      <${History} report=${body} features=${origin?.features} />
      <${Holdings} report=${body} />
      <${Raw} text=${text} name="The report as JSON" />
    `}
  />`;
}

/** What was not read, so that a missing figure is not taken for zero. */
function Unread({ report }) {
  const { unread = [], credit_events: events } = report;
  if (unread.length === 0 && events.remarks.length === 0 && events.coverage === "complete") return null;
  return html`<section class="card">
    <h2>What is not known</h2>
    ${events.coverage !== "complete" && html`<p>The coverage of the lending history is <b>${events.coverage}</b>.</p>`}
    ${
      unread.length > 0 &&
      html`<p>These parts were not read, or not completely. Figures without them may be too low.</p>
        <ul>
          ${unread.map((part) => html`<li>${part}</li>`)}
        </ul>`
    }
    ${
      events.remarks.length > 0 &&
      html`<h3>What the lending events do not show</h3>
        <ul>
          ${events.remarks.map((remark) => html`<li>${remark}</li>`)}
        </ul>`
    }
  </section>`;
}
