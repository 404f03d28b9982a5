// earlier: a credit model. Repayments earn points, liquidations take them away.

/** More events of a kind say nothing new. */
const MOST = 1_000_000;

/** @returns {import('./assay.js').ModelInfo} */
export function describe() {
  return {
    kind: 'credit',
    version: '0.1',
    title: 'earlier',
    authors: [],
    reads: ['markets.coverage', 'markets.feeds-score', 'markets.repay', 'markets.liquidation'],
  };
}

/**
 * @param {import('./assay.js').Features} features
 * @returns {import('./assay.js').Assessment | import('./assay.js').Refusal}
 */
export function score(features) {
  // A market that could not be read is left out. It does not count as zero.
  const markets = features.markets.filter((one) => one.feedsScore && one.coverage !== 'failed');
  /** @param {'repay' | 'liquidation'} kind */
  const count = (kind) => Math.min(markets.reduce((sum, market) => sum + (market[kind] ?? 0), 0), MOST);
  const [repaid, liquidated] = [count('repay'), count('liquidation')];
  const points = Math.min(Math.max(repaid * 50 - liquidated * 200, 0), 700);
  const score = 300 + points;
  /** @type {import('./assay.js').Factor} */
  const factor = {
    label: 'Repayment History',
    rating: score >= 750 ? 'good' : 'low',
    description: `You repaid ${repaid} times and were liquidated ${liquidated} times.`,
    points,
    possible: 700,
  };
  return { score, decile: decile(score), factors: [factor] };
}

/** @param {number} score */
export function decile(score) {
  return Math.min(Math.floor((score - 300) / 70) + 1, 10);
}
