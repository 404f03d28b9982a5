// The live split: which versions answer a part of the requests.

import { html } from "../dom.js";
import { path, useAsk } from "../api.js";
import { Answer, Mark, Raw, Table, Time, figures } from "../parts.js";
import { NOT_KNOWN, number, span } from "../words.js";

export function Split() {
  const asked = useAsk(path(["admin", "models", "credit", "split"]));
  /** @param {Shown<typeof asked>} answer */
  const show = ({ body, text }) => html`<${State} split=${body} /><${Raw} text=${text} name="The split as JSON" />`;
  return html`<${Answer} asked=${asked} what="the split" show=${show} />`;
}

/** @param {{ split: Api.Split }} props */
function State({ split: { champion, shares, pins, choosers, stopped } }) {
  const rest = 100 - shares.reduce((sum, { percent }) => sum + percent, 0);
  /** @param {Api.SplitShare} share */
  const row = ({ version, percent, ramp, forced }) => html`<tr>
    <th scope="row">credit ${version} ${forced && html`<${Mark} kind="warn">forced</${Mark}>`}</th>
    <td data-label="Share" class="figure">${number(percent)} %</td>
    <td data-label="Grows to">${ramp?.percents.length ? `${ramp.percents.map(number).join(", ")} %` : NOT_KNOWN}</td>
    <td data-label="Next step">${ramp ? html`<${Time} at=${ramp.next_at} />, every ${span(ramp.step_seconds)}` : NOT_KNOWN}</td>
  </tr>`;
  /** @param {Api.KeyPin} pin */
  const pinned = ({ key, version, until }) => html`<tr>
    <th scope="row">${key}</th>
    <td data-label="Version">credit ${version}</td>
    <td data-label="Until"><${Time} at=${until} /></td>
  </tr>`;
  const head = ["Version", figures("Share of the wallets"), "Grows to", "Next step"];
  return html`<section class="card">
    <h2>Live split</h2>
    ${stopped && html`<p class="note bad"><b>A share was taken away.</b> ${stopped}</p>`}
    ${
      shares.length > 0
        ? html`<p>The champion, credit ${champion}, answers the other ${number(rest)} % of the wallets.</p>
            <div class="stacked"><${Table} quiet caption="Shares" head=${head} rows=${shares.map(row)} /></div>`
        : html`<p>The champion, credit ${champion}, answers every wallet${pins.length > 0 && ", except for pinned keys"}.</p>
            <p class="faint">
              <code>assay model split --share 1.4=1,5,25,50 --every 24 --why "a month in the shadow"</code> gives a version a
              share that grows, and takes it away when a limit of <code>[promotion]</code> is exceeded.
            </p>`
    }
    ${
      pins.length > 0 &&
      html`<div class="stacked"><${Table} caption="Pinned keys" head=${["Key", "Version", "Until"]} rows=${pins.map(pinned)} /></div>`
    }
    ${choosers.length > 0 && html`<p>These keys may choose a version with a header: ${choosers.join(", ")}.</p>`}
  </section>`;
}
