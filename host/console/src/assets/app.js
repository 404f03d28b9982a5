// The frame of the console: signing in, the navigation, and the view that the address names.

import { html, render, useEffect, useState } from "./dom.js";
import { UNREACHABLE, useAction } from "./api.js";
import { link, useRoute } from "./route.js";
import { search } from "./search.js";
import { Me, session } from "./session.js";
import { Problem, Title, Waiting } from "./parts.js";
import { SignIn, identify } from "./views/sign_in.js";
import { LookUp } from "./views/look_up.js";

const ICON = new URL("icon.svg", import.meta.url).pathname;

/**
 * A view is loaded when it is opened; Look up, where most work is done, with the page. A key needs one of the scopes.
 * @type {{ name: string; title: string; scopes: string[]; load: () => Promise<View> | View }[]}
 */
const VIEWS = [
  { name: "look-up", title: "Look up", scopes: ["read"], load: () => LookUp },
  {
    name: "watches",
    title: "Watches",
    scopes: ["read"],
    load: async () => (await import("./views/watches.js")).Watches,
  },
  {
    name: "several",
    title: "Several",
    scopes: ["read"],
    load: async () => (await import("./views/several.js")).Several,
  },
  {
    name: "compare",
    title: "Compare",
    scopes: ["read"],
    load: async () => (await import("./views/compare.js")).Compare,
  },
  {
    name: "models",
    title: "Models",
    scopes: ["read", "admin"],
    load: async () => (await import("./views/models.js")).Models,
  },
  {
    name: "agents",
    title: "Agents",
    scopes: ["read", "submit"],
    load: async () => (await import("./views/agents.js")).Agents,
  },
  {
    name: "submissions",
    title: "Submissions",
    scopes: ["read", "submit"],
    load: async () => (await import("./views/submissions.js")).Submissions,
  },
  { name: "status", title: "Status", scopes: ["admin"], load: async () => (await import("./views/status.js")).Status },
  {
    name: "keys",
    title: "Keys and limits",
    scopes: ["read", "submit", "admin"],
    load: async () => (await import("./views/keys.js")).Keys,
  },
];

function App() {
  const [me, setMe] = useState(/** @type {Identified | null} */ (null));
  const [error, setError] = useState(/** @type {ShownError | null} */ (null));
  const [isAsking, setAsking] = useState(session.key === null);
  const left = () => {
    setMe(null);
    setError(null);
  };
  const leave = () => {
    session.close();
    left();
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
    session.whenClosed(left);
    if (session.key) return resume();
    session.ofOthers().then((key) => {
      setAsking(false);
      if (key === null) return;
      session.open(key);
      resume();
    });
  }, []);
  if (me) return html`<${Frame} me=${me} leave=${leave} />`;
  if (isAsking) return null;
  if (session.key && !error) return html`<main class="narrow" id="main"><${Waiting} what="your key" /></main>`;
  if (session.key) {
    return html`<main class="narrow" id="main">
      <${Title} text="Not signed in" /><${Problem} error=${error} again=${resume} />
      <button type="button" onClick=${leave}>Use another key</button>
    </main>`;
  }
  return html`<${SignIn} enter=${enter} error=${error} />`;
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
  return html`<${Loaded} load=${wanted.load} key=${wanted.name} parts=${parts} query=${query} />`;
}

/** @param {Place & { load: () => Promise<View> | View }} props */
function Loaded({ load, ...place }) {
  const [view, setView] = useState(/** @type {{ View: View } | null} */ (null));
  const { error, start } = useAction();
  const fetched = () => start(async () => setView({ View: await load() }));
  useEffect(() => {
    fetched();
  }, []);
  if (error) return html`<${Title} text="Not loaded" /><${Problem} error=${new Error(UNREACHABLE)} again=${fetched} />`;
  return view ? html`<${view.View} ...${place} />` : html`<${Waiting} what="the view" />`;
}

render(html`<${App} />`, /** @type {Element} */ (document.getElementById("app")));
