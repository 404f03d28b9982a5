// The frame of the console: signing in, the navigation, and the view that the address names.

import { html, render, useEffect, useState } from "./dom.js";
import { go, link, useRoute } from "./route.js";
import { Me, session } from "./session.js";
import { Problem, Title, Waiting } from "./parts.js";
import { SignIn, identify } from "./views/sign_in.js";
import { LookUp } from "./views/look_up.js";
import { Several } from "./views/several.js";
import { Compare } from "./views/compare.js";
import { Models } from "./views/models.js";
import { Agents } from "./views/agents.js";
import { Submissions } from "./views/submissions.js";
import { Keys } from "./views/keys.js";
import { Status } from "./views/status.js";

const ICON = new URL("icon.svg", import.meta.url).pathname;

/** A key needs one of the scopes. */
const VIEWS = [
  { name: "look-up", title: "Look up", scopes: ["read"], View: LookUp },
  { name: "several", title: "Several", scopes: ["read"], View: Several },
  { name: "compare", title: "Compare", scopes: ["read"], View: Compare },
  { name: "models", title: "Models", scopes: ["read", "admin"], View: Models },
  { name: "agents", title: "Agents", scopes: ["read", "submit"], View: Agents },
  { name: "submissions", title: "Submissions", scopes: ["read", "submit"], View: Submissions },
  { name: "status", title: "Status", scopes: ["admin"], View: Status },
  { name: "keys", title: "Keys and limits", scopes: ["read", "submit", "admin"], View: Keys },
];

function App() {
  const [me, setMe] = useState(/** @type {Identified | null} */ (null));
  const [error, setError] = useState(/** @type {ShownError | null} */ (null));
  const leave = () => {
    session.close();
    setMe(null);
    setError(null);
  };
  /** @param {Identified} me */
  const enter = (me) => {
    setError(null);
    setMe(me);
  };
  const resume = () => {
    setError(null);
    identify(session.key).then(enter, (error) => {
      if (error.status === 401) session.close();
      setError(error);
    });
  };
  useEffect(() => {
    if (session.key) resume();
  }, []);
  if (me) return html`<${Frame} me=${me} leave=${leave} />`;
  if (session.key && !error) return html`<main class="narrow" id="main"><${Waiting} what="your key" /></main>`;
  if (session.key) {
    return html`<main class="narrow" id="main">
      <${Title} text="Not signed in" /><${Problem} error=${error} again=${resume} />
      <button type="button" onClick=${leave}>Use another key</button>
    </main>`;
  }
  return html`<${SignIn} enter=${enter} error=${error} />`;
}

/**
 * `/` goes to the search of the view, or to that of the first view.
 * @param {KeyboardEvent} event
 */
function search(event) {
  const { target, key, ctrlKey, metaKey, altKey } = event;
  const isTyping = target instanceof Element && target.closest("input, textarea, select, dialog");
  if (key !== "/" || ctrlKey || metaKey || altKey || isTyping) return;
  event.preventDefault();
  const field = /** @type {HTMLElement | null} */ (document.querySelector("form[role=search] input"));
  if (field) field.focus();
  else go(["look-up"]);
}

/** @param {{ me: Identified; leave: () => void }} props */
function Frame({ me, leave }) {
  const { parts, query } = useRoute();
  const allowed = VIEWS.filter(({ scopes }) => scopes.some((scope) => me.scopes.includes(scope)));
  const wanted = VIEWS.find(({ name }) => name === (parts[0] ?? allowed[0]?.name));
  useEffect(() => {
    addEventListener("keydown", search);
    return () => removeEventListener("keydown", search);
  }, []);
  /** @param {Happening} event */
  const skip = (event) => {
    event.preventDefault();
    document.getElementById("main")?.focus();
  };
  return html`<${Me.Provider} value=${me}>
    <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <header class="top">
      <span class="brand"><img src=${ICON} alt="" width="24" height="24" /> Assay</span>
      <nav aria-label="Views">
        ${allowed.map(
          ({ name, title }) =>
            html`<a href=${link([name])} aria-current=${name === wanted?.name ? "page" : undefined}>${title}</a>`,
        )}
      </nav>
      <span class="who">${me.name} <button type="button" onClick=${leave}>Sign out</button></span>
    </header>
    ${
      me.sandbox &&
      html`<aside class="note sandbox" aria-label="Sandbox">
        <b>Sandbox.</b> This server answers mock figures that it makes from the address alone. Nothing is read from a
        chain and nothing is paid.
      </aside>`
    }
    <main id="main" tabindex="-1">
      <${Body} wanted=${wanted} allowed=${allowed} parts=${parts.slice(1)} query=${query} />
    </main>
  </${Me.Provider}>`;
}

/** @param {Place & { wanted?: (typeof VIEWS)[number]; allowed: (typeof VIEWS)[number][] }} props */
function Body({ wanted, allowed, parts, query }) {
  if (!wanted)
    return html`<${Title} text="No such view" />
      <p>The navigation lists the views that there are.</p>`;
  if (!allowed.includes(wanted)) {
    return html`<${Title} text=${wanted.title} />
      <p class="note">
        This key may not do this: it needs the scope ${wanted.scopes.map((scope) => html`<code>${scope}</code> `)}.
      </p>`;
  }
  return html`<${wanted.View} parts=${parts} query=${query} />`;
}

render(html`<${App} />`, /** @type {Element} */ (document.getElementById("app")));
