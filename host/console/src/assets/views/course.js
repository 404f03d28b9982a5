// The score at moments of the last year, read from the chains when somebody asks for it.

import { html, useEffect, useState } from "../dom.js";
import { path, useAsk } from "../api.js";
import { useMe } from "../session.js";
import { Answer, Raw, Table, figures } from "../parts.js";
import { NOT_KNOWN, count, day, number, range, several, signed } from "../words.js";
import { Course } from "../charts/course.js";

/** Moments of a year, thirty days apart. */
const POINTS = 13;
/** Time between two questions while moments are being read, in milliseconds. */
const POLL = 2_000;

/** @type {Record<string, string>} */
const STATES = {
  pending: "being read",
  unread: "could not be read",
  inactive: "no activity until then",
  not_scored: "not scored by this model",
};

/** @param {{ address: string }} props */
export function ScoreCourse({ address }) {
  const me = useMe();
  const [isAsked, setAsked] = useState(false);
  return html`<div>
    ${
      isAsked
        ? html`<${Read} address=${address} />`
        : html`<p>
            <button type="button" id="course" onClick=${() => setAsked(true)}>Read the last year</button>${" "}
            <span class="faint">
              Needs endpoints that keep old state, and costs at most ${several(me.costs.score * POINTS, "unit")}.
            </span>
          </p>`
    }
  </div>`;
}

/** @param {{ address: string }} props */
function Read({ address }) {
  const asked = useAsk(path(["score", "address", address, "history"]));
  const pending = asked.answer?.body.pending ?? false;
  useEffect(() => {
    if (!pending || asked.loading) return undefined;
    const later = setTimeout(asked.again, POLL);
    return () => clearTimeout(later);
  }, [pending, asked.loading, asked.answer]);
  /** @param {Shown<typeof asked>} answer */
  const show = ({ body, text }) => html`<${Points} body=${body} text=${text} />`;
  return html`<${Answer} asked=${asked} what="the history" show=${show} />`;
}

const HEAD = ["Moment", figures("Score"), "Range", figures("Health factor"), figures("Change"), "What changed it"];

/** @param {{ body: Api.ScoreHistory; text: string }} props */
function Points({ body: { points, pending, model_version: version }, text }) {
  const known = points.filter((point) => point.state !== "pending").length;
  return html`
    ${pending && html`<p aria-live="polite">${count(known)} of ${count(points.length)} moments are read.</p>`}
    ${points.some((point) => point.score !== undefined) && html`<${Course} points=${points} />`}
    <div class="narrow-rows moments">
      <${Table} caption=${`The score by credit ${version} every 30 days`} head=${HEAD} rows=${[...points].reverse().map(row)} />
    </div>
    <${Raw} text=${text} name="The history as JSON" />
  `;
}

/** @param {Api.ScorePoint} point */
const row = (point) =>
  html`<tr>
    <th scope="row"><time datetime=${point.as_of}>${day(point.as_of)}</time></th>
    <td class="figure">${point.score === undefined ? NOT_KNOWN : point.score}</td>
    <td>${point.score === undefined ? (STATES[point.state] ?? point.state) : range(point.range)}</td>
    <td class="figure">${point.health_factor === undefined ? "" : number(point.health_factor)}</td>
    <td class="figure">${point.change ? signed(point.change.score) : ""}</td>
    <td>${point.reason ?? changes(point)}</td>
  </tr>`;

/** @param {Api.ScorePoint} point */
function changes({ change }) {
  if (!change) return "";
  const parts = change.factors.map(({ label, points }) => `${label} ${signed(points)}`);
  return [...parts, ...(change.rest === 0 ? [] : [`other ${signed(change.rest)}`])].join(", ") || "nothing";
}
