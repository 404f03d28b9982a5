// {name}: the risk that a wallet is a bot.

/** More transactions say nothing new. */
const MOST = 1_000_000;

/** @returns {import('./assay.js').ModelInfo} */
export function describe() {
  return {
    kind: 'sybil',
    version: '{version}',
    title: '{name}',
    authors: [],
    reads: ['chains.coverage', 'chains.transactions', 'identity.provider'],
    claims: null,
  };
}

/**
 * What the model sees of a wallet. `risk` and `explain` begin with it, so that they cannot differ.
 * @param {import('./assay.js').Features} features
 */
function seen(features) {
  // A chain that could not be read is left out. It does not count as zero.
  const read = features.chains.filter((chain) => chain.coverage !== 'failed');
  const sent = Math.min(read.reduce((sum, chain) => sum + chain.transactions, 0), MOST);
  return { attested: features.identity.length, read: read.length, sent };
}

/**
 * @param {import('./assay.js').Features} features
 * @returns {import('./assay.js').RiskVerdict}
 */
export function risk(features) {
  const { attested, read, sent } = seen(features);
  return { risk: judge(attested, read, sent), points: [0] };
}

/**
 * The words of the same factors. A server asks for them only if somebody reads them.
 * @param {import('./assay.js').Features} features
 * @returns {import('./assay.js').Factor[]}
 */
export function explain(features) {
  const { attested, sent } = seen(features);
  return [
    {
      label: 'Identity',
      rating: attested > 0 ? 'good' : 'low',
      description: `You have ${attested} attestations and sent ${sent} transactions.`,
      points: 0,
      possible: 0,
    },
  ];
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
