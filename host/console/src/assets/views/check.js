// What the server would say of a component, before it is on the shelf.

import { html, useState } from "../dom.js";
import { ask, useAction } from "../api.js";
import { Digest, Facts, Inputs, Mark, Problem, Raw, Table, announce, figures } from "../parts.js";
import { bytes, count } from "../words.js";

const COMPONENT = { "content-type": "application/wasm" };

export function Check() {
  const [file, setFile] = useState(/** @type {File | null} */ (null));
  const [over, setOver] = useState(false);
  /** @type {Action<Answered<Api.Check>>} */
  const checked = useAction();
  /** @type {Action<Api.ModelReference>} */
  const added = useAction();
  /** @param {File | null | undefined} file */
  const take = (file) => {
    if (!file) return;
    setFile(file);
    added.start(() => null);
    checked.start(async () => {
      const answer = await ask("admin/models/check", { method: "POST", body: file, headers: COMPONENT });
      const { ok, problems } = answer.body;
      announce(ok ? "The server would take it" : `${problems.length} problems`);
      return answer;
    });
  };
  /** @param {Happening} event */
  const drop = (event) => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer?.files[0]);
  };
  const add = () =>
    added.start(
      async () => (await ask("admin/models", { method: "POST", body: file ?? undefined, headers: COMPONENT })).body,
    );
  return html`
    <p>
      The server compiles the file, tries it out and measures its calls, as <code>assay model check</code> does. The
      shelf does not change.
    </p>
    <div
      class=${over ? "drop over" : "drop"}
      onDragOver=${(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave=${() => setOver(false)}
      onDrop=${drop}
    >
      <label for="file">Drop a <code>.wasm</code> file here, or choose one</label>
      <input id="file" type="file" accept=".wasm,application/wasm" onChange=${(event) => take(event.target.files?.[0])} />
    </div>
    ${
      checked.busy &&
      html`<p class="waiting"><span class="spinner" aria-hidden="true"></span> Checking ${file?.name} …</p>`
    }
    ${checked.error && html`<${Problem} error=${checked.error} again=${() => take(file)} />`}
    ${checked.done && html`<${Report} answer=${checked.done} name=${file?.name} />`}
    ${
      checked.done?.body.ok &&
      html`<p>
        <button type="button" class="main" disabled=${added.busy} onClick=${add}>Add ${file?.name} to the shelf</button>
      </p>`
    }
    ${added.error && html`<${Problem} error=${added.error} />`}
    ${added.done && html`<${Added} ...${added.done} />`}
  `;
}

/** @param {Api.ModelReference} props */
const Added = ({ kind, version }) =>
  html`<p class="note good" role="status">${kind} ${version} is on the shelf. It has no role yet.</p>`;

const COSTS = ["Input", ...["Fuel", "Memory", "Calls a second, one core"].map(figures)];

/** @param {Api.Check} check */
const size = ({ bytes: all, core_module, component_bytes }) =>
  core_module ? `${bytes(all)}, a core module; as a component ${bytes(component_bytes)}` : bytes(all);

/** @param {{ answer: Answered<Api.Check>; name: string }} props */
function Report({ answer: { body, text }, name }) {
  const { ok, problems, model } = body;
  /** @param {Api.CallCost} cost */
  const cost = ({ input, fuel, memory_bytes, calls_per_second }) =>
    html`<tr>
      <th scope="row">${input}</th>
      <td class="figure">${count(fuel)}</td>
      <td class="figure">${bytes(memory_bytes)}</td>
      <td class="figure">${count(calls_per_second)}</td>
    </tr>`;
  return html`<section class="card">
    <h2>${name} <${Mark} kind=${ok ? "good" : "bad"}>${ok ? "would be taken" : "would be refused"}</${Mark}></h2>
    ${
      problems.length > 0 &&
      html`<ol class="problems">
        ${problems.map(({ code, message }) => html`<li>${message} <span class="faint">${code}</span></li>`)}
      </ol>`
    }
    <${Facts} of=${[
      model && ["Model", `${model.kind} ${model.version}: ${model.title}`],
      model && model.authors.length > 0 && ["Authors", model.authors.join(", ")],
      ["Size", size(body)],
      ["SHA-256", html`<${Digest} of=${body.digest} />`],
      ["Compiled in", `${count(body.compile_ms)} ms`],
    ]} />
    ${model && model.reads.length > 0 && html`<${Inputs} names=${model.reads} />`}
    ${body.costs.length > 0 && html`<${Table} caption="Cost of one call" head=${COSTS} rows=${body.costs.map(cost)} />`}
    <${Raw} text=${text} name="The check as JSON" />
  </section>`;
}
