// {name}: a credit model. Repayments earn points, liquidations take them away.

/** More events of a kind say nothing new. */
const MOST = 1_000_000;
/** The most that repayments can earn. */
const POSSIBLE = 700;

/** @returns {import('./assay.js').ModelInfo} */
export function describe() {
  return {
    kind: 'credit',
    version: '{version}',
    title: '{name}',
    authors: [],
    reads: ['markets.coverage', 'markets.feeds-score', 'markets.repay', 'markets.liquidation'],
    claims: null,
  };
}

/**
 * What the model sees of a wallet. `score` and `explain` begin with it, so that they cannot differ.
 * @param {import('./assay.js').Features} features
 */
function seen(features) {
  // A market that could not be read is left out. It does not count as zero.
  const markets = features.markets.filter((one) => one.feedsScore && one.coverage !== 'failed');
  /** @param {'repay' | 'liquidation'} kind */
  const count = (kind) => Math.min(markets.reduce((sum, market) => sum + (market[kind] ?? 0), 0), MOST);
  const [repaid, liquidated] = [count('repay'), count('liquidation')];
  return { repaid, liquidated, points: Math.min(Math.max(repaid * 50 - liquidated * 200, 0), POSSIBLE) };
}

/**
 * @param {import('./assay.js').Features} features
 * @returns {import('./assay.js').Verdict | import('./assay.js').Refusal}
 */
export function score(features) {
  const { points } = seen(features);
  const score = 300 + points;
  return { score, decile: decile(score), points: [points] };
}

/**
 * The words of the same factors. A server asks for them only if somebody reads them.
 * @param {import('./assay.js').Features} features
 * @returns {import('./assay.js').Factor[] | import('./assay.js').Refusal}
 */
export function explain(features) {
  const { repaid, liquidated, points } = seen(features);
  return [
    {
      label: 'Repayment History',
      rating: points >= 450 ? 'good' : 'low',
      description: `You repaid ${repaid} times and were liquidated ${liquidated} times.`,
      points,
      possible: POSSIBLE,
    },
  ];
}

/** @param {number} score */
export function decile(score) {
  return Math.min(Math.floor((score - 300) / 70) + 1, 10);
}
