// For tests: the lines of a features file as `score` receives them. The component does not use this file.

const CHAIN = {
  firstTransaction: null, lastTransaction: null, transactions: 0, transfers: null, counterparties: null,
  activeDays: null, activeHours: null, medianGap: null, assetsUsd: 0, suppliedUsd: 0, borrowedUsd: 0,
};
const MARKET = {
  market: null, supply: null, withdraw: null, borrow: null, repay: null, liquidation: null, firstEvent: null,
  lastEvent: null, lastLiquidation: null, suppliedUsd: 0, borrowedUsd: 0, eventsCoverage: 'failed', liquidationDays: null,
};
const EVENT = { usd: null, class: null };
const DOLLARS = { supply: null, withdraw: null, borrow: null, repay: null, liquidation: null };
const POSITION = { liquidationThreshold: null, healthFactor: null, utilisation: null };
const ATTESTATION = { issued: null, expires: null, score: null };

export function wallets(text) {
  return text.split('\n').filter((line) => line.trim()).map((line) => features(JSON.parse(line)));
}

function features({ as_of, chains = [], markets = [], holdings = [], identity = [] }) {
  return {
    asOf: as_of,
    chains: chains.map((one) => ({ ...CHAIN, ...renamed(one) })),
    markets: markets.map(market),
    holdings: holdings.map(renamed),
    identity: identity.map((one) => ({ ...ATTESTATION, ...renamed(one) })),
  };
}

function market({ events = [], dollars = {}, position = null, ...rest }) {
  return {
    ...MARKET,
    ...renamed(rest),
    events: events.map((one) => ({ ...EVENT, ...one })),
    dollars: { ...DOLLARS, ...dollars },
    position: position && { ...POSITION, ...renamed(position) },
  };
}

/** `feeds_score` is `feedsScore`. */
function renamed(record) {
  const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [camel(name), value]));
}
