// Changes to the roles of models, each with a reason for the audit log.

import { html, useRef } from "../dom.js";
import { ask, path, useAction, useAsk } from "../api.js";
import { Answer, Dialog, Facts, Mark, Problem, announce, values } from "../parts.js";
import { count, number, percent, several, signed } from "../words.js";

/** What a dialog asks and sends, by the name of the change. `model` has a kind and a version. */
const CHANGES = {
  promote: {
    title: ({ kind, version }) => `Make ${kind} ${version} the champion`,
    says: "It answers every request from then on. The bounds of [promotion] apply to what the shadow has seen of it.",
    action: "Promote",
    forcible: true,
    send: ({ kind, version }, { why, force }) => ["PUT", [kind, "champion"], { version, why, force }],
  },
  rollback: {
    title: ({ kind }) => `Roll ${kind} back`,
    says: "The previous champion answers again. No bound prevents a rollback.",
    action: "Roll back",
    send: ({ kind }, { why }) => ["POST", [kind, "rollback"], { why }],
  },
  challengers: {
    title: ({ kind, version, add }) =>
      add ? `Let ${kind} ${version} challenge the champion` : `End the challenge of ${kind} ${version}`,
    says: "A challenger scores in the shadow what the champion scores, and never changes an answer.",
    action: "Set the challengers",
    send: ({ kind, versions }, { why }) => ["PUT", [kind, "challengers"], { versions, why }],
  },
  remove: {
    title: ({ kind, version }) => `Take ${kind} ${version} off the shelf`,
    says: "Its file is deleted. Calls in progress finish.",
    action: "Remove",
    silent: true,
    send: ({ kind, version }) => ["DELETE", [kind, version]],
  },
};

const bands = { "no significant change": "good", "requires investigation": "warn", "significant change": "bad" };

/** What the shadow has seen of a candidate, beside the champion. */
function Shadow({ version }) {
  const asked = useAsk(path(["models", "credit", "report"]));
  const show = ({ body: { pairs, window_hours: hours } }) => {
    const pair = pairs.find(({ challenger }) => challenger.version === version);
    if (!pair) {
      return html`<p class="note warn">
        The shadow has seen nothing of ${version} in ${several(hours, "hour")}. Make it a challenger first.
      </p>`;
    }
    const band = pair.psi_band;
    return html`<${Facts}
      of=${[
        ["Candidate", pair.challenger.version],
        ["Champion", pair.champion.version],
        ["Wallets compared", `${count(pair.scored)} in ${several(hours, "hour")}`],
        ["Failed calls", count(pair.failed)],
        ["PSI", html`${number(pair.psi)} ${band && html`<${Mark} kind=${bands[band]}>${band}</${Mark}>`}`],
        ["Move to another range", percent(1 - pair.same_range)],
        ["Mean difference", signed(pair.difference.mean)],
      ]}
    />`;
  };
  return html`<${Answer} asked=${asked} what="the evidence" show=${show} />`;
}

/** Asks for the reason and makes the change. The server's refusal stays in the dialog, where it can be forced. */
export function Change({ change, model, close, done }) {
  const { title, says, action, forcible, silent, send } = CHANGES[change];
  const { busy, error, start } = useAction();
  const finished = useRef(false);
  const submit = (event) => {
    const { why, force } = values(event);
    const reason = why?.trim() || undefined;
    start(async () => {
      const [method, parts, json] = send(model, { why: reason, force: force === "on" || undefined });
      await ask(path(["admin", "models", ...parts]), { method, json });
      announce(`Done: ${title(model)}`);
      finished.current = true;
      done();
      close();
    });
  };
  return html`<${Dialog} title=${title(model)} close=${close} finished=${finished}>
    <p>${says}</p>
    ${change === "promote" && model.kind === "credit" && html`<${Shadow} version=${model.version} />`}
    ${error && html`<${Problem} error=${error} />`}
    <form class="stack" onSubmit=${submit}>
      ${!silent && html`<label for="why">Reason, for the audit log</label>`}
      ${!silent && html`<textarea id="why" name="why" rows="2" maxlength="1000"></textarea>`}
      ${
        forcible &&
        html`<label class="choice">
          <input type="checkbox" name="force" /> Force it: ignore the bounds. This needs a reason.
        </label>`
      }
      <div class="buttons">
        <button class="main" disabled=${busy}>${busy ? "Waiting …" : action}</button>
        <button type="button" onClick=${close}>Cancel</button>
      </div>
    </form>
  </${Dialog}>`;
}
