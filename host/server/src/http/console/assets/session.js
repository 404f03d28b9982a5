// The key of this tab. Session storage holds it: another tab and a later visit have none.

import { createContext, useContext } from "./dom.js";

const KEY = "assay.key";
const SUBMISSIONS = "assay.submissions";

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
  },
  /** The submissions that this tab made, newest first: the API has no list of them. */
  get submissions() {
    try {
      return JSON.parse(sessionStorage.getItem(SUBMISSIONS)) ?? [];
    } catch {
      return [];
    }
  },
  remember(submission) {
    sessionStorage.setItem(SUBMISSIONS, JSON.stringify([submission, ...session.submissions].slice(0, 50)));
  },
};

/** The key that is signed in: what `GET /api/v2/usage` says, and whether the server is a sandbox. */
export const Me = createContext(null);

export const useMe = () => useContext(Me);
