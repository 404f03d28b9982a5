// The answers of a sandbox generator, checked: an error names the field.

import { known, list, number, whole, words } from './answers.js';

const COVERAGES = ['complete', 'partial', 'pending', 'failed'];
/** The behaviours without a figure, and those with one. */
const BARE = ['partial', 'failed-pool', 'provisional', 'liquidated-yesterday', 'not-found', 'upstream-failed', 'unavailable'];
const COUNTED = { pending: 'pending', chainUnread: 'chain-unread', rateLimited: 'rate-limited', slow: 'slow' };
const NAMED = {
  submissionFails: ['submission-fails', ['scoring', 'uploading', 'submitting']],
  paymentRefused: [
    'payment-refused',
    [
      'network', 'recipient', 'value', 'not-yet-valid', 'expired', 'signature', 'insufficient-funds', 'nonce-used',
      'transaction-reverted', 'settlement-failed',
    ],
  ],
};

const count = (what, value) => whole(what, 'is', value);
const perhaps = (what, value) => (value == null ? null : count(what, value));

function bytes(what, address) {
  const found = /^0x([0-9a-f]{40})$/i.exec(words(what, address));
  if (!found) throw new TypeError(`${what} is '${address}': 0x and 40 hexadecimal digits are needed`);
  return Uint8Array.from({ length: 20 }, (_, at) => Number.parseInt(found[1].slice(at * 2, at * 2 + 2), 16));
}

export function reported({ score, tokens, nfts, positions, pools, firstTransaction, totalTransactions, activeChains }) {
  return {
    score: whole('the score of the report', 'is', score),
    tokens: list('tokens', tokens).map((token) => ({
      symbol: words('the symbol of a token', token.symbol),
      name: words('the name of a token', token.name),
      balance: words('the balance of a token', token.balance),
      valueUsd: number('the valueUsd of a token', token.valueUsd),
      chainId: count('the chainId of a token', token.chainId),
    })),
    nfts: list('nfts', nfts).map((nft) => ({
      name: words('the name of an nft', nft.name),
      collection: words('the collection of an nft', nft.collection),
      chainId: count('the chainId of an nft', nft.chainId),
    })),
    positions: list('positions', positions).map((position) => ({
      name: words('the name of a position', position.name),
      supplied: number('what a position supplied', position.supplied),
      borrowed: number('what a position borrowed', position.borrowed),
      chainId: count('the chainId of a position', position.chainId),
    })),
    pools: list('pools', pools).map(pooled),
    firstTransaction: count('firstTransaction', firstTransaction),
    totalTransactions: count('totalTransactions', totalTransactions),
    activeChains: list('activeChains', activeChains).map((chain) => count('a chain of activeChains', chain)),
  };
}

function pooled(pool) {
  const events = ['supply', 'withdraw', 'borrow', 'repay', 'liquidation', 'firstEvent', 'lastEvent', 'syncedToBlock'];
  const figures = events.map((name) => [name, perhaps(`the ${name} of a pool`, pool[name])]);
  return {
    protocol: words('the protocol of a pool', pool.protocol),
    marketAddress: words('the marketAddress of a pool', pool.marketAddress),
    market: pool.market == null ? null : words('the market of a pool', pool.market),
    chainId: count('the chainId of a pool', pool.chainId),
    coverage: known('the coverage of a pool', pool.coverage, COVERAGES),
    feedsScore: pool.feedsScore === true,
    ...Object.fromEntries(figures),
  };
}

export function valued(chains) {
  return list('the answer of portfolio', chains).map(({ chainId, totalAssetUsd }) => ({
    chainId: count('a chainId of the portfolio', chainId),
    totalAssetUsd: number('a totalAssetUsd of the portfolio', totalAssetUsd),
  }));
}

export function scripted(scenarios) {
  return list('the answer of scenarios', scenarios).map(({ id, title, address, agent, description }) => ({
    id: words('the id of a scenario', id),
    title: words(`the title of the scenario ${id}`, title),
    subject: address === undefined
      ? { tag: 'agent', val: count(`the agent of the scenario ${id}`, agent) }
      : { tag: 'address', val: bytes(`the address of the scenario ${id}`, address) },
    description: words(`the description of the scenario ${id}`, description),
  }));
}

/** A behaviour: a text such as 'partial', or one field such as { pending: 3 }; null for a plain answer. */
export function behaved(behaviour) {
  if (behaviour == null) return null;
  if (typeof behaviour === 'string') return { tag: known('the behaviour', behaviour, BARE) };
  const [[name, value] = []] = Object.entries(behaviour);
  if (NAMED[name]) {
    const [tag, all] = NAMED[name];
    return { tag, val: known(name, value, all) };
  }
  if (!COUNTED[name]) {
    const all = [...BARE, ...Object.keys(COUNTED), ...Object.keys(NAMED)];
    throw new TypeError(`the behaviour is '${name}': there are ${all.join(', ')}`);
  }
  return { tag: COUNTED[name], val: count(name, value) };
}
