// What is known of a candidate before it is promoted: champion and candidate, what the shadow has seen, the bounds of
// [promotion], and the claims of both.

import { html } from "../dom.js";
import { path, useAsk } from "../api.js";
import { Answer, Facts, Mark, Table, figures } from "../parts.js";
import { NOT_KNOWN, RANGES, count, number, percent, range, several, signed } from "../words.js";
import { Migration, Psi } from "./pair.js";

/** @type {Record<string, [title: string, words: (value: number | null | undefined) => string]>} */
const FIGURES = {
  failures: ["Failed calls", percent],
  psi: ["PSI of the scores", number],
  migration: ["Wallets in another range", percent],
  latency_ratio: ["Time of a call, over the champion's", number],
};

/** @param {Api.Promotion} promotion */
const UNSEEN = ({ min_scores: least }) =>
  `It is refused without force once the server has scored ${several(least, "wallet")}.`;

/** @param {{ model: Api.ModelReference }} props */
export function Promotion({ model: { kind, version } }) {
  const shelf = useAsk("models");
  /** @param {Shown<typeof shelf>} answer */
  const show = ({ body: { models } }) => {
    /** @param {(model: Api.Model) => boolean} wanted */
    const of = (wanted) => models.find((model) => model.kind === kind && wanted(model));
    const [champion, candidate] = [of(({ role }) => role === "champion"), of((model) => model.version === version)];
    return html`
      <${Facts}
        of=${[
          ["Champion", champion ? `${champion.version}: ${champion.title}` : "none"],
          ["Candidate", `${version}: ${candidate?.title ?? ""}`],
        ]}
      />
      ${kind === "credit" && html`<${Shadow} champion=${champion} version=${version} />`}
      ${kind === "credit" && html`<${Claims} models=${[champion, candidate].filter(Boolean)} />`}
    `;
  };
  return html`<${Answer} asked=${shelf} what="both models" show=${show} />`;
}

/** @param {{ champion?: Api.Model; version: string }} props */
function Shadow({ champion, version }) {
  const asked = useAsk(path(["models", "credit", "report"]));
  /** @param {Shown<typeof asked>} answer */
  const show = ({ body: { pairs, window_hours: hours, promotion } }) => {
    const pair = pairs.find(
      (pair) => pair.challenger.version === version && pair.champion.version === champion?.version,
    );
    if (!pair) {
      return html`<p class="note warn">
        The shadow has seen nothing of ${version} in ${several(hours, "hour")}.${" "}
        ${promotion.require_shadow ? "It is refused without force." : UNSEEN(promotion)} Make it a challenger first.
      </p>`;
    }
    return html`
      <${Facts}
        of=${[
          ["Wallets compared", `${count(pair.wallets)} in ${several(hours, "hour")}`],
          ["Refused to score", `${count(pair.refused_wallets)} of them`],
          ["PSI", html`<${Psi} pair=${pair} />`],
          ["Mean difference", signed(pair.difference.mean)],
        ]}
      />
      <${Bounds} pair=${pair} promotion=${promotion} />
      <${Migration} pair=${pair} />
    `;
  };
  return html`<${Answer} asked=${asked} what="the evidence" show=${show} />`;
}

/**
 * The figures that have a bound, and whether it is met.
 * @param {{ pair: Api.ShadowPair; promotion: Api.Promotion }} props
 */
function Bounds({ pair: { wallets, bounds, bounds_apply: applies }, promotion }) {
  /** @param {Api.PromotionBound} bound */
  const row = ({ figure, value, most, met }) => {
    const [title, words] = FIGURES[figure] ?? [figure, number];
    return html`<tr>
      <th scope="row">${title}</th>
      <td class="figure">${words(value)}</td>
      <td class="figure">${words(most)}</td>
      <td><${Mark} kind=${met ? "good" : "bad"}>${value == null ? "not known" : met ? "met" : "exceeded"}</${Mark}></td>
    </tr>`;
  };
  const seen = `${count(wallets)} of the ${several(promotion.min_scores, "wallet")} that it needs`;
  return html`<div class="narrow-rows">
      <${Table}
        caption="Bounds of promotion"
        head=${["Figure", figures("Is"), figures("May be"), "Bound"]}
        rows=${bounds.map(row)}
      />
    </div>
    ${
      !applies &&
      html`<p class="note warn">
        The shadow has seen ${seen}, so the bounds do not apply.${" "}
        ${promotion.require_shadow ? "It is refused without force." : UNSEEN(promotion)}
      </p>`
    }`;
}

/**
 * @param {Api.Claims | null | undefined} claims
 * @param {string} name
 */
const claimed = (claims, name) => {
  const rate = claims?.rates.find((rate) => rate.range === name);
  return rate ? `${percent(rate.estimate)} (${percent(rate.low)} to ${percent(rate.high)})` : NOT_KNOWN;
};

/**
 * What both models claim of the wallets of each range.
 * @param {{ models: Api.Model[] }} props
 */
function Claims({ models }) {
  if (models.every(({ claims }) => !claims)) return html`<p class="faint">Neither model claims a rate.</p>`;
  /** @param {(typeof RANGES)[number]} range */
  const row = ([name]) => html`<tr>
    <th scope="row">${range(name)}</th>
    ${models.map(({ claims }) => html`<td class="figure">${claimed(claims, name)}</td>`)}
  </tr>`;
  /** @param {Api.Model} model */
  const of = ({ version, claims }) =>
    claims
      ? `${version}: ${claims.outcome} within ${several(claims.horizon_days, "day")}, of ${claims.population}`
      : `${version} claims nothing`;
  return html`<${Table}
      caption="Claims"
      head=${["Range", ...models.map(({ version }) => figures(version ?? ""))]}
      rows=${RANGES.map(row)}
    />
    <p class="faint">${models.map(of).join("; ")}.</p>`;
}
