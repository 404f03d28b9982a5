// Requests to the public API with the key of this tab.

import { useEffect, useState } from "./dom.js";
import { session } from "./session.js";

/** An answer that is no success, in the server's words. */
export class Refusal extends Error {
  /**
   * @param {number} status
   * @param {string} message
   * @param {{ code?: string; wait?: string | null; id?: string | null }} [about]
   */
  constructor(status, message, { code, wait, id } = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.wait = wait;
    this.id = id;
  }
}

export const UNREACHABLE = "The server cannot be reached. It may be stopped, or the network is down; try again.";

const UNREADABLE =
  "The answer is cut short, or no JSON. Something between this page and the server may have changed it; try again.";

/**
 * @param {number} status
 * @param {RefusalBody | null} body
 */
function words(status, body) {
  const { detail, error } = body ?? {};
  if (Array.isArray(detail)) return detail.map(({ loc, msg }) => `${loc.join(" ")}: ${msg}`).join("; ");
  return detail ?? error ?? `The server answered ${status} without a message.`;
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** @param {Response} response */
async function refusal(response) {
  /** @type {RefusalBody | null} */
  const body = parsed(await response.text());
  /** @param {string} name */
  const header = (name) => response.headers.get(name);
  const about = { code: body?.code, wait: header("retry-after"), id: header("x-request-id") };
  return new Refusal(response.status, words(response.status, body), about);
}

/**
 * Whether `error` is of a request that was stopped.
 * @param {unknown} error
 */
export const isAbort = (error) => error instanceof Error && error.name === "AbortError";

/**
 * The response of a success. `path` is below `/api/v2/`. Nothing is kept in the browser's cache.
 * @param {string} path
 * @param {Sending} [options]
 */
export async function send(path, { method = "GET", body, headers, signal, key = session.key } = {}) {
  const authorization = `Bearer ${key}`;
  let response;
  try {
    response = await fetch(`../api/v2/${path}`, {
      method,
      body,
      signal,
      cache: "no-store",
      headers: { accept: "application/json", authorization, ...headers },
    });
  } catch (error) {
    throw isAbort(error) || error instanceof Refusal ? error : new Refusal(0, UNREACHABLE);
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

/**
 * The JSON of a success, its text, and what its headers say.
 * @template {string} const P
 * @template {string} [M="GET"]
 * @param {P} path
 * @param {Omit<Sending, "method"> & { method?: M; json?: Given<P, M> }} [options]
 * @returns {Promise<Answered<BodyOf<P, M>>>}
 */
export async function ask(path, { json, ...options } = {}) {
  const given = json === undefined ? options : { ...options, body: JSON.stringify(json) };
  const response = await send(path, given);
  const text = await response.text().catch((error) => {
    throw isAbort(error) ? error : new Refusal(0, UNREACHABLE);
  });
  /** @param {string} name */
  const header = (name) => response.headers.get(name);
  const body = parsed(text);
  if (text && body === null) throw new Refusal(response.status, UNREADABLE, { id: header("x-request-id") });
  return {
    body,
    text,
    cost: Number(header("assay-units-cost") ?? 0),
    left: header("assay-units-left"),
    scoreId: header("assay-score-id"),
    sandbox: header("x-assay-sandbox") === "true",
  };
}

/**
 * Asks for `path` when it changes; null asks for nothing. `again` repeats the question.
 * @template {string} const P
 * @param {P | null} path
 * @returns {Asked<BodyOf<P>>}
 */
export function useAsk(path) {
  const [turn, setTurn] = useState(0);
  const [state, setState] = useState(/** @type {Omit<Asked<BodyOf<P>>, "again">} */ ({}));
  useEffect(() => {
    if (path === null) return undefined;
    const stop = new AbortController();
    setState((old) => ({ path, loading: true, answer: old.path === path ? old.answer : undefined }));
    ask(path, { signal: stop.signal }).then(
      (answer) => setState({ path, answer }),
      (error) => isAbort(error) || setState({ path, error }),
    );
    return () => stop.abort();
  }, [path, turn]);
  const now = state.path === path ? state : { loading: path !== null };
  return { ...now, again: () => setTurn((turn) => turn + 1) };
}

/**
 * Something a person starts by a button: `start(work)` runs it once at a time.
 * @template T
 * @returns {Action<T>}
 */
export function useAction() {
  const [state, setState] = useState(/** @type {Omit<Action<any>, "start">} */ ({}));
  /** @type {Action<T>["start"]} */
  const start = async (work) => {
    setState({ busy: true });
    try {
      const done = await work();
      setState({ done });
      return done;
    } catch (error) {
      setState({ error: /** @type {Refusal} */ (error) });
      return undefined;
    }
  };
  return { ...state, start };
}

/**
 * A path below `/api/v2/`: each part is encoded, and absent query values are left out.
 * @template {readonly (string | number)[]} const L
 * @param {L} parts
 * @param {Record<string, string | number | boolean | undefined>} [query]
 * @returns {PathOf<L>}
 */
export function path(parts, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const tail = given.map(([name, value]) => `${name}=${encodeURIComponent(/** @type {string} */ (value))}`).join("&");
  return /** @type {any} */ (parts.map(encodeURIComponent).join("/") + (tail && `?${tail}`));
}
