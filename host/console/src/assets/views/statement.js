// A signed statement of the score: sign it, save it with its evidence, and how to verify both.

import { html } from "../dom.js";
import { ask, path, send, useAction } from "../api.js";
import { useMe } from "../session.js";
import { Facts, Problem, announce, save } from "../parts.js";
import { moment, several } from "../words.js";

/** What is signed, as far as the page shows it. */
/** @typedef {{ message: { time: number; expirationTime: number; recipient: string } }} Signed */

/** @param {{ address: string; version: string }} props */
export function Statement({ address, version }) {
  const me = useMe();
  /** @type {Action<{ statement: Answered<Api.Statement>; evidence: string }>} */
  const { done, busy, error, start } = useAction();
  const sign = () =>
    start(async () => {
      const asked = path(["score", "address", address, "attestation"], { model_version: version });
      const statement = await ask(asked, { method: "POST" });
      const evidence = await send(path(["score", statement.body.score_id, "evidence"], { include_reasons: true }));
      announce("The statement is signed");
      return { statement, evidence: await evidence.text() };
    });
  return html`<details id="statement">
    <summary>Signed statement</summary>
    <p>
      The server signs this score with the digests of the model, the features and the blocks, so that anybody can
      recompute it. <span class="faint">Costs ${several(me.costs.score, "unit")}.</span>
    </p>
    ${error && html`<${Problem} error=${error} />`}
    ${
      done
        ? html`<${Made} statement=${done.statement} evidence=${done.evidence} />`
        : html`<button type="button" id="sign" disabled=${busy} onClick=${sign}>${busy ? "Signing …" : "Sign it"}</button>`
    }
  </details>`;
}

/** @param {{ statement: Answered<Api.Statement>; evidence: string }} props */
function Made({ statement: { body, text }, evidence }) {
  const { message } = /** @type {Signed} */ (/** @type {unknown} */ (body.sig));
  /** @param {number} seconds */
  const at = (seconds) => moment(new Date(seconds * 1000).toISOString());
  return html`<${Facts}
      of=${[
        ["Signed by", html`<code>${body.signer}</code>`],
        ["Of", html`<code>${message.recipient}</code>`],
        ["Holds", `${at(message.time)} to ${at(message.expirationTime)}`],
      ]}
    />
    <div class="buttons">
      <button type="button" onClick=${() => save("statement.json", "application/json", text)}>Save statement.json</button>
      <button type="button" onClick=${() => save("evidence.json", "application/json", evidence)}>Save evidence.json</button>
    </div>
    <p>Verify both on any machine, without this server:</p>
    <pre tabindex="0">assay verify statement.json --evidence evidence.json --signer ${body.signer}</pre>`;
}
