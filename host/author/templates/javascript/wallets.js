// For tests: the lines of a features file as `score` receives them. The component does not use this file.

const MARKET = { suppliedUsd: 0, borrowedUsd: 0 };
const CHAIN = { transactions: 0, assetsUsd: 0, suppliedUsd: 0, borrowedUsd: 0 };

export function wallets(text) {
  return text.split('\n').filter((line) => line.trim()).map((line) => features(JSON.parse(line)));
}

function features({ as_of, chains = [], markets = [], holdings = [], identity = [] }) {
  return {
    asOf: as_of,
    chains: chains.map((one) => ({ ...CHAIN, ...renamed(one) })),
    markets: markets.map((one) => ({ ...MARKET, ...renamed(one) })),
    holdings: holdings.map(renamed),
    identity: identity.map(renamed),
  };
}

/** `feeds_score` is `feedsScore`; what is null or absent is undefined. */
function renamed(record) {
  const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [camel(name), value ?? undefined]));
}
