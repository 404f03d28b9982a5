// {name}: what off-chain assets add to a score.

/** @returns {import('./assay.js').ModelInfo} */
export function describe() {
  return {
    kind: 'boost',
    version: '{version}',
    title: '{name}',
    authors: [],
    reads: ['score', 'off-chain.total-asset-usd'],
    claims: null,
  };
}

/**
 * A tenth of the gap to 1000, from 50,000 dollars on.
 * @param {number} score
 * @param {import('./assay.js').OffChain} offChain
 */
export function boost(score, offChain) {
  const share = Math.min(Math.max(offChain.totalAssetUsd / 50_000, 0), 1);
  return score + Math.floor((1000 - score) * 0.1 * share);
}
