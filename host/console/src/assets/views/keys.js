// The key that is signed in, and for admins every key of the server: minted and revoked here.

import { html, useRef, useState } from "../dom.js";
import { ask, path, useAction, useAsk } from "../api.js";
import { useMe } from "../session.js";
import { Answer, Dialog, Facts, Mark, Problem, Table, Time, Title, announce, figures, values } from "../parts.js";
import { count, several } from "../words.js";

/** @type {Record<string, string>} */
const CALLS = {
  score: "Score, for each address and version",
  report: "Report, for each address",
  attestation: "Signed statement of a score",
  watch: "Watch, for each 30 days begun",
  submission: "Submission",
  status: "Status and document of a submission",
  agents: "Agents",
  models: "Models",
  sandbox: "Sandbox",
  usage: "Usage",
  admin: "Administration",
};

export function Keys() {
  const me = useMe();
  const asked = useAsk("usage");
  /** @param {Shown<typeof asked>} answer */
  const show = ({ body }) => html`<${Own} usage=${body} />`;
  return html`
    <${Title} text="Keys and limits" />
    <${Answer} asked=${asked} what="your key" show=${show} />
    ${me.scopes.includes("admin") && html`<${All} />`}
  `;
}

/** @param {{ usage: Api.Usage }} props */
function Own({ usage: { name, scopes, units, used, left, rate, costs } }) {
  /** @param {[string, number]} cost */
  const row = ([call, units]) =>
    html`<tr>
      <th scope="row">${CALLS[call] ?? call}</th>
      <td class="figure">${count(units)}</td>
    </tr>`;
  return html`<section class="card">
    <h2>Your key</h2>
    <${Facts}
      of=${[
        ["Name", name],
        ["Scopes", scopes.join(", ")],
        ["Units", units === null ? "not metered" : `${count(used)} of ${count(units)} used, ${count(left)} left`],
        ["Rate", rate === null ? "no limit" : `${several(rate, "request")} a minute`],
      ]}
    />
    ${
      units !== null &&
      html`<meter aria-label="Units used" min="0" max=${units} value=${used}>${used} of ${units}</meter>`
    }
    <${Table} caption="What a call costs" head=${["Call", figures("Units")]} rows=${Object.entries(costs).map(row)} />
  </section>`;
}

const SCOPES = {
  read: "read: scores, reports and agents",
  submit: "submit: reputation",
  admin: "admin: models, keys, status",
};

function All() {
  const me = useMe();
  const asked = useAsk("admin/keys");
  const [revoked, setRevoked] = useState(/** @type {string | null} */ (null));
  /** @param {Api.Key} key */
  const row = ({ name, scopes, units, used, left, rate, source, minted_at }) =>
    html`<tr>
      <th scope="row">${name}${name === me.name && html` <${Mark}>yours</${Mark}>`}</th>
      <td data-label="Scopes">${scopes.join(", ")}</td>
      <td data-label="Used" class="figure">${units === null ? "–" : count(used)}</td>
      <td data-label="Of" class="figure">${units === null ? "not metered" : count(units)}</td>
      <td data-label="Left" class="figure">${units === null ? "–" : count(left)}</td>
      <td data-label="A minute" class="figure">${rate === null ? "no limit" : count(rate)}</td>
      <td data-label="From">${source}${minted_at && html`, <${Time} at=${minted_at} />`}</td>
      <td>
        ${
          source === "store" &&
          html`<button type="button" class="small" aria-label=${`Revoke ${name}`} onClick=${() => setRevoked(name)}>Revoke …</button>`
        }
      </td>
    </tr>`;
  /** @param {Shown<typeof asked>} answer */
  const show = ({ body: { keys } }) =>
    html`<section class="card stacked">
      <h2>All keys of this server</h2>
      <${Table}
        quiet
        caption="All keys of this server"
        head=${["Name", "Scopes", ...["Used", "Of", "Left", "A minute"].map(figures), "From", "Revoke"]}
        rows=${keys.map(row)}
      />
      <p class="faint">The text of a key is not kept. A key of the configuration is removed there.</p>
    </section>`;
  return html`<${Answer} asked=${asked} what="the keys" show=${show} />
    <${Mint} minted=${asked.again} />
    ${revoked && html`<${Revoke} name=${revoked} changed=${asked.again} close=${() => setRevoked(null)} />`}`;
}

