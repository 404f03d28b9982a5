// A new watch of a wallet, whose secret is shown once.

import { html } from "../dom.js";
import { ask, path, useAction } from "../api.js";
import { link } from "../route.js";
import { useMe } from "../session.js";
import { Problem, Title, announce, values } from "../parts.js";
import { subjects } from "../wallets.js";
import { several } from "../words.js";

/** @param {{ address: string }} props */
export function NewWatch({ address }) {
  const me = useMe();
  /** @type {Action<Api.WatchWithSecret>} */
  const { busy, error, done, start } = useAction();
  /** @param {Happening} event */
  const submit = (event) => {
    const { address, health, score, liquidation, range, every, url } = values(event);
    /** @type {(Api.NewWatchTrigger | false)[]} */
    const when = [
      health !== "" && { measure: "health_factor", below: Number(health) },
      score !== "" && { measure: "score", below: Number(score) },
      liquidation === "on" && { measure: "liquidation" },
      range === "on" && { measure: "range" },
    ];
    const [subject = address.trim()] = subjects(address);
    const json = {
      address: subject,
      when: when.filter((trigger) => trigger !== false),
      every_s: every === "" ? undefined : Number(every),
      url: url.trim() || undefined,
    };
    start(async () => {
      const { body } = await ask(path(["watches"]), { method: "POST", json });
      announce("The watch is made");
      return body;
    });
  };
  return html`
    <p><a href=${link(["watches"])}>All watches</a></p>
    <${Title} text="Watch a wallet" />
    ${error && html`<${Problem} error=${error} />`}
    ${
      done
        ? html`<${Made} made=${done} />`
        : html`<form class="stack" onSubmit=${submit}>
            <label for="address">Ethereum address or ENS name</label>
            <input id="address" name="address" required spellcheck="false" autocomplete="off" defaultValue=${address} />
            <fieldset>
              <legend>Tell when</legend>
              <span class="choice">
                <label for="health">a health factor is below</label>
                <input id="health" name="health" type="number" min="1" step="any" defaultValue="1.3" />
              </span>
              <span class="choice">
                <label for="score">the score is below</label>
                <input id="score" name="score" type="number" min="300" max="1000" />
              </span>
              <label class="choice"><input type="checkbox" name="liquidation" defaultChecked /> it is liquidated</label>
              <label class="choice"><input type="checkbox" name="range" /> its range changes</label>
            </fieldset>
            <label for="every">Seconds between two evaluations</label>
            <input id="every" name="every" type="number" min="1" defaultValue="60" />
            <label for="url">Deliver to this URL; without one, events are polled</label>
            <input id="url" name="url" type="url" placeholder="https://lender.example/hooks/assay" />
            <p class="faint">Costs ${several(me.costs.watch, "unit")} for each 30 days begun, and lasts 30 days.</p>
            <button class="main" disabled=${busy}>${busy ? "Making …" : "Watch it"}</button>
          </form>`
    }
  `;
}

/** @param {{ made: Api.WatchWithSecret }} props */
function Made({ made: { watch, secret } }) {
  return html`<div class="note good" role="status">
      <p><b>The wallet is watched.</b></p>
      ${secret && html`<p class="secret">Secret of its deliveries: <code>${secret}</code> It is not shown again.</p>`}
    </div>
    <p><a href=${link(["watches", watch.id])}>Open the watch</a></p>`;
}
