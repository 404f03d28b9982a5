// The models on the shelf by kind, with their roles and states, and the changes that an admin may make.

import { html, useState } from "../dom.js";
import { useAsk } from "../api.js";
import { link } from "../route.js";
import { useMe } from "../session.js";
import { Answer, Facts, Inputs, Mark, Table, Time } from "../parts.js";
import { count } from "../words.js";
import { Change } from "./roles.js";

const KINDS = {
  credit: "Credit scores",
  boost: "Boosts by off-chain assets",
  sybil: "Sybil risk",
  sandbox: "Mocks of the sandbox",
};

export function Shelf() {
  const asked = useAsk("models");
  const [change, setChange] = useState(/** @type {AskedChange | null} */ (null));
  /** @param {Shown<typeof asked>} answer */
  const show = ({ body: { models, previous } }) => html`
    ${models.length === 0 && html`<p>The shelf is empty. No score can be computed.</p>`}
    ${Object.entries(KINDS).map(
      ([kind, title]) =>
        html`<${Kind}
          kind=${kind}
          title=${title}
          key=${kind}
          models=${models.filter((model) => model.kind === kind).sort(byRole)}
          previous=${previous.find((model) => model.kind === kind)?.version}
          ask=${setChange}
        />`,
    )}
    <${Unknown} models=${models.filter((model) => !model.kind)} />
  `;
  return html`
    <${Answer} asked=${asked} what="the shelf" show=${show} />
    ${change && html`<${Change} ...${change} close=${() => setChange(null)} changed=${asked.again} />`}
  `;
}

const ORDER = ["champion", "challenger", "available", "none"];
/**
 * @param {Api.Model} one
 * @param {Api.Model} other
 */
const byRole = (one, other) => ORDER.indexOf(one.role) - ORDER.indexOf(other.role);

/** @param {{ kind: string; title: string; models: Api.Model[]; previous?: string; ask: (change: AskedChange) => void }} props */
function Kind({ kind, title, models, previous, ask }) {
  const me = useMe();
  if (models.length === 0) return null;
  const isAdmin = me.scopes.includes("admin");
  const rollBack = () => previous && ask({ change: "rollback", model: { kind, version: previous } });
  const challengers = models.filter(({ role }) => role === "challenger").flatMap(({ version }) => version ?? []);
  const list = html`<ul class="models">
      ${models.map(
        (model) => html`<${Model}
          model=${model}
          challengers=${challengers}
          ask=${isAdmin ? ask : null}
          key=${model.digest ?? model.file}
        />`,
      )}
    </ul>
    ${
      isAdmin && previous && html`<button type="button" onClick=${rollBack}>Roll ${kind} back to ${previous} …</button>`
    }`;
  // The mocks are there for tests: they take no room from the models that answer.
  if (kind === "sandbox")
    return html`<section class="card"><details><summary><b>${title}</b></summary>${list}</details></section>`;
  return html`<section class="card"><h2>${title}</h2>${list}</section>`;
}

/** @type {Record<string, string>} */
const tone = { ready: "good", benched: "bad", failed: "bad" };

/** @param {{ model: Api.Model; challengers: string[]; ask: ((change: AskedChange) => void) | null }} props */
function Model({ model, challengers, ask }) {
  const { kind, version, title, role, state, reason } = model;
  return html`<li>
    <div class="model">
      <b>${version ?? model.file}</b> <span>${title}</span>
      <${Mark} kind=${role === "champion" && "main"}>${role}</${Mark}>
      ${(state !== "ready" || role === "champion") && html`<${Mark} kind=${tone[state]}>${state}</${Mark}>`}
      ${model.card && kind && version && html`<a href=${link(["models", "card", kind, version])} aria-label=${`Model card of ${kind} ${version}`}>Model card</a>`}
    </div>
    ${reason && html`<p class="bad">${reason.message} <span class="faint">${reason.code}</span></p>`}
    <div class="folds">
        <${About} model=${model} />
    ${ask && role !== "champion" && model.digest && kind && version && html`<${Actions} model=${model} challengers=${challengers} ask=${ask} />`}
    </div>
  </li>`;
}

/**
 * What the server knows of the model, and what became of its calls.
 * @param {{ model: Api.Model }} props
 */
function About({ model }) {
  const { authors, reads, digest, file, loaded_at, calls, failures, kind, version } = model;
  return html`<details>
    <summary aria-label=${`File, inputs and calls of ${kind} ${version ?? file}`}>File, inputs and calls</summary>
    <${Facts}
      of=${[
        authors.length > 0 && ["Authors", authors.join(", ")],
        file && ["File", html`<code>${file}</code>`],
        digest && ["SHA-256", html`<code>${digest}</code>`],
        loaded_at && ["Loaded", html`<${Time} at=${loaded_at} />`],
        ["Calls since then", count(calls)],
        ["Failed calls", count(failures)],
      ]}
    />
    ${reads.length > 0 && html`<${Inputs} names=${reads} />`}
  </details>`;
}

/** @param {{ model: Api.Model & Changing; challengers: string[]; ask: (change: AskedChange) => void }} props */
function Actions({ model, challengers, ask }) {
  const { kind, version, role, state } = model;
  /**
   * @param {string} title
   * @param {string} change
   * @param {Partial<Changing>} [more]
   */
  const button = (title, change, more = {}) =>
    html`<button
      type="button"
      aria-label=${`${title} ${kind} ${version}`}
      onClick=${() => ask({ change, model: { kind, version, ...more } })}
    >
      ${title} …
    </button>`;
  const movable = state !== "failed";
  const add = role !== "challenger";
  const versions = add ? [...challengers, version] : challengers.filter((one) => one !== version);
  return html`<details class="actions">
    <summary aria-label=${`Change role of ${kind} ${version}`}>Change role</summary>
    <div class="buttons">
    ${movable && button("Promote", "promote")}
    ${movable && button(add ? "Challenge" : "End challenge", "challengers", { add, versions })}
    ${role === "challenger" && kind === "credit" && html`<a href=${link(["models", "evidence"])}>Evidence</a>`}
    ${button("Remove", "remove")}
    </div>
  </details>`;
}

/**
 * Files that declare no model.
 * @param {{ models: Api.Model[] }} props
 */
function Unknown({ models }) {
  if (models.length === 0) return null;
  /** @param {Api.Model} model */
  const row = ({ file, state, reason }) => html`<tr>
    <th scope="row"><code>${file}</code></th><td><${Mark} kind="bad">${state}</${Mark}></td>
    <td>${reason?.message} <span class="faint">${reason?.code}</span></td>
  </tr>`;
  return html`<section class="card">
    <h2>Files that are no model</h2>
    <${Table} quiet caption="Files that are no model" head=${["File", "State", "Why"]} rows=${models.map(row)} />
  </section>`;
}
