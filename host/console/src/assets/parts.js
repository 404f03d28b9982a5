// Parts that several views use.

import { html, useEffect, useLayoutEffect, useRef, useState } from "./dom.js";
import { count, moment, short } from "./words.js";

/**
 * Says `text` to a screen reader.
 * @param {string} text
 */
export function announce(text) {
  const announcer = document.getElementById("announcer");
  if (announcer) announcer.textContent = text;
}

/**
 * The title of a view takes the focus when the view appears, so that a screen reader begins there. It does so
 * before the view is painted; later, it would take the focus from a field that the user has already chosen.
 * @param {{ text: string; children?: Html }} props
 */
export function Title({ children, text }) {
  const heading = useRef(null);
  useLayoutEffect(() => {
    document.title = `${text} · Assay console`;
    heading.current?.focus();
  }, [text]);
  return html`<h1 ref=${heading} tabindex="-1">${children ?? text}</h1>`;
}

/** @param {{ what: string }} props */
export function Waiting({ what }) {
  useEffect(() => announce(`Loading ${what}`), [what]);
  return html`<p class="waiting"><span class="spinner" aria-hidden="true"></span> Loading ${what} …</p>`;
}

/**
 * What went wrong, in the server's words.
 * @param {{ error: ShownError; again?: () => void }} props
 */
export function Problem({ error, again }) {
  const about = [
    error.status && `Status ${error.status}`,
    error.code,
    error.id && `request ${error.id}`,
    error.wait && `try again in ${error.wait} s`,
  ].filter(Boolean);
  return html`<div class="note bad" role="alert">
    <p>${error.message}</p>
    ${about.length > 0 && html`<p class="faint">${about.join(" · ")}</p>`}
    ${again && html`<button type="button" onClick=${again}>Try again</button>`}
  </div>`;
}

/**
 * `show(answer)` once it is there; before that that it loads, or why there is none.
 * @template T
 * @param {{ asked: Asked<T>; what: string; show: (answer: Answered<T>) => Html }} props
 */
export function Answer({ asked, what, show }) {
  const { answer, error, loading, again } = asked;
  useEffect(() => {
    if (answer) announce(`${what} loaded`);
  }, [answer, what]);
  if (error) return html`<${Problem} error=${error} again=${again} />`;
  if (answer) return show(answer);
  return loading ? html`<${Waiting} what=${what} />` : null;
}

/**
 * The head of a column of figures.
 * @param {string} text
 */
export const figures = (text) => ({ figures: text });

/**
 * A table in a box that scrolls sideways on a narrow screen, also by keyboard.
 * @param {{ caption: string; head: Head[]; rows: Html[]; quiet?: boolean }} props
 */
