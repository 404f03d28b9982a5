// Signing in with an API key.

import { html, useEffect, useRef } from "../dom.js";
import { ask, useAction } from "../api.js";
import { session } from "../session.js";
import { Problem, Title, values } from "../parts.js";

/**
 * What the server says of `key`.
 * @param {string | null} key
 * @returns {Promise<Identified>}
 */
export async function identify(key) {
  const { body, sandbox } = await ask("usage", { key });
  return { ...body, sandbox };
}

/** @param {{ enter: (me: Identified) => void; error: ShownError | null }} props */
export function SignIn({ enter, error: before }) {
  const { busy, error, start } = useAction();
  const field = useRef(null);
  const shown = error ?? before;
  // After the title, which takes the focus of other views: here there is only one thing to do.
  useEffect(() => field.current.focus(), []);
  /** @param {Happening} event */
  const submit = (event) => {
    const key = values(event).key.trim();
    start(async () => {
      const me = await identify(key);
      session.open(key);
      enter(me);
    });
  };
  return html`<main class="narrow" id="main">
    <${Title} text="Sign in" />
    <p>
      The console uses the API of this server with your key. The key stays in the tabs of this console and is gone when you close them.
    </p>
    ${shown && (shown.status === 401 ? html`<${Unknown} />` : html`<${Problem} error=${shown} />`)}
    <form class="stack" onSubmit=${submit}>
      <label for="key">API key</label>
      <input ref=${field} id="key" name="key" type="password" required autocomplete="off" spellcheck="false" />
      <p class="faint"><code>assay key mint</code> on the server makes one.</p>
      <button class="main" disabled=${busy}>${busy ? "Signing in …" : "Sign in"}</button>
    </form>
  </main>`;
}

/** A key is mostly mistyped, or revoked: a status and the id of a request say nothing. */
const Unknown = () =>
  html`<p class="note bad" role="alert">
    <b>This server does not know that key.</b> Was it copied completely? It may also be revoked:${" "}
    <code>assay key list</code> on the server names the keys that are valid.
  </p>`;
