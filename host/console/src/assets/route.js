// Views by the part of the address after `#`, so that each can be linked: `#/look-up/0x…?page=2`.

import { useEffect, useState } from "./dom.js";

/**
 * `text` without its escapes, or as it is if they are no text.
 * @param {string} text
 */
export function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @param {string} hash */
function parse(hash) {
  const [path, query] = hash.replace(/^#\/?/, "").split("?");
  return { parts: path.split("/").filter(Boolean).map(decoded), query: new URLSearchParams(query ?? "") };
}

export function useRoute() {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const moved = () => setHash(location.hash);
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  return parse(hash);
}

/**
 * @param {(string | number)[]} parts
 * @param {Record<string, unknown>} [query]
 */
export function link(parts, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "" && value !== null);
  const tail = new URLSearchParams(/** @type {[string, string][]} */ (given)).toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${tail && `?${tail}`}`;
}

/**
 * @param {(string | number)[]} parts
 * @param {Record<string, unknown>} [query]
 */
export const go = (parts, query) => {
  location.hash = link(parts, query);
};
