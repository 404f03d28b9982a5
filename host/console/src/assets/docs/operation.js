// One operation: what it takes, what it answers, and a form that sends it.

import { html, useEffect, useRef, useState } from "../dom.js";
import { Markdown, inline } from "../markdown.js";
import { Mark, Table } from "../parts.js";
import { Attempt } from "./attempt.js";
import { Fields, exampleOf, limits, resolved, typeName } from "./schema.js";

/** @param {{ api: ApiDocument; operation: Operation; secret: string; isOpen: boolean }} props */
export function Operation({ api, operation, secret, isOpen }) {
  const [isShown, setShown] = useState(isOpen);
  const box = useRef(null);
  useEffect(() => {
    if (isOpen) box.current.open = true;
  }, [isOpen]);
  const { method, path, summary, operationId, deprecated } = operation;
  return html`<details class="card operation" id=${operationId} ref=${box} onToggle=${() => setShown(box.current.open)}>
    <summary>
      <span class=${`mark method ${method}`}>${method.toUpperCase()}</span> <code>${path}</code>
      <span>${inline(summary ?? "")} ${deprecated && html`<${Mark} kind="warn">deprecated</${Mark}>`}</span>
    </summary>
    ${isShown && html`<${Body} api=${api} operation=${operation} secret=${secret} />`}
  </details>`;
}

/** @param {{ api: ApiDocument; operation: Operation; secret: string }} props */
function Body({ api, operation, secret }) {
  const { description, operationId, parameters = [], requestBody } = operation;
  return html`
    ${description && html`<div class="prose"><${Markdown} text=${description} /></div>`}
    <p class="faint">${needs(operation)} Operation <a href=${`#${operationId}`}><code>${operationId}</code></a>.</p>
    ${parameters.length > 0 && html`<${Parameters} api=${api} parameters=${parameters} />`}
    ${requestBody && html`<${Request} api=${api} body=${requestBody} />`}
    <${Responses} api=${api} responses=${operation.responses} />
    <${Attempt} api=${api} operation=${operation} secret=${secret} />
  `;
}

/** @param {Operation} operation */
function needs({ security }) {
  if (!security?.length) return "It needs no key.";
  const ways = security.map((way) => Object.keys(way)[0] ?? "nothing");
  return `It needs ${ways.map((way) => ({ key: "an API key", x402: "a payment by x402" })[way] ?? way).join(" or ")}.`;
}

/** @param {{ api: ApiDocument; parameters: Parameter[] }} props */
function Parameters({ api, parameters }) {
  /** @param {Parameter} parameter */
  const row = ({ name, in: place, required, description, schema, example }) => html`<tr>
    <th scope="row"><code>${name}</code></th>
    <td>${place}${!required && ", optional"}</td>
    <td>${typeName(api, schema)} <span class="faint">${limits(resolved(api, schema).schema).map((limit) => html`<br />${limit}`)}</span></td>
    <td>${inline(description ?? "")} ${example !== undefined && html`<span class="faint">such as <code>${String(example)}</code></span>`}</td>
  </tr>`;
  return html`<${Table} caption="Parameters" head=${["Name", "In", "Type", "What it is"]} rows=${parameters.map(row)} />`;
}

/** @param {unknown} value */
const text = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

/** @param {{ api: ApiDocument; body: RequestBody }} props */
function Request({ api, body: { content, required, description } }) {
  const [[kind, of]] = Object.entries(content);
  return html`<h3>Request body</h3>
    <p>${inline(description ?? "")} <span class="faint">${kind}, ${typeName(api, of.schema)}${!required && ", optional"}</span></p>
    <${Fields} api=${api} schema=${of.schema} />`;
}

/** @param {{ api: ApiDocument; responses: Operation["responses"] }} props */
function Responses({ api, responses }) {
  const entries = Object.entries(responses);
  return html`<h3>Responses</h3>
    <ul class="plain">${entries.map(([status, response]) => html`<${Answer} api=${api} status=${status} response=${response} />`)}</ul>`;
}

/** @param {{ api: ApiDocument; status: string; response: Reply }} props */
function Answer({ api, status, response: { description, content, headers } }) {
  const [kind, of] = Object.entries(content ?? {})[0] ?? [];
  const example = exampleOf(api, of);
  const tone = status.startsWith("2") ? "good" : status < "500" ? "warn" : "bad";
  return html`<li>
    <${Mark} kind=${tone}>${status}</${Mark}> ${inline(description)}
    ${kind && html` <span class="faint">${kind === "application/json" ? "" : `${kind}, `}${typeName(api, of.schema)}</span>`}
    ${headers && html` <span class="faint">with ${Object.keys(headers).join(", ")}</span>`}
    ${
      of &&
      html`<div class="folds">
        ${example !== undefined && html`<details><summary>Example of ${status}</summary><pre tabindex="0">${text(example)}</pre></details>`}
        <${Schema} api=${api} status=${status} schema=${of.schema} />
      </div>`
    }
  </li>`;
}

/** @param {{ api: ApiDocument; status: string; schema?: Schema }} props */
function Schema({ api, status, schema }) {
  const [isOpen, setOpen] = useState(false);
  return html`<details onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>Fields of ${status}</summary>
    ${isOpen && html`<${Fields} api=${api} schema=${schema} />`}
  </details>`;
}
