// The score after changes that a person chooses.

import { html, useState } from "../dom.js";
import { ask, path, useAction } from "../api.js";
import { useMe } from "../session.js";
import { Facts, Mark, Problem, Table, announce, figures, values } from "../parts.js";
import { CLASSES, dollars, market, marketId, marketOf, number, range, several, signed } from "../words.js";

/** The lowest that the slider goes, in percent. */
const LEAST = -90;

/** @param {{ score: Api.Score; positions: Api.PoolPosition[] }} props */
export function WhatIf({ score, positions }) {
  const me = useMe();
  const [fall, setFall] = useState(0);
  /** @type {Action<Api.WhatIf>} */
  const { done, busy, error, start } = useAction();
  /** @param {Happening} event */
  const submit = (event) => {
    const changes = chosen(values(event));
    start(async () => {
      const asked = path(["score", "address", score.address, "what-if"], { model_version: score.model_version });
      const { body } = await ask(asked, { method: "POST", json: { changes: /** @type {any} */ (changes) } });
      announce(`Then the score is ${body.score}`);
      return body;
    });
  };
  return html`<details id="what-if">
    <summary>What if …</summary>
    <form class="tries" onSubmit=${submit}>
      <div class="wide">
        <label for="percent">Price: <output for="percent">${fall === 0 ? "as it is" : `${fall} %`}</output></label>
        <input
          id="percent"
          name="percent"
          type="range"
          min=${LEAST}
          max="0"
          step="5"
          value=${fall}
          aria-valuetext=${`${fall} %`}
          onInput=${(event) => setFall(Number(event.target.value))}
          onChange=${(event) => event.target.form?.requestSubmit()}
        />
      </div>
      <div>
        <label for="asset">of</label>
        <select id="asset" name="asset">
          ${Object.entries(CLASSES).map(([value, name]) => html`<option value=${value}>${name}</option>`)}
          ${tokens(positions).map(([address, symbol]) => html`<option value=${address}>${symbol} only</option>`)}
        </select>
      </div>
      ${
        positions.length > 0 &&
        html`<div>
          <label for="market">Market</label>
          <select id="market" name="market">
            ${positions.map((position) => html`<option value=${marketId(position)}>${market(position)}</option>`)}
          </select>
        </div>`
      }
      ${positions.length > 0 && html`<${Amount} name="repay" title="Repay there, $" />`}
      ${positions.length > 0 && html`<${Amount} name="deposit" title="Deposit there, $" />`}
      <${Amount} name="days" title="Wait, days" step="1" most="3650" />
      <button class="main" disabled=${busy}>${busy ? "Asking …" : "Score it"}</button>
    </form>
    <p class="faint">
      Nothing else changes: holdings keep their value, and a repayment adds no event. Costs ${several(me.costs.score, "unit")}.
    </p>
    ${error && html`<${Problem} error=${error} />`}
    ${done && html`<${Outcome} then=${done} />`}
  </details>`;
}

/**
 * The tokens of the positions that have a symbol, by address.
 * @param {Api.PoolPosition[]} positions
 */
const tokens = (positions) => {
  const all = positions.flatMap(({ assets }) => assets);
  return [...new Map(all.flatMap(({ address, symbol }) => (address && symbol ? [[address, symbol]] : [])))];
};

/** @param {{ name: string; title: string; step?: string; most?: string }} props */
const Amount = ({ name, title, step = "any", most }) =>
  html`<div>
    <label for=${name}>${title}</label>
    <input id=${name} name=${name} type="number" min="0" max=${most} step=${step} />
  </div>`;

/**
 * The changes that the form names.
 * @param {Values} given
 * @returns {Change[]}
 */
function chosen({ percent, asset, market, repay, deposit, days }) {
  /** @param {string | undefined} text */
  const amount = (text) => Number(text ?? 0);
  return [
    amount(percent) < 0 && { price: { asset, percent: amount(percent) } },
    amount(repay) > 0 && { repay: { market, usd: amount(repay) } },
    amount(deposit) > 0 && { deposit: { market, usd: amount(deposit) } },
    amount(days) > 0 && { days: amount(days) },
  ].filter((change) => change !== false);
}

/** @param {{ then: Api.WhatIf }} props */
function Outcome({ then }) {
  const { score, score_now: now, range: name, range_now: before, health_factor: factor, buffer_percent: buffer } = then;
  return html`<div class="outcome">
    <${Facts}
      of=${[
        ["Score then", html`<b class="mid">${score}</b> ${score === now ? "as now" : `(${signed(score - now)})`}`],
        [
          "Range then",
          html`<${Mark} kind=${`range-${name}`}>${range(name)}</${Mark}> ${name !== before && `now ${range(before)}`}`,
        ],
        factor !== undefined && ["Health factor then", html`<${Health} factor=${factor} />`],
        buffer !== undefined && ["Collateral may then fall by", buffer > 0 ? `${number(buffer)} %` : "nothing"],
      ]}
    />
    <div class="pair">
      <${Prices} prices=${then.liquidation_prices} />
      <${Ladder} rungs=${then.ladder} />
    </div>
  </div>`;
}

/** @param {{ factor: number }} props */
const Health = ({ factor }) =>
  html`<${Mark} kind=${factor < 1.1 ? "bad" : factor < 1.5 ? "warn" : "good"}>${number(factor)}</${Mark}>
    ${factor < 1 && " can be liquidated"}`;

/** @param {{ prices: Api.LiquidationPrice[] }} props */
function Prices({ prices }) {
  if (prices.length === 0) return null;
  /** @param {Api.LiquidationPrice} price */
  const row = ({
    market: name,
    asset,
    price_usd: price,
    liquidation_price_usd: limit,
    percent_of_price: share,
  }) => html`<tr>
    <th scope="row">${CLASSES[asset ?? ""] ?? asset ?? "a token"} <span class="faint">${market(marketOf(name))}</span></th>
    <td class="figure">${price === undefined ? "" : dollars(price)}</td>
    <td class="figure">${limit === undefined ? (share == null ? "by no fall of it alone" : "") : dollars(limit)}</td>
    <td class="figure">${share == null ? "" : `${number(share)} %`}</td>
  </tr>`;
  const head = ["Collateral", ...["Price then", "Liquidated at", "Of that price"].map(figures)];
  return html`<${Table} caption="Liquidation prices" head=${head} rows=${prices.map(row)} />`;
}

/** @param {{ rungs: Api.LadderRung[] }} props */
function Ladder({ rungs }) {
  /** @param {Api.LadderRung} rung */
  const row = ({ percent, score, range: name, health_factor: factor }) => html`<tr>
    <th scope="row">${number(-percent)} %</th>
    <td class="figure">${score}</td>
    <td>${name && html`<${Mark} kind=${`range-${name}`}>${range(name)}</${Mark}>`}</td>
    <td class="figure">${factor === undefined ? "no debt" : html`<${Health} factor=${factor} />`}</td>
  </tr>`;
  const head = ["Prices fall by", figures("Score"), "Range", figures("Health factor")];
  return html`<${Table} caption="If prices fall further" head=${head} rows=${rungs.map(row)} />`;
}
