// Addresses and names of wallets, in whatever people paste.

import { decoded } from "./route.js";

/** Where a wallet can be, found in one pass over any text. With `@`, because the end of a mail address is no wallet. */
const RUN = /[\p{L}\p{N}_.@-]+/gu;
const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
/** A name with a dot whose end begins with a letter: a number with a dot is no name. */
const NAME = /^[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)*\.\p{L}[\p{L}\p{N}_-]*$/u;
/** What is meant to be an address or a name, if it is neither: too few digits, or a mail address. */
const MEANT = /^0x[\p{L}\p{N}]{6,}$|.@./u;
/** An address without its `0x`. */
const BARE = /(?<![0-9a-zA-Z])[0-9a-fA-F]{40}(?![0-9a-zA-Z])/g;
const LINK = /\bhttps?:\/\/\S+/gi;

/**
 * The runs of `text`, without dots and hyphens around them.
 * @param {string} text
 */
const runs = (text) => (text.match(RUN) ?? []).map((run) => run.replace(/^[.-]+/, "").replace(/(?<![.-])[.-]+$/, ""));

/** @param {string} run */
const isSubject = (run) => ADDRESS.test(run) || NAME.test(run);

/**
 * A link of an explorer or of a registry of names, as the wallet that it leads to: the last one after the host.
 * @param {string} link
 */
function target(link) {
  const parts = link
    .split("/")
    .slice(3)
    .flatMap((part) => decoded(part).split(/[?#=&]/));
  return parts.flatMap((part) => runs(part).filter(isSubject)).at(-1) ?? "";
}

/**
 * The wallets anywhere in `text`, each once, and what is meant to be one and is none: `eth:0x…`, hex without `0x`, links
 * and lists are understood.
 * @param {string} text
 */
export function read(text) {
  const plain = text.replace(LINK, (link) => ` ${target(link)} `).replace(BARE, "0x$&");
  const found = runs(plain);
  const first = new Map(found.filter(isSubject).map((subject) => [subject.toLowerCase(), subject]));
  return { subjects: [...first.values()], wrong: found.filter((run) => MEANT.test(run) && !isSubject(run)) };
}

/** @param {string} text */
export const subjects = (text) => read(text).subjects;

/** @param {string} subject */
export const isName = (subject) => subject.includes(".");
