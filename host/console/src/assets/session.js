// The key of this session. Session storage holds it in each tab, and tabs tell it to each other: a new tab asks those
// that are open. Nothing stays after the last tab is closed.

import { createContext, useContext } from "./dom.js";

const KEY = "assay.key";
const RECENT = "assay.recent";
/** How long a new tab waits for another one, in milliseconds. */
const PATIENCE = 150;

/** @typedef {{ asks: true } | { key: string } | { closed: true }} Message */

const tabs = new BroadcastChannel("assay");

/** @type {(() => void) | null} */
let closed = null;

tabs.addEventListener("message", (/** @type {MessageEvent<Message>} */ { data }) => {
  const { key } = session;
  if ("asks" in data && key !== null) tabs.postMessage({ key });
  if ("closed" in data && key !== null) {
    forget();
    closed?.();
  }
});

function forget() {
  sessionStorage.removeItem(KEY);
  sessionStorage.removeItem(RECENT);
}

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
  /** Signs out in every tab. */
  close() {
    forget();
    tabs.postMessage({ closed: true });
  },
  /**
   * Calls `leave` if another tab signs out.
   * @param {() => void} leave
   */
  whenClosed(leave) {
    closed = leave;
  },
  /**
   * The key of another tab, if one is open and signed in.
   * @returns {Promise<string | null>}
   */
  ofOthers() {
    return new Promise((resolve) => {
      const later = setTimeout(() => end(null), PATIENCE);
      /** @param {MessageEvent<Message>} event */
      const hear = ({ data }) => "key" in data && end(data.key);
      /** @param {string | null} key */
      const end = (key) => {
        clearTimeout(later);
        tabs.removeEventListener("message", hear);
        resolve(key);
      };
      tabs.addEventListener("message", hear);
      tabs.postMessage({ asks: true });
    });
  },
  /** The wallets that were looked up in this tab, newest first. */
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
