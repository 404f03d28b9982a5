// The state of a submission as it changes: from the event stream, or by asking again where that is not to be had.

import { useEffect, useState } from "./dom.js";
import { Refusal, path, send } from "./api.js";

/** Milliseconds between two questions, as the API advises. */
const POLL = 5000;

/** @type {Api.SubmissionStatus[]} */
export const ENDED = ["confirmed", "failed"];

/**
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
const pause = (signal) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, POLL);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });

/**
 * The `data` of each event of `response`, as JSON.
 * @param {Response} response
 * @returns {AsyncGenerator<Api.SubmissionState>}
 */
async function* events(response) {
  const reader = /** @type {ReadableStream} */ (response.body).pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const data = block
        .split("\n")
        .filter((line) => line.startsWith("data:"))
        .map((line) => line.slice(5));
      if (data.length > 0) yield JSON.parse(data.join("\n"));
    }
  }
}

/**
 * Gives every state to `show`, until it is final.
 * @param {string} agent
 * @param {string} id
 * @param {AbortSignal} signal
 * @param {(state: Api.SubmissionState) => void} show
 */
async function follow(agent, id, signal, show) {
  const url = path(["agents", agent, "reputation", "status", id]);
  /** @type {Api.SubmissionState | undefined} */
  let last;
  /** @param {Api.SubmissionState} state */
  const see = (state) => {
    last = state;
    show(state);
  };
  while (!signal.aborted) {
    try {
      const response = await send(url, { signal, headers: { accept: "text/event-stream" } });
      if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
        for await (const state of events(response)) see(state);
      } else {
        see(await response.json());
      }
    } catch (error) {
      // Before the first state nothing is known; afterwards the submission goes on, whatever became of the connection.
      if (!last || (error instanceof Refusal && [401, 403, 404].includes(error.status))) throw error;
    }
    if (last && ENDED.includes(last.status)) return;
    await pause(signal);
  }
}

/**
 * @param {string} agent
 * @param {string} id
 */
export function useSubmission(agent, id) {
  const [state, setState] = useState(/** @type {{ submission?: Api.SubmissionState; error?: Refusal }} */ ({}));
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    setState({});
    follow(agent, id, stop.signal, (submission) => stop.signal.aborted || setState({ submission })).catch(
      (error) => stop.signal.aborted || setState({ error }),
    );
    return () => stop.abort();
  }, [agent, id, turn]);
  return { ...state, again: () => setTurn((turn) => turn + 1) };
}
