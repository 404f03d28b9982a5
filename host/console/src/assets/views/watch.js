// One watch: its last values, its deliveries and its events.

import { html, useEffect } from "../dom.js";
import { ask, path, useAction, useAsk } from "../api.js";
import { go, link } from "../route.js";
import { Answer, Facts, Mark, Problem, Raw, Table, Time, Title, Waiting, announce, figures, values } from "../parts.js";
import { Trend } from "../charts/trend.js";
import { isName } from "../wallets.js";
import { count, short, several, span } from "../words.js";
import { MEASURES, known, place, says, shown } from "./trigger.js";
import { TONES } from "./watches.js";

/** Milliseconds between two questions. */
const POLL = 10_000;

/** @typedef {{ seq: number; measure?: Api.WatchMeasure; market?: string; before?: At; after?: At; final?: boolean }} Told */
/** @typedef {{ value: unknown; at: string }} At */

/** @param {Api.WatchEvent} event */
const told = ({ data }) => /** @type {Told} */ (/** @type {unknown} */ (data));

/** @param {{ id: string }} props */
export function Watch({ id }) {
  const asked = useAsk(path(["watches", id]));
  const events = useAsk(path(["watches", id, "events"]));
  const again = () => {
    asked.again();
    events.again();
  };
  const { answer, error, loading } = asked;
  useEffect(() => {
    if (loading || error) return undefined;
    const later = setTimeout(again, POLL);
    return () => clearTimeout(later);
  }, [loading, error, answer]);
  /** @param {Shown<typeof events>} answer */
  const show = ({ body }) => html`<${Events} events=${body.events} />`;
  return html`
    <p><a href=${link(["watches"])}>All watches</a></p>
    <${Title} text=${answer ? `Watch of ${isName(answer.body.subject) ? answer.body.subject : short(answer.body.subject)}` : "Watch"} />
    ${error && html`<${Problem} error=${error} again=${again} />`}
    ${!answer && !error && html`<${Waiting} what="the watch" />`}
    ${
      answer &&
      html`<${State} watch=${answer.body} events=${events.answer?.body.events ?? []} changed=${again} />
        ${answer.body.delivery && html`<${Delivery} delivery=${answer.body.delivery} />`}
        <${Answer} asked=${events} what="its events" show=${show} />
        <${Raw} text=${answer.text} name="The watch as JSON" />`
    }
  `;
}

/** @param {{ watch: Api.Watch; events: Api.WatchEvent[]; changed: () => void }} props */
function State({ watch, events, changed }) {
  const { state, reason, when, every_s: every, until, evaluated_at: at, next_check_at: next, subject } = watch;
  const rows = when.flatMap((trigger) => {
    const values = known(trigger);
    return values.length > 0
      ? alike(trigger, values).map((values) => html`<${Value} trigger=${trigger} values=${values} events=${events} />`)
      : [
          html`<tr><th scope="row">${says(trigger)}</th><td colspan="4" class="faint">${trigger.unread.join("; ") || "no value yet"}</td></tr>`,
        ];
  });
  return html`<section class="card">
    <${Facts}
      of=${[
        ["Wallet", html`<a href=${link(["look-up", subject])}><code>${subject}</code></a>`],
        ["State", html`<${Mark} kind=${TONES[state]}>${state}</${Mark}> ${reason && html`<small>${reason}</small>`}`],
        ["Evaluated", html`<${Time} at=${at} /> <span class="faint">every ${span(every)}</span>`],
        next && ["Next", html`<${Time} at=${next} />`],
        ["Ends", html`<${Time} at=${until} />`],
      ]}
    />
    <div class="stacked">
      <${Table} quiet caption="Last values" head=${["Follows", "In", figures("Last value"), "At", "Course"]} rows=${rows} />
    </div>
    <${Actions} watch=${watch} changed=${changed} />
  </section>`;
}

/**
 * Markets with the same value have one row.
 * @param {Api.WatchTrigger} trigger
 * @param {Api.WatchValue[]} values
 */
const alike = ({ measure }, values) => {
  /** @param {Api.WatchValue} value */
  const key = ({ value, fired, market }) => (fired ? market : shown(measure, value));
  return [...Map.groupBy(values, key).values()];
};

/** @param {{ trigger: Api.WatchTrigger; values: Api.WatchValue[]; events: Api.WatchEvent[] }} props */
function Value({ trigger, values, events }) {
  const { measure, bound, stale } = trigger;
  const [{ market, value, fired, at }, ...others] = values;
  const of = events
    .map(told)
    .filter((event) => event.measure === measure && (event.market ?? null) === (market ?? null));
  const past = of.flatMap(({ before, after }) => [before, after]);
  const points = [...past, { value, at }].flatMap((one) =>
    one && typeof one.value === "number" ? [{ at: one.at, value: one.value }] : [],
  );
  return html`<tr>
    <th scope="row">${says(trigger)}</th>
    <td data-label="In">${others.length > 0 ? several(values.length, "market") : place(market)}</td>
    <td data-label="Last value" class="figure">
      ${fired ? html`<${Mark} kind="bad">${shown(measure, value)}</${Mark}>` : shown(measure, value)}
      ${stale && html` <${Mark} kind="warn">stale</${Mark}>`}
    </td>
    <td data-label="At"><${Time} at=${at} /></td>
    <td>
      <${Trend}
        points=${points}
        bound=${typeof bound === "number" ? bound : undefined}
        text=${`Course of the ${MEASURES[measure]}: ${points.map((point) => shown(measure, point.value)).join(", ")}`}
      />
    </td>
  </tr>`;
}

