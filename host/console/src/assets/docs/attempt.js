// A form that sends an operation to this server, and what it answers.

import { html } from "../dom.js";
import { useAction } from "../api.js";
import { Mark, Problem, announce, values } from "../parts.js";
import { exampleOf } from "./schema.js";

/** @typedef {{ url: string; options: RequestInit & { method: string; headers: Values; body?: File | string } }} Made */

/** Headers that say something about an answer. */
const TOLD = [
  "content-type",
  "x-request-id",
  "assay-units-cost",
  "assay-units-left",
  "assay-score-id",
  "ratelimit",
  "retry-after",
];

/**
 * The address and the options of the request that the form describes.
 * @param {Operation} operation
 * @param {Values & { file?: string | File }} given
 * @param {string} secret
 * @returns {Made}
 */
function request({ method, path, parameters = [], requestBody }, given, secret) {
  /** @param {Parameter["in"]} place */
  const of = (place) => parameters.filter((one) => one.in === place && given[`${place} ${one.name}`]);
  /** @param {Parameter} parameter */
  const value = ({ in: place, name }) => given[`${place} ${name}`];
  const filled = parameters
    .filter((one) => one.in === "path")
    .reduce((path, one) => path.replace(`{${one.name}}`, encodeURIComponent(value(one))), path);
  const query = new URLSearchParams(of("query").map((one) => [one.name, value(one)])).toString();
  const headers = Object.fromEntries(of("header").map((one) => [one.name, value(one)]));
  if (secret) headers.authorization = `Bearer ${secret}`;
  const isFile = given.file instanceof File;
  const body = isFile ? given.file : given.body || undefined;
  if (requestBody && body) headers["content-type"] = Object.keys(requestBody.content)[0];
  return {
    url: `..${filled}${query && `?${query}`}`,
    options: { method: method.toUpperCase(), headers, body, cache: "no-store" },
  };
}

/** @param {string} text */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * The same request as a command; the key is the variable `KEY`.
 * @param {Made} made
 */
function command({ url, options: { method, headers, body } }) {
  const named = Object.entries(headers).map(([name, value]) =>
    name === "authorization" ? `-H "Authorization: Bearer $KEY"` : `-H ${quoted(`${name}: ${value}`)}`,
  );
  const data =
    body === undefined ? [] : [body instanceof File ? `--data-binary @${quoted(body.name)}` : `-d ${quoted(body)}`];
  const address = quoted(new URL(url, location.href).href);
  return ["curl", ...(method === "GET" ? [] : [`-X ${method}`]), ...named, ...data, address].join(" ");
}

/** @param {Made} made */
async function sent(made) {
  const began = performance.now();
  const response = await fetch(made.url, made.options).catch(() => {
    throw new Error("The server cannot be reached.");
  });
  const text = await response.text();
  let shown = text;
  try {
    shown = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // The text is shown as it is.
  }
  const headers = TOLD.filter((name) => response.headers.has(name)).map(
    (name) => `${name}: ${response.headers.get(name)}`,
  );
  announce(`Answered ${response.status}`);
  const { status, ok } = response;
  return { status, ok, headers, shown, command: command(made), milliseconds: Math.round(performance.now() - began) };
}

/** @param {{ api: ApiDocument; operation: Operation; secret: string }} props */
export function Attempt({ api, operation, secret }) {
  /** @type {Action<Awaited<ReturnType<typeof sent>>>} */
  const { busy, error, done, start } = useAction();
  const { operationId, parameters = [], requestBody } = operation;
  const [kind, of] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  /** @param {Happening} event */
  const submit = (event) => {
    const made = request(operation, values(event), secret);
    start(() => sent(made));
  };
  /** @param {Parameter} parameter */
  const field = ({ in: place, name, required, example, schema }) => html`
    <label for=${`${operationId} ${name}`}><code>${name}</code></label>
    <input
      id=${`${operationId} ${name}`}
      name=${`${place} ${name}`}
      required=${required}
      spellcheck="false"
      autocomplete="off"
      defaultValue=${required ? (example ?? schema?.default ?? "") : ""}
      placeholder=${example === undefined ? "" : String(example)}
    />
  `;
  const isJson = kind?.includes("json");
  return html`<form class="stack attempt" onSubmit=${submit}>
    <h3>Try it</h3>
    ${parameters.map(field)}
    ${
      kind &&
      (isJson
        ? html`<label for=${`${operationId} body`}>Body</label>
            <textarea id=${`${operationId} body`} name="body" rows="4" spellcheck="false">${JSON.stringify(exampleOf(api, of) ?? {}, null, 2)}</textarea>`
        : html`<label for=${`${operationId} file`}>Body, a file</label><input id=${`${operationId} file`} type="file" name="file" />`)
    }
    <button class="main" disabled=${busy} aria-label=${`Send ${operationId}`}>${busy ? "Sending …" : "Send"}</button>
    ${error && html`<${Problem} error=${error} />`}
    ${done && html`<${Outcome} ...${done} />`}
  </form>`;
}

/** @param {Awaited<ReturnType<typeof sent>>} props */
function Outcome({ status, ok, headers, shown, command, milliseconds }) {
  return html`<div class="outcome">
    <p><${Mark} kind=${ok ? "good" : "bad"}>${status}</${Mark}> <span class="faint">in ${milliseconds} ms</span></p>
    <pre tabindex="0">${command}</pre>
    <p class="faint">${headers.map((line) => html`<span>${line}</span><br />`)}</p>
    <pre tabindex="0">${shown}</pre>
  </div>`;
}
