// The card of a model: what it is for, what it claims, and where it fails.

import { html, useEffect, useState } from "../dom.js";
import { isAbort, path, send, useAction } from "../api.js";
import { link } from "../route.js";
import { useMe } from "../session.js";
import { Problem, Waiting, save } from "../parts.js";
import { Markdown } from "../markdown.js";

/** @param {Place} props */
export function ModelCard({ parts: [kind, version] }) {
  const me = useMe();
  const [{ text, error }, setState] = useState(/** @type {{ text?: string; error?: ShownError }} */ ({}));
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    setState({});
    send(path(["models", kind, version, "card"]), { signal: stop.signal, headers: { accept: "text/markdown" } })
      .then((response) => response.text())
      .then(
        (text) => setState({ text }),
        (error) => isAbort(error) || setState({ error }),
      );
    return () => stop.abort();
  }, [kind, version, turn]);
  return html`<p><a href=${link(["models", "shelf"])}>All models</a></p>
    ${error && html`<${Problem} error=${error} again=${() => setTurn(turn + 1)} />`}
    ${!error && !text && html`<${Waiting} what="the card" />`}
    ${text && html`<article class="card prose"><${Markdown} text=${text} /></article>`}
    ${me.scopes.includes("admin") && html`<${Dossier} kind=${kind} version=${version} />`}`;
}

/**
 * The validation pack, as a file.
 * @param {{ kind: string; version: string }} props
 */
function Dossier({ kind, version }) {
  const { busy, error, start } = useAction();
  const make = () =>
    start(async () => {
      const pack = await send(path(["admin", "models", kind, version, "dossier"]));
      save(`${kind}-${version}.tar`, "application/x-tar", await pack.blob());
    });
  return html`<section class="card">
    <h2>Validation pack</h2>
    <p>
      Card, component, outcomes, drift, challengers, audit log and recomputed scores, in one signed archive. A validator
      checks it offline with <code>assay verify</code>.
    </p>
    <button type="button" disabled=${busy} onClick=${make}>${busy ? "Making the pack …" : "Make the pack"}</button>
    ${error && html`<${Problem} error=${error} />`}
  </section>`;
}
