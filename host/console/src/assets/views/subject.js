// The answers about one wallet: the decision first, then what it rests on.

import { html, useEffect, useState } from "../dom.js";
import { path, useAsk } from "../api.js";
import { session, useMe } from "../session.js";
import { Problem, Raw, Waiting, announce } from "../parts.js";
import { isName } from "../wallets.js";
import { moment, range, several, short } from "../words.js";
import { Changes } from "./changes.js";
import { Decision } from "./decision.js";
import { Factors } from "./factors.js";
import { Further } from "./further.js";
import { History } from "./history.js";
import { Holdings } from "./holdings.js";

/** Milliseconds between two questions while a history is read for the first time, and how often to ask by itself. */
const [POLL, POLLS] = [4_000, 30];

const ALL = { include_factors: true, include_reasons: true, include_changes: true };

/** @param {{ score?: Api.Score; report?: Api.Report }} answers */
const isPending = ({ score, report }) =>
  [score?.credit_events_coverage, report?.credit_events.coverage].includes("pending");

/** @param {{ address: string }} props */
export function Subject({ address }) {
  const me = useMe();
  const score = useAsk(path(["score", "address", address], ALL));
  const report = useAsk(path(["report", "address", address]));
  const [scored, reported] = [score.answer?.body, report.answer?.body];
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
    const name = isName(address) ? address : undefined;
    session.look({ address: scored.address, name, score: scored.score, range: scored.range, at: scored.timestamp });
    document.title = `${name ?? short(scored.address)} ${scored.score} ${range(scored.range)} · Assay console`;
    announce(`Score ${scored.score}, ${range(scored.range)}${scored.provisional ? ", provisional" : ""}`);
  }, [scored]);
  // A wallet without activity has a report, and no score.
  const isUnscored = score.error?.status === 404 && reported;
  const error = report.error ?? (isUnscored ? undefined : score.error);
  if (error?.status === 404 && !error.code && isName(address)) {
    return html`<p class="note warn" role="alert"><b>${address} does not resolve.</b> No address is set for this name.</p>`;
  }
  if (error) return html`<${Problem} error=${error} again=${again} />`;
  if (!reported || !(scored || isUnscored)) return html`<${Waiting} what="score and report" />`;
  const units = me.costs.score + me.costs.report;
  return html`<section aria-label=${`Answers about ${address}`} aria-busy=${isBusy}>
    <p class="printed faint">
      Assay at ${location.host}, ${moment(new Date().toISOString())}. Chains read at ${moment(reported.timestamp)}.
    </p>
    <${Decision} asked=${address} score=${scored} report=${reported} boosted=${boosted} polls=${polls} />
    ${scored && html`<${Factors} score=${scored} /><${Changes} score=${scored} report=${reported} />`}
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