/** @param {{ watch: Api.Watch; changed: () => void }} props */
function Actions({ watch: { id, state, delivery, last_event: last }, changed }) {
  const { busy, error, start } = useAction();
  /**
   * @param {string} says
   * @param {() => Promise<unknown>} work
   */
  const act = (says, work) =>
    start(async () => {
      await work();
      announce(says);
      changed();
    });
  const isPaused = state === "paused";
  const isStopped = delivery?.state === "stopped";
  /** @param {boolean} paused */
  const pause = (paused) =>
    act(paused ? "Paused" : "Resumed", () => ask(path(["watches", id]), { method: "PATCH", json: { paused } }));
  const test = () => act("The test event is added", () => ask(path(["watches", id, "test"]), { method: "POST" }));
  /** @param {Happening} event */
  const replay = (event) => {
    const { from, to } = values(event);
    const json = { from: Number(from), to: to ? Number(to) : undefined };
    act("The events are delivered once more", () => ask(path(["watches", id, "replay"]), { method: "POST", json }));
  };
  const remove = () =>
    start(async () => {
      await ask(path(["watches", id]), { method: "DELETE" });
      go(["watches"]);
    });
  return html`
    ${error && html`<${Problem} error=${error} />`}
    <div class="buttons">
      ${
        state !== "ended" &&
        html`<button type="button" disabled=${busy} onClick=${() => pause(!(isPaused || isStopped))}>
          ${isPaused || isStopped ? "Resume" : "Pause"}
        </button>`
      }
      <button type="button" disabled=${busy} onClick=${test}>Test</button>
      ${
        delivery &&
        last > 0 &&
        html`<form class="line replay" onSubmit=${replay}>
          <label for="from">Replay from</label>
          <input id="from" name="from" type="number" min="1" max=${last} required defaultValue="1" />
          <label for="to">to</label>
          <input id="to" name="to" type="number" min="1" max=${last} defaultValue=${last} />
          <button disabled=${busy}>Replay</button>
        </form>`
      }
      <button type="button" disabled=${busy} onClick=${remove}>Remove</button>
    </div>
  `;
}

/** @param {{ delivery: Api.WatchDelivery }} props */
function Delivery({ delivery }) {
  const { url, state, delivered_through: through, attempts, next_attempt_at: next, latest } = delivery;
  /** @param {Api.WatchDeliveryAttempt} attempt */
  const row = ({ at, event, outcome, delivered, took_ms: took }) => html`<tr>
    <th scope="row"><${Time} at=${at} /></th>
    <td data-label="Event">${event ?? "confirmation"}</td>
    <td data-label="Answer"><${Mark} kind=${delivered ? "good" : "bad"}>${outcome}</${Mark}></td>
    <td data-label="Took" class="figure">${count(took)} ms</td>
  </tr>`;
  return html`<section class="card">
    <h2>Delivery <${Mark} kind=${TONES[state]}>${state}</${Mark}></h2>
    <${Facts}
      of=${[
        ["To", html`<code>${url}</code>`],
        ["Delivered through event", count(through)],
        attempts > 0 && ["Attempts for the next one", count(attempts)],
        next && ["Next attempt", html`<${Time} at=${next} />`],
      ]}
    />
    ${
      latest.length > 0 &&
      html`<div class="stacked">
        <${Table} caption="Latest deliveries" head=${["Time", "Event", "Answer", figures("Took")]} rows=${[...latest].reverse().map(row)} />
      </div>`
    }
  </section>`;
}

/** @param {{ events: Api.WatchEvent[] }} props */
function Events({ events }) {
  /** @param {Api.WatchEvent} event */
  const row = (event) => {
    const { seq, measure, market, before, after, final } = told(event);
    /** @param {At | undefined} one */
    const value = (one) => (one && measure ? shown(measure, one.value) : "");
    return html`<tr>
      <th scope="row">${seq}</th>
      <td data-label="Time"><${Time} at=${event.timestamp} /></td>
      <td data-label="Event">${event.type.replace("watch.", "").replace("_", " ")}</td>
      <td data-label="Figure">${[measure && MEASURES[measure], place(market)].filter(Boolean).join(", ")}</td>
      <td data-label="Before" class="figure">${value(before)}</td>
      <td data-label="After" class="figure">${value(after)}</td>
      <td>${final === false && html`<span class="faint">not final</span>`}</td>
    </tr>`;
  };
  const head = ["No.", "Time", "Event", "Figure", figures("Before"), figures("After"), "Block"];
  return html`<section class="card">
    <h2>Events</h2>
    ${
      events.length > 0
        ? html`<div class="stacked"><${Table} quiet caption="Events" head=${head} rows=${[...events].reverse().map(row)} /></div>`
        : html`<p>None yet.</p>`
    }
  </section>`;
}
