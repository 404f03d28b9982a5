// The key of this tab. Session storage holds it: another tab and a later visit have none.

import { createContext, useContext } from "./dom.js";

const KEY = "assay.key";
const SUBMISSIONS = "assay.submissions";
const RECENT = "assay.recent";

function list(name) {
  try {
    return JSON.parse(sessionStorage.getItem(name)) ?? [];
  } catch {
    return [];
  }
}

export const session = {
  get key() {
    return sessionStorage.getItem(KEY);
  },
  open(key) {
    sessionStorage.setItem(KEY, key);
  },
  close() {
    sessionStorage.removeItem(KEY);
    sessionStorage.removeItem(SUBMISSIONS);
    sessionStorage.removeItem(RECENT);
  },
  /** The submissions that this tab made, newest first: the API has no list of them. */
  get submissions() {
    return list(SUBMISSIONS);
  },
  /** What was looked up in this tab, newest first. */
  get recent() {
    return list(RECENT);
  },
  look(one) {
    const others = session.recent.filter(({ address }) => address !== one.address);
    sessionStorage.setItem(RECENT, JSON.stringify([one, ...others].slice(0, 12)));
  },
  remember(submission) {
    sessionStorage.setItem(SUBMISSIONS, JSON.stringify([submission, ...session.submissions].slice(0, 50)));
  },
};

/** The key that is signed in: what `GET /api/v2/usage` says, and whether the server is a sandbox. */
export const Me = createContext(null);

export const useMe = () => useContext(Me);