export function Table({ caption, head, rows, quiet = false }) {
  /** @param {Head} of */
  const cell = (of) =>
    typeof of === "string" ? html`<th scope="col">${of}</th>` : html`<th scope="col" class="figure">${of.figures}</th>`;
  return html`<div class="scroll" role="region" aria-label=${caption} tabindex="0">
    <table>
      <caption class=${quiet ? "unseen" : undefined}>
        ${caption}
      </caption>
      <thead>
        <tr>
          ${head.map(cell)}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;
}

/**
 * A table that a click on a head sorts. A column has a `title`, `of(row)` to sort by, `show(row)`, and whether it
 * `isFigure`, which sorts the largest first. `by` is the column at first; beyond `most` rows a button shows the rest.
 * `children` stand beside that.
 * @template Row
 * @param {{ caption: string; columns: Column<Row>[]; rows: Row[]; by: number; most?: number; children?: Html }} props
 */
export function Sortable({ caption, columns, rows, by, most = Infinity, children }) {
  const [isWhole, setWhole] = useState(false);
  const [sort, setSort] = useState({ by, down: Boolean(columns[by].isFigure) });
  const { of } = columns[sort.by];
  const way = sort.down ? -1 : 1;
  const sorted = [...rows].sort((a, b) => (of(a) < of(b) ? -way : of(a) > of(b) ? way : 0));
  const shown = isWhole ? sorted.length : Math.min(most, sorted.length);
  /** @param {number} at */
  const click = (at) => setSort({ by: at, down: at === sort.by ? !sort.down : Boolean(columns[at].isFigure) });
  /** @param {number} at */
  const order = (at) => (at === sort.by ? (sort.down ? "descending" : "ascending") : undefined);
  /**
   * @param {Column<Row>} column
   * @param {number} at
   */
  const head = ({ title, isFigure }, at) =>
    html`<th scope="col" class=${isFigure ? "figure" : undefined} aria-sort=${order(at)}>
      <button type="button" class="sort" onClick=${() => click(at)}>
        ${title}<span aria-hidden="true">${at === sort.by ? (sort.down ? " ▾" : " ▴") : ""}</span>
      </button>
    </th>`;
  /** @type {(row: Row) => (column: Column<Row>, at: number) => Html} */
  const cell =
    (row) =>
    ({ show, isFigure }, at) =>
      at === 0
        ? html`<th scope="row">${show(row)}</th>`
        : html`<td class=${isFigure ? "figure" : undefined}>${show(row)}</td>`;
  return html`<div class="scroll" role="region" aria-label=${caption} tabindex="0">
    <table>
      <caption class="unseen">
        ${caption}
      </caption>
      <thead>
        <tr>
          ${columns.map(head)}
        </tr>
      </thead>
      <tbody>
        ${sorted.map((row, at) => html`<tr class=${at < shown ? undefined : "beyond"}>${columns.map(cell(row))}</tr>`)}
      </tbody>
    </table>
  </div>
  <div class="folds">
    ${
      shown < sorted.length &&
      html`<button type="button" class="small" onClick=${() => setWhole(true)}>Show all ${count(sorted.length)}</button>`
    }
    ${children}
  </div>`;
}

/** @param {{ of: Fact[] }} props */
export function Facts({ of }) {
  const known = of.filter((one) => !!one);
  return html`<dl class="facts">
    ${known.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
}

/** @param {{ at: string | null | undefined }} props */
export const Time = ({ at }) => (at ? html`<time datetime=${at}>${moment(at)}</time>` : "–");

/** @param {{ of: string | null | undefined }} props */
export const Digest = ({ of }) => html`<code title=${of}>${short(of)}</code>`;

/**
 * The inputs that a model reads.
 * @param {{ names: string[] }} props
 */
export const Inputs = ({ names }) =>
  html`<p>It reads ${names.map((name, at) => html`${at > 0 && ", "}<code>${name}</code>`)}.</p>`;

/** @param {{ kind?: string | false; children?: Html }} props */
export const Mark = ({ kind, children }) => html`<span class="mark ${kind || ""}">${children}</span>`;

/** @param {{ title: string; items?: string[] }} props */
export function Notes({ title, items }) {
  if (!items?.length) return null;
  return html`<div>
    <h3>${title}</h3>
    <ul>
      ${items.map((item) => html`<li>${item}</li>`)}
    </ul>
  </div>`;
}

/**
 * The JSON of an answer, indented.
 * @param {{ text: string; name?: string }} props
 */
export function Raw({ text, name = "Raw JSON" }) {
  let shown = text;
  try {
    shown = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // The text is shown as it is.
  }
  return html`<details class="raw">
    <summary>${name}</summary>
    <pre tabindex="0">${shown}</pre>
  </details>`;
}

/** @param {{ page: number; limit: number; total: number; href: (page: number) => string }} props */
export function Pages({ page, limit, total, href }) {
  const last = Math.max(1, Math.ceil(total / limit));
  if (last === 1) return null;
  /**
   * @param {number} target
   * @param {string} text
   */
  const to = (target, text) =>
    target < 1 || target > last || target === page
      ? html`<span class="faint">${text}</span>`
      : html`<a href=${href(target)}>${text}</a>`;
  return html`<nav class="pages" aria-label="Pages">
    ${to(1, "First")} ${to(page - 1, "Previous")} <span>Page ${page} of ${last}</span> ${to(page + 1, "Next")}
    ${to(last, "Last")}
  </nav>`;
}

/**
 * A question in a dialog of the browser, which keeps the focus inside. Afterwards the focus is where it was, or at the
 * title where `finished.current` says that the view changes.
 * @param {{ title: string; close: () => void; finished: { current: boolean }; children?: Html }} props
 */
export function Dialog({ title, close, finished, children }) {
  const box = useRef(null);
  useEffect(() => {
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    box.current.showModal();
    return () => (finished.current ? document.querySelector("h1") : before)?.focus();
  }, []);
  return html`<dialog ref=${box} aria-labelledby="dialog-title" onClose=${close}>
    <h2 id="dialog-title">${title}</h2>
    ${children}
  </dialog>`;
}

/**
 * The values of a form by the names of its fields.
 * @param {Happening} event
 * @returns {Values}
 */
export function values(event) {
  event.preventDefault();
  return /** @type {Values} */ (Object.fromEntries(new FormData(event.currentTarget)));
}

/**
 * Offers `content` as a file.
 * @param {string} name
 * @param {string} kind
 * @param {BlobPart} content
 */
export function save(name, kind, content) {
  const file = URL.createObjectURL(new Blob([content], { type: kind }));
  Object.assign(document.createElement("a"), { href: file, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(file), 1_000);
}
