// The key of this tab. Session storage holds it: another tab and a later visit have none.

import { createContext, useContext } from "./dom.js";

const KEY = "assay.key";
const RECENT = "assay.recent";

/**
 * @param {string} name
 * @returns {Recent[]}
 */
function list(name) {
  try {
    return JSON.parse(sessionStorage.getItem(name) ?? "[]");
  } catch {
    return [];
  }
}

export const session = {
  get key() {
    return sessionStorage.getItem(KEY);
  },
  /** @param {string} key */
  open(key) {
    sessionStorage.setItem(KEY, key);
  },
  close() {
    sessionStorage.removeItem(KEY);
    sessionStorage.removeItem(RECENT);
  },
  /** What was looked up in this tab, newest first. */
  get recent() {
    return list(RECENT);
  },
  /** @param {Recent} one */
  look(one) {
    const others = session.recent.filter(({ address }) => address !== one.address);
    sessionStorage.setItem(RECENT, JSON.stringify([one, ...others].slice(0, 12)));
  },
};

/** The key that is signed in: what `GET /api/v2/usage` says, and whether the server is a sandbox. */
export const Me = createContext(/** @type {Identified} */ (/** @type {unknown} */ (null)));

export const useMe = () => useContext(Me);
