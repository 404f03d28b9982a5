// earlier: the risk that a wallet is a bot.

/** More transactions say nothing new. */
const MOST = 1_000_000;

/** @returns {import('./assay.js').ModelInfo} */
export function describe() {
  return {
    kind: 'sybil',
    version: '0.1',
    title: 'earlier',
    authors: [],
    reads: ['chains.coverage', 'chains.transactions', 'identity.provider'],
  };
}

/**
 * @param {import('./assay.js').Features} features
 * @returns {import('./assay.js').RiskAssessment}
 */
export function risk(features) {
  // A chain that could not be read is left out. It does not count as zero.
  const read = features.chains.filter((chain) => chain.coverage !== 'failed');
  const sent = Math.min(read.reduce((sum, chain) => sum + chain.transactions, 0), MOST);
  const attested = features.identity.length;
  /** @type {import('./assay.js').Factor} */
  const factor = {
    label: 'Identity',
    rating: attested > 0 ? 'good' : 'low',
    description: `You have ${attested} attestations and sent ${sent} transactions.`,
    points: 0,
    possible: 0,
  };
  return { risk: judge(attested, read.length, sent), factors: [factor] };
}

/**
 * @param {number} attested
 * @param {number} read
 * @param {number} sent
 */
function judge(attested, read, sent) {
  if (attested > 0) return 10;
  if (read === 0) return 50;
  return sent > 100 ? 40 : 80;
}
