// The score at moments of the last year, read from the chains when somebody asks for it.

import { html, useEffect, useState } from "../dom.js";
import { path, useAsk } from "../api.js";
import { useMe } from "../session.js";
import { Answer, Raw, Table, figures } from "../parts.js";
import { count, day, range, several, signed } from "../words.js";
import { Course } from "../charts/course.js";

/** Moments of a year, thirty days apart. */
const POINTS = 13;
/** Time between two questions while moments are being read, in milliseconds. */
const POLL = 2_000;

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
              Needs endpoints that keep old state, and costs ${several(me.costs.score * POINTS, "unit")}.
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

/** @param {{ body: Api.ScoreHistory; text: string }} props */
function Points({ body: { points, pending, model_version: version }, text }) {
  const scored = points.filter((point) => point.state === "scored");
  const known = points.length - points.filter((point) => point.state === "pending").length;
  /** @param {Api.ScorePoint} point */
  const row = (point) =>
    html`<tr>
      <th scope="row">${day(point.as_of)}</th>
      <td>${point.score === undefined ? point.state : `${point.score} ${range(point.range)}`}</td>
      <td class="figure">${point.change ? signed(point.change.score) : "–"}</td>
      <td>${point.reason ?? changes(point)}</td>
    </tr>`;
  return html`
    ${pending && html`<p aria-live="polite">${count(known)} of ${count(points.length)} moments are read.</p>`}
    ${scored.length > 1 && html`<${Course} points=${scored} />`}
    <${Table}
      caption=${`The score by credit ${version} every 30 days`}
      head=${["Moment", "Score", figures("Change"), "Which factors changed it"]}
      rows=${[...points].reverse().map(row)}
    />
    <${Raw} text=${text} name="The history as JSON" />
  `;
}

/** @param {Api.ScorePoint} point */
function changes({ change }) {
  if (!change) return "";
  const parts = change.factors.map(({ label, points }) => `${label} ${signed(points)}`);
  return [...parts, ...(change.rest === 0 ? [] : [`other ${signed(change.rest)}`])].join(", ") || "none";
}
