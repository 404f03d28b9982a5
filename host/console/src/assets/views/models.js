// The models: the shelf, the evidence of challengers, the live split, a check of a file, and the audit log.

import { html } from "../dom.js";
import { link } from "../route.js";
import { useMe } from "../session.js";
import { Title } from "../parts.js";
import { Audit } from "./audit.js";
import { ModelCard } from "./card.js";
import { Check } from "./check.js";
import { Evidence } from "./evidence.js";
import { Shelf } from "./shelf.js";
import { Split } from "./split.js";

const PAGES = [
  { name: "shelf", title: "Shelf", scope: "read", Page: Shelf },
  { name: "evidence", title: "Evidence", scope: "read", Page: Evidence },
  { name: "split", title: "Live split", scope: "admin", Page: Split },
  { name: "check", title: "Check a file", scope: "admin", Page: Check },
  { name: "audit", title: "Audit log", scope: "admin", Page: Audit },
];

/** A page of one model, which the shelf leads to. */
const CARD = { name: "card", title: "Model card", scope: "read", Page: ModelCard };

/** @param {Place} props */
export function Models({ parts, query }) {
  const me = useMe();
  const allowed = PAGES.filter(({ scope }) => me.scopes.includes(scope));
  const isCard = parts[0] === CARD.name && parts.length === 3 && me.scopes.includes(CARD.scope);
  const wanted = isCard ? CARD : PAGES.find(({ name }) => name === (parts[0] ?? allowed[0].name));
  const title = isCard
    ? `${CARD.title} of ${parts[1]} ${parts[2]}`
    : wanted
      ? `Models: ${wanted.title.toLowerCase()}`
      : "Models";
  return html`
    <${Title} text=${title} />
    <nav class="tabs" aria-label="Pages on models">
      ${allowed.map(
        ({ name, title }) =>
          html`<a href=${link(["models", name])} aria-current=${name === wanted?.name ? "page" : undefined}
            >${title}</a
          >`,
      )}
    </nav>
    ${
      wanted && (isCard || allowed.includes(wanted))
        ? html`<${wanted.Page} parts=${parts.slice(1)} query=${query} />`
        : html`<p class="note">
            ${wanted ? html`This needs a key with the scope <code>${wanted.scope}</code>.` : "There is no such page."}
          </p>`
    }
  `;
}
