// `/docs`: the OpenAPI document for people, with requests to try. The key stays in the memory of this page.

import { html, render, useEffect, useState } from "./dom.js";
import { Markdown } from "./markdown.js";
import { Problem, Waiting } from "./parts.js";
import { Operation } from "./docs/operation.js";

const ROOT = /** @type {HTMLElement} */ (document.getElementById("app"));
const ICON = new URL("icon.svg", import.meta.url).pathname;
const METHODS = ["get", "post", "put", "patch", "delete"];

/**
 * The operations of each tag of the document, in its order.
 * @param {ApiDocument} api
 */
function sections({ paths, tags }) {
  const all = Object.entries(paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => ({ ...item[method], method, path })),
  );
  return tags.map((tag) => ({ ...tag, operations: all.filter((operation) => operation.tags?.includes(tag.name)) }));
}

/** @type {(text: string) => (operation: Operation) => boolean | undefined} */
const matches = (text) => (operation) =>
  [operation.path, operation.operationId, operation.summary, operation.method].some((part) =>
    part?.toLowerCase().includes(text.toLowerCase()),
  );

/** The operation that the address names. */
const named = () => decodeURIComponent(location.hash.slice(1));

function useDocument() {
  const [state, setState] = useState(/** @type {{ document?: ApiDocument; error?: ShownError }} */ ({}));
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    setState({});
    fetch("../openapi.json")
      .then((response) =>
        response.ok ? response.json() : Promise.reject(new Error(`The server answered ${response.status}.`)),
      )
      .then(
        (document) => setState({ document }),
        (error) => setState({ error }),
      );
  }, [turn]);
  return { ...state, again: () => setTurn(turn + 1) };
}

/** Removes the key that the page of older versions stored. */
function forget() {
  try {
    localStorage.removeItem("authorized");
  } catch {
    // Storage is disabled.
  }
}

function Docs() {
  const { document: api, error, again } = useDocument();
  const [key, setKey] = useState(ROOT.dataset.key);
  const [text, setText] = useState("");
  const [open, setOpen] = useState(named());
  useEffect(() => {
    const moved = () => setOpen(named());
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  useEffect(() => {
    if (api && open) document.getElementById(open)?.scrollIntoView();
  }, [api, open]);
  if (error) return html`<main class="narrow"><h1>Assay API</h1><${Problem} error=${error} again=${again} /></main>`;
  if (!api) return html`<main class="narrow"><h1>Assay API</h1><${Waiting} what="the document" /></main>`;
  const shown = sections(api)
    .map((tag) => ({ ...tag, operations: tag.operations.filter(matches(text)) }))
    .filter(({ operations }) => operations.length > 0);
  return html`
    <header class="top">
      <span class="brand"><img src=${ICON} alt="" width="24" height="24" /> Assay API</span>
      <nav aria-label="Tags">${shown.map(({ name }) => html`<a href=${`#tag-${name}`}>${name}</a>`)}</nav>
      <span class="who"><a href="../console/">Console</a> <a href="../openapi.json">openapi.json</a></span>
    </header>
    <main id="main">
      <h1>Assay API, version ${api.info.version}</h1>
      <div class="prose"><${Markdown} text=${api.info.description} /></div>
      <form class="line card" role="search" onSubmit=${(event) => event.preventDefault()}>
        <label for="key">API key, which stays in the memory of this page</label>
        <input id="key" type="password" autocomplete="off" value=${key} onInput=${(event) => setKey(event.target.value)} />
        <label for="find">Find a path</label>
        <input id="find" type="search" value=${text} onInput=${(event) => setText(event.target.value)} />
      </form>
      ${shown.length === 0 && html`<p>No path has “${text}” in it.</p>`}
      ${shown.map(
        ({
          name,
          description,
          operations,
        }) => html`<section key=${name} id=${`tag-${name}`} aria-labelledby=${`title-${name}`}>
          <h2 id=${`title-${name}`}>${name}</h2>
          <p class="faint">${description}</p>
          ${operations.map(
            (operation) => html`<${Operation}
              key=${operation.operationId}
              api=${api}
              operation=${operation}
              secret=${key}
              isOpen=${open === operation.operationId}
            />`,
          )}
        </section>`,
      )}
    </main>
  `;
}

forget();
render(html`<${Docs} />`, ROOT);
