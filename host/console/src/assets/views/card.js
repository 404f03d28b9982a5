// The card of a model: what it is for, what it claims, and where it fails.

import { html, useEffect, useState } from "../dom.js";
import { isAbort, path, send } from "../api.js";
import { link } from "../route.js";
import { Problem, Waiting } from "../parts.js";
import { Markdown } from "../markdown.js";

/** @param {Place} props */
export function ModelCard({ parts: [kind, version] }) {
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
    ${text && html`<article class="card prose"><${Markdown} text=${text} /></article>`}`;
}
