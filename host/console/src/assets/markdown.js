// The part of Markdown that model cards use: headings, paragraphs, lists, tables, code, bold text and links. A card
// comes from the author of a model, so it becomes text and these elements only.

import { html } from "./dom.js";
import { Table } from "./parts.js";

const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\((https?:\/\/[^)\s]+)\)/g;

/**
 * Text with code, bold parts and links.
 * @param {string} text
 */
export function inline(text) {
  /** @type {Html[]} */
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(INLINE)) {
    const [whole, code, bold, label, href] = found;
    parts.push(text.slice(at, found.index));
    at = found.index + whole.length;
    if (code) parts.push(html`<code>${code}</code>`);
    else if (bold) parts.push(html`<b>${bold}</b>`);
    else parts.push(html`<a href=${href} rel="noreferrer" target="_blank">${label}</a>`);
  }
  return [...parts, text.slice(at)];
}

/**
 * Lines of one block, which an empty line ends.
 * @param {string} text
 */
const blocks = (text) =>
  text
    .split(/\n\s*\n/)
    .map((block) => block.split("\n").filter((line) => line.trim()))
    .filter((lines) => lines.length > 0);

/** @param {string} line */
const cells = (line) =>
  line
    .replace(/^\||\|\s*$/g, "")
    .split("|")
    .map((cell) => cell.trim());

/** @param {string[]} lines */
function table([head, , ...rows]) {
  const [first, ...rest] = cells(head);
  /** @param {string} line */
  const row = (line) => {
    const [name, ...others] = cells(line);
    return html`<tr>
      <th scope="row">${inline(name)}</th>
      ${others.map((cell) => html`<td>${inline(cell)}</td>`)}
    </tr>`;
  };
  return html`<${Table} quiet caption=${`By ${first.toLowerCase()}`} head=${[first, ...rest]} rows=${rows.map(row)} />`;
}

/**
 * The items of a list; a line without a dash continues the item before it.
 * @param {string[]} lines
 */
function items(lines) {
  /** @type {string[]} */
  const all = [];
  for (const line of lines) {
    if (/^\s*[-*] /.test(line)) all.push(line.replace(/^\s*[-*] /, ""));
    else all.push(`${all.pop() ?? ""} ${line.trim()}`);
  }
  return html`<ul>
    ${all.map((item) => html`<li>${inline(item)}</li>`)}
  </ul>`;
}

/**
 * @param {string[]} lines
 * @returns {Html}
 */
function block(lines) {
  const heading = /^(#+) (.*)$/.exec(lines[0]);
  if (heading) {
    const level = heading[1].length;
    // The title of a card is that of the page.
    const title =
      level === 1 ? null : level === 2 ? html`<h2>${inline(heading[2])}</h2>` : html`<h3>${inline(heading[2])}</h3>`;
    return lines.length > 1 ? [title, block(lines.slice(1))] : title;
  }
  if (lines[0].startsWith("|")) return table(lines);
  if (/^\s*[-*] /.test(lines[0])) return items(lines);
  return html`<p>${inline(lines.join(" "))}</p>`;
}

/** @param {{ text: string }} props */
export const Markdown = ({ text }) => blocks(text).map(block);
