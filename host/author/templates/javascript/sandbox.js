// {name}: mock wallets for testers, each drawn from the bytes of its address alone.

/** The one chain on which these wallets are active. */
const CHAIN = 1;
/** 2024-01-01, before any transaction of a mock wallet. */
const BEGIN = 1_704_067_200;
const DAY = 86_400;
/** The address for which a server answers 429. */
const LIMITED = '0x00000000000000000000000000000000000000a1';

/** @returns {import('./assay.js').ModelInfo} */
export function describe() {
  return {
    kind: 'sandbox',
    version: '{version}',
    title: '{name}',
    authors: [],
    reads: ['address', 'off-chain.total-asset-usd'],
    claims: null,
  };
}

/**
 * The last two bytes as a number.
 * @param {string} address
 */
function drawn(address) {
  return Number.parseInt(address.slice(-4), 16);
}

/**
 * 300 to 1000.
 * @param {string} address
 */
export function score(address) {
  return 300 + (drawn(address) % 701);
}

/**
 * Half of the gap to 1000, from 100,000 dollars on.
 * @param {string} address
 * @param {import('./assay.js').OffChain} offChain
 */
export function boostedScore(address, offChain) {
  const base = score(address);
  const share = Math.min(Math.max(offChain.totalAssetUsd / 100_000, 0), 1);
  return base + Math.floor((1000 - base) * 0.5 * share);
}

/**
 * @param {string} address
 * @returns {import('./assay.js').Factor[]}
 */
export function factors(address) {
  const points = score(address) - 300;
  return [
    {
      label: 'Mock History',
      rating: points >= 450 ? 'good' : 'low',
      description: `This is a mock wallet with ${points} points.`,
      points,
      possible: 700,
    },
  ];
}

/**
 * @param {string} address
 * @returns {import('./assay.js').MockReport}
 */
export function report(address) {
  const dollars = drawn(address);
  const days = dollars % 365;
  return {
    score: score(address),
    tokens: [{ symbol: 'USDC', name: 'USD Coin', balance: `${dollars}`, valueUsd: dollars, chainId: CHAIN }],
    nfts: [],
    positions: [],
    pools: [pool(days)],
    firstTransaction: BEGIN + days * DAY,
    totalTransactions: days + 4,
    activeChains: [CHAIN],
  };
}

/**
 * One loan, taken and repaid.
 * @param {number} days
 * @returns {import('./assay.js').MockPool}
 */
function pool(days) {
  return {
    protocol: 'lenderA_v3',
    marketAddress: '0x87870Bca3F3fD6335C3F4ce8392D69350B4fA4E2',
    market: 'Core',
    chainId: CHAIN,
    coverage: 'complete',
    feedsScore: true,
    syncedToBlock: 20_000_000,
    supply: 1,
    withdraw: 1,
    borrow: 1,
    repay: 1,
    liquidation: 0,
    firstEvent: BEGIN + days * DAY,
    lastEvent: BEGIN + (days + 30) * DAY,
  };
}

/**
 * What the tokens and deposits of the report are worth.
 * @param {string} address
 * @returns {import('./assay.js').ChainValue[]}
 */
export function portfolio(address) {
  return [{ chainId: CHAIN, totalAssetUsd: drawn(address) }];
}

/** @returns {import('./assay.js').Scenario[]} */
export function scenarios() {
  return [
    {
      id: 'rate-limited',
      title: 'Too many requests',
      address: LIMITED,
      description: '429 with `Retry-After: 30`.',
    },
  ];
}

/**
 * What a server answers in place of the plain answer, for the subject of each scenario.
 * @param {import('./assay.js').Subject} subject
 * @returns {import('./assay.js').Behaviour | null}
 */
export function behaviourOf(subject) {
  return subject.address === LIMITED ? { rateLimited: 30 } : null;
}
