// Changes to the roles of models, each with a reason for the audit log.

import { html, useRef, useState } from "../dom.js";
import { ask, path, useAction } from "../api.js";
import { Dialog, Facts, Problem, announce, values } from "../parts.js";
import { Promotion } from "./promotion.js";

/** The request of a change: `RoleChange` has the paths with what they take, and all answer the same. */
const sent = /** @type {(path: string, options: object) => Promise<Answered<Api.Roles>>} */ (ask);

/**
 * What a dialog asks and sends, by the name of the change.
 * @type {Record<string, RoleChange>}
 */
const CHANGES = {
  promote: {
    title: ({ kind, version }) => `Make ${kind} ${version} the champion`,
    says: "It answers every request from then on. The bounds of [promotion] apply to what the shadow has seen of it.",
    action: "Promote",
    forcible: true,
    send: ({ kind, version }, { why, force }) => ["PUT", [kind, "champion"], { version, why, force }],
  },
  rollback: {
    title: ({ kind, version }) => `Roll ${kind} back to ${version}`,
    says: "The previous champion answers again. No bound prevents a rollback.",
    action: "Roll back",
    send: ({ kind }, { why }) => ["POST", [kind, "rollback"], { why }],
  },
  challengers: {
    title: ({ kind, version, add }) =>
      add ? `Let ${kind} ${version} challenge the champion` : `End the challenge of ${kind} ${version}`,
    says: "A challenger scores in the shadow what the champion scores, and never changes an answer.",
    action: "Set the challengers",
    send: ({ kind, versions = [] }, { why }) => ["PUT", [kind, "challengers"], { versions, why }],
  },
  remove: {
    title: ({ kind, version }) => `Take ${kind} ${version} off the shelf`,
    says: "Its file is deleted. Calls in progress finish.",
    action: "Remove",
    silent: true,
    send: ({ kind, version }) => ["DELETE", [kind, version]],
  },
};

/**
 * Asks for the reason and makes the change. The server's refusal stays in the dialog, where it can be forced.
 * @param {{ change: string; model: Changing; changed: () => void; close: (isChanged?: boolean) => void }} props
 */
export function Change({ change, model, changed, close }) {
  const { title, says, action, forcible, silent } = CHANGES[change];
  const { busy, error, start } = useAction();
  const [roles, setRoles] = useState(/** @type {(Api.Roles & { of: string }) | null} */ (null));
  const finished = useRef(false);
  /**
   * @param {string} of
   * @param {Changing} model
   * @param {{ why?: string; force?: boolean }} given
   */
  const make = (of, model, given) =>
    start(async () => {
      const [method, parts, json] = CHANGES[of].send(model, given);
      const { body } = await sent(path(["admin", "models", ...parts]), { method, json });
      announce(`Done: ${CHANGES[of].title(model)}`);
      finished.current = true;
      changed();
      if (of === "promote" || of === "rollback") setRoles({ ...body, of });
      else close(true);
    });
  /** @param {Happening} event */
  const submit = (event) => {
    const { why, force } = values(event);
    make(change, model, { why: why?.trim() || undefined, force: force === "on" || undefined });
  };
  const end = () => close(finished.current);
  const previous = roles?.of === "promote" ? roles.previous : null;
  const why = `undoes the promotion of ${model.version}`;
  const undo = previous ? () => make("rollback", { ...model, version: previous }, { why }) : null;
  return html`<${Dialog} title=${title(model)} close=${end} finished=${finished}>
    ${error && html`<${Problem} error=${error} />`}
    ${
      roles
        ? html`<${Done} roles=${roles} busy=${busy} undo=${undo} close=${end} />`
        : html`<p>${says}</p>
            ${change === "promote" && html`<${Promotion} model=${model} />`}
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
                <button type="button" onClick=${end}>Cancel</button>
              </div>
            </form>`
    }
  </${Dialog}>`;
}

/**
 * What happened, and a way back where there is one.
 * @param {{ roles: Api.Roles; busy?: boolean; undo: (() => void) | null; close: () => void }} props
 */
function Done({ roles: { kind, champion, challengers, previous }, busy, undo, close }) {
  return html`<p class="note good" role="status">${kind} ${champion} is the champion: it answers every request now.</p>
    <${Facts}
      of=${[
        ["Champion", champion],
        ["Challengers", challengers.join(", ") || "none"],
        ["A rollback would bring back", previous ?? "nothing"],
      ]}
    />
    <div class="buttons">
      <button type="button" class="main" onClick=${close}>Close</button>
      ${undo && html`<button type="button" disabled=${busy} onClick=${undo}>Undo: ${previous} answers again</button>`}
    </div>`;
}
