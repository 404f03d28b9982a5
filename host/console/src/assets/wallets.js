// Addresses and names of wallets, in whatever people paste.

import { decoded } from "./route.js";

/** An address, or a name with a dot whose end begins with a letter: a number with a dot is no name. */
const SUBJECT = /0x[0-9a-fA-F]{40}\b|[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)*\.\p{L}[\p{L}\p{N}_-]*/gu;
/** An address without its `0x`. */
const BARE = /(?<![0-9a-zA-Z])[0-9a-fA-F]{40}(?![0-9a-zA-Z])/g;
const LINK = /\bhttps?:\/\/\S+/gi;

/**
 * A link of an explorer or of a registry of names, as the wallet that it leads to: the last one after the host.
 * @param {string} link
 */
function target(link) {
  const parts = link
    .split("/")
    .slice(3)
    .flatMap((part) => decoded(part).split(/[?#=&]/));
  return parts.flatMap((part) => part.match(SUBJECT) ?? []).at(-1) ?? "";
}

/**
 * The wallets anywhere in `text`, each once: `eth:0x…`, hex without `0x`, links and lists are understood.
 * @param {string} text
 */
export function subjects(text) {
  const plain = text.replace(LINK, (link) => ` ${target(link)} `).replace(BARE, "0x$&");
  const found = plain.match(SUBJECT) ?? [];
  const first = new Map(found.map((subject) => [subject.toLowerCase(), subject]));
  return [...first.values()];
}

/** @param {string} subject */
export const isName = (subject) => subject.includes(".");
