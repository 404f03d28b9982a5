// One address or name: the decision first, then what it rests on.

import { html, useEffect, useState } from "../dom.js";
import { ask, path, useAsk } from "../api.js";
import { go, link } from "../route.js";
import { session, useMe } from "../session.js";
import { Problem, Raw, Title, Waiting, announce, values } from "../parts.js";
import { moment, range, several } from "../words.js";
import { Decision } from "./decision.js";
import { Factors } from "./factors.js";
import { History } from "./history.js";
import { Holdings } from "./holdings.js";
import { Further } from "./further.js";

const EXAMPLE = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045";
/** Milliseconds between two questions while a history is read for the first time, and how often to ask by itself. */
const [POLL, POLLS] = [4_000, 30];
/** The longest pause before the record of a score is asked for again, in milliseconds. */
const LONGEST = 10_000;

/**
 * A form for one address or name; `children` are further fields.
 * @param {{ address?: string; action: string; busy?: boolean; submit: (given: Values) => void; children?: Html }} props
 */
export function AddressForm({ address, action, busy, submit, children }) {
  return html`<form class="line" role="search" onSubmit=${(event) => submit(values(event))}>
    <label for="address">Ethereum address or ENS name</label>
    <input
      id="address"
      name="address"
      required
      spellcheck="false"
      autocomplete="off"
      placeholder=${EXAMPLE}
      defaultValue=${address}
      key=${address}
    />
    ${children}
    <button class="main" disabled=${busy}>${action}</button>
  </form>`;
}

/** @param {Place} props */
export function LookUp({ parts: [address] }) {
  /** @param {Values} given */
  const submit = ({ address }) => go(["look-up", address.trim()]);
  return html`
    <div class="ask">
      <${Title} text="Look up" />
      <${AddressForm} address=${address} action="Look up" submit=${submit} />
    </div>
    ${address ? html`<${Subject} key=${address} address=${address} />` : html`<${Recent} />`}
  `;
}

/** What there is to see before the first question. */
function Recent() {
  const recent = session.recent;
  return html`<section class="card">
    <h2>Looked up in this tab</h2>
    ${
      recent.length > 0
        ? html`<ul class="plain">
            ${recent.map(
              ({ address, score, range: name, at }) =>
                html`<li>
                  <a href=${link(["look-up", address])}><code>${address}</code></a> ${score}${" "}
                  ${range(name)} <span class="faint">${moment(at)}</span>
                </li>`,
            )}
          </ul>`
        : html`<p>
            Nothing yet. An address answers how much its owner owes, how near that is to liquidation, whether there ever
            was one, and how sure all of it is.
          </p>`
    }
    <p class="faint">
      <kbd>/</kbd> goes to the search. For a list of addresses, use <a href=${link(["several"])}>Several</a>.
    </p>
  </section>`;
}

/** @param {{ score?: Api.Score; report?: Api.Report }} answers */
const isPending = ({ score, report }) =>
  [score?.credit_events_coverage, report?.credit_events.coverage].includes("pending");

/** @param {{ address: string }} props */
function Subject({ address }) {
  const me = useMe();
  const score = useAsk(path(["score", "address", address], { include_factors: true, include_reasons: true }));
  const report = useAsk(path(["report", "address", address]));
  const [scored, reported] = [score.answer?.body, report.answer?.body];
  const origin = useOrigin(score.answer?.scoreId);
  const [boosted, setBoosted] = useState(/** @type {number | null} */ (null));
  const again = () => {
    score.again();
    report.again();
  };
  const isBusy = score.loading || report.loading;
  const pending = isPending({ score: scored, report: reported });
  const polls = usePolls(pending, isBusy, again);
  useEffect(() => {
    if (!scored) return;
    session.look({ address, score: scored.score, range: scored.range, at: scored.timestamp });
    announce(`Score ${scored.score}, ${range(scored.range)}${scored.provisional ? ", provisional" : ""}`);
  }, [scored]);
  // A wallet without activity has a report, and no score.
  const isUnscored = score.error?.status === 404 && reported;
  const error = report.error ?? (isUnscored ? undefined : score.error);
  if (error) return html`<${Problem} error=${error} again=${again} />`;
  if (!reported || !(scored || isUnscored)) return html`<${Waiting} what="score and report" />`;
  const units = me.costs.score + me.costs.report;
  return html`<section aria-label=${`Answers about ${address}`} aria-busy=${isBusy}>
    <${Decision}
      asked=${address}
      score=${scored}
      report=${reported}
      origin=${origin}
      boosted=${boosted}
      polls=${polls}
    />
    ${scored && html`<${Factors} factors=${origin?.factors ?? scored.factors} reasons=${scored.reasons} total=${scored.score} />`}
    <${History} report=${reported} />
    <${Holdings} report=${reported} />
    <${Further} address=${address} score=${scored} report=${reported} boost=${setBoosted}>
      ${scored && html`<${Raw} text=${score.answer?.text} name="Score as JSON" />`}
      <${Raw} text=${report.answer?.text} name="Report as JSON" />
      <button type="button" class="small" onClick=${again} disabled=${isBusy} title=${`Costs ${several(units, "unit")}`}>
        Ask again
      </button>
    </${Further}>
  </section>`;
}

/**
 * Asks again while the history is read for the first time. Returns whether it goes on by itself.
 * @param {boolean} pending
 * @param {boolean | undefined} isBusy
 * @param {() => void} again
 */
function usePolls(pending, isBusy, again) {
  const [left, setLeft] = useState(POLLS);
  const goes = pending && left > 0;
  useEffect(() => {
    if (!goes || isBusy) return undefined;
    const later = setTimeout(() => {
      setLeft(left - 1);
      again();
    }, POLL);
    return () => clearTimeout(later);
  }, [goes, isBusy, left]);
  return goes;
}

/**
 * Where the score came from: it has the points of each factor. The record may be written a moment after the answer.
 * @param {string | null | undefined} id
 */
function useOrigin(id) {
  const [origin, setOrigin] = useState(/** @type {Origin} */ (null));
  useEffect(() => {
    if (!id) return undefined;
    let wait = 300;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const stop = new AbortController();
    /** @returns {Promise<void>} */
    const look = () =>
      ask(path(["score", id]), { signal: stop.signal }).then(
        ({ body }) => setOrigin(body),
        (error) => {
          if (error.status !== 404 || wait > LONGEST) return;
          timer = setTimeout(look, wait);
          wait *= 2;
        },
      );
    look();
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [id]);
  return origin;
}