/**
 * Makes a key, whose text is shown once.
 * @param {{ minted: () => void }} props
 */
function Mint({ minted }) {
  /** @type {Action<Api.MintedKey>} */
  const { busy, error, done, start } = useAction();
  /** @param {Happening} event */
  const submit = (event) => {
    const { name, units, rate, ...scopes } = values(event);
    const form = event.currentTarget;
    /** @param {string} text */
    const number = (text) => (text === "" ? undefined : Number(text));
    const json = {
      name: name.trim(),
      scopes: /** @type {Api.Scope[]} */ (Object.keys(SCOPES)).filter((scope) => scopes[scope]),
      units: number(units),
      rate: number(rate),
    };
    start(async () => {
      const { body } = await ask(path(["admin", "keys"]), { method: "POST", json });
      announce(`The key ${body.key.name} is minted`);
      form.reset();
      minted();
      return body;
    });
  };
  return html`<section class="card">
    <h2>Mint a key</h2>
    ${done && html`<${Shown} minted=${done} hide=${() => start(() => null)} />`}
    ${error && html`<${Problem} error=${error} />`}
    <form class="stack" onSubmit=${submit}>
      <label for="name">Name, in logs and usage</label>
      <input id="name" name="name" required maxlength="64" pattern="[._\\-]*[A-Za-z0-9][A-Za-z0-9._\\-]*" autocomplete="off" spellcheck="false" />
      <fieldset>
        <legend>What it may do</legend>
        ${Object.entries(SCOPES).map(
          ([scope, words]) =>
            html`<label class="choice"><input type="checkbox" name=${scope} defaultChecked=${scope === "read"} /> ${words}</label>`,
        )}
      </fieldset>
      <label for="units">Units that it may use in all; empty: not metered</label>
      <input id="units" name="units" type="number" min="0" step="1" />
      <label for="rate">Requests a minute; empty: as configured, 0: no limit</label>
      <input id="rate" name="rate" type="number" min="0" max="4294967295" step="1" />
      <button class="main" disabled=${busy}>${busy ? "Minting …" : "Mint"}</button>
    </form>
  </section>`;
}

/** @param {{ minted: Api.MintedKey; hide: () => void }} props */
function Shown({ minted: { secret, key }, hide }) {
  const [copied, setCopied] = useState(false);
  const copy = () =>
    navigator.clipboard?.writeText(secret).then(
      () => setCopied(true),
      () => {},
    );
  return html`<div class="note good secret">
    <p><b>The key ${key.name} is not shown again.</b> Copy it now; every host accepts it at once.</p>
    <p><code>${secret}</code></p>
    <div class="buttons">
      <button type="button" onClick=${copy}>${copied ? "Copied" : "Copy"}</button>
      <button type="button" onClick=${hide}>I have kept it</button>
    </div>
  </div>`;
}

/** @param {{ name: string; changed: () => void; close: () => void }} props */
function Revoke({ name, changed, close }) {
  const me = useMe();
  const finished = useRef(false);
  const { busy, error, start } = useAction();
  const revoke = () =>
    start(async () => {
      await ask(path(["admin", "keys", name]), { method: "DELETE" });
      announce(`The key ${name} is revoked`);
      finished.current = true;
      changed();
      close();
    });
  return html`<${Dialog} title=${`Revoke the key ${name}`} close=${close} finished=${finished}>
    <p>Every host refuses it within two seconds. A new key of the same name starts with no used units.</p>
    ${name === me.name && html`<p class="note warn">You are signed in with this key: the console ends with it.</p>`}
    ${error && html`<${Problem} error=${error} />`}
    <div class="buttons">
      <button type="button" class="main" disabled=${busy} onClick=${revoke}>${busy ? "Revoking …" : "Revoke"}</button>
      <button type="button" onClick=${close}>Cancel</button>
    </div>
  </${Dialog}>`;
}
