// What a model sees and answers. `null` was not read; it is never zero. Times are Unix seconds, money is US dollars.

export type Coverage = 'complete' | 'partial' | 'pending' | 'failed';
export type Rating = 'low' | 'fair' | 'good' | 'very-good' | 'excellent';

export interface ModelInfo {
  kind: 'credit' | 'boost' | 'sybil' | 'sandbox';
  /** Dotted numbers such as `1.1`. A released version never changes its bytes. */
  version: string;
  /** One line, at most 80 characters. */
  title: string;
  authors: string[];
  /** The inputs, such as `markets.position.health-factor`. */
  reads: string[];
  /** What the score says of the future; `null` if the model claims nothing. */
  claims: Claims | null;
}

/** A statement about the future that can be measured afterwards. */
export interface Claims {
  /** The event, such as `liquidated`. */
  outcome: string;
  /** The days after `asOf` in which the event may happen. */
  horizonDays: number;
  /** The wallets for which the rates hold. */
  population: string;
  /** At most one for each range of the score, the lowest range first. */
  rates: Rate[];
}

/** How often the outcome happens to wallets of one range. Shares of 0 to 1. */
export interface Rate {
  range: Rating;
  /** The ends of the 95 % interval of `estimate`. */
  low: number;
  estimate: number;
  high: number;
}

/** One chain on which the address was looked up. */
export interface ChainFeatures {
  chainId: number;
  /** Of the activity figures. If it is `failed`, they are zero and mean nothing. */
  coverage: Coverage;
  firstTransaction: number | null;
  lastTransaction: number | null;
  transactions: number;
  transfers: number | null;
  counterparties: number | null;
  activeDays: number | null;
  activeHours: number | null;
  /** Median seconds between consecutive transactions. */
  medianGap: number | null;
  assetsUsd: number;
  suppliedUsd: number;
  borrowedUsd: number;
}

export type ExposureClass = 'stablecoin' | 'native' | 'bitcoin' | 'other';
export type EventKind = 'supply' | 'withdraw' | 'borrow' | 'repay' | 'liquidation';

/** An amount of one class. */
export interface Exposure {
  class: ExposureClass;
  usd: number;
}

/** What the wallet has in one market. If `coverage` is `failed`, nothing here means anything. */
export interface Position {
  coverage: Coverage;
  /** The deposits that secure the debt, one entry for each class. */
  collateral: Exposure[];
  debt: Exposure[];
  /** The share of the collateral, 0 to 1, that the debt may reach. `null` without collateral. */
  liquidationThreshold: number | null;
  /** Below 1 the position can be liquidated. `null` without debt. */
  healthFactor: number | null;
  /** Debt over all deposits. `null` without deposits. */
  utilisation: number | null;
}

/** One event of the wallet in a market. */
export interface LendingEvent {
  time: number;
  kind: EventKind;
  /** Dollars at the time of the event; `null` for an asset that is no stablecoin. */
  usd: number | null;
  class: ExposureClass | null;
}

/** Dollars by kind over all events of a market. `null` if those of one event are not known. */
export interface Dollars {
  supply: number | null;
  withdraw: number | null;
  borrow: number | null;
  repay: number | null;
  liquidation: number | null;
}

/** One lending market on one chain. */
export interface MarketFeatures {
  chainId: number;
  /** Such as `lenderA_v3`. */
  protocol: string;
  market: string | null;
  coverage: Coverage;
  /** If false, the market is shown to people, and not to be scored. */
  feedsScore: boolean;
  supply: number | null;
  withdraw: number | null;
  borrow: number | null;
  repay: number | null;
  liquidation: number | null;
  firstEvent: number | null;
  lastEvent: number | null;
  lastLiquidation: number | null;
  suppliedUsd: number;
  borrowedUsd: number;
  /** Of `events`, `dollars` and `liquidationDays`. */
  eventsCoverage: Coverage;
  /** Newest first, at most 200. The counts say how many there were. */
  events: LendingEvent[];
  dollars: Dollars;
  /** Distinct UTC days with a liquidation. */
  liquidationDays: number | null;
  position: Position | null;
}

/** Everything held in one class of asset, over all chains. */
export interface Holding {
  class: 'native' | 'stablecoin' | 'token' | 'wrapped' | 'liquidity' | 'collateral';
  usd: number;
  assets: number;
}

/** One identity attestation that was valid at `asOf`. */
export interface Attestation {
  /** Such as `ens` or `human-passport`. */
  provider: string;
  issued: number | null;
  expires: number | null;
  score: number | null;
}

export interface Features {
  /** The moment that the features describe: the only clock. */
  asOf: number;
  chains: ChainFeatures[];
  markets: MarketFeatures[];
  holdings: Holding[];
  identity: Attestation[];
}

/** One part of an assessment, in words for the wallet's owner. */
export interface Factor {
  /** The labels are the same for every wallet, in the same order. */
  label: string;
  rating: Rating;
  description: string;
  points: number;
  possible: number;
}

export interface Verdict {
  /** 300 to 1000. */
  score: number;
  /** 1 to 10, equal to `decile(score)`. */
  decile: number;
  /** Of each factor of `explain`, in its order. */
  points: number[];
}

/** Why a model does not answer. */
export type Refusal = { refused: 'no-activity' } | { missing: string };

export interface RiskVerdict {
  /** 0 (human) to 100 (bot). */
  risk: number;
  /** Of each factor of `explain`, in its order. */
  points: number[];
}

export interface OffChain {
  totalAssetUsd: number;
}

// Of a sandbox generator. An address is text: `0x` and 40 small hexadecimal digits.

export interface MockToken {
  symbol: string;
  name: string;
  /** Decimal text in whole tokens. */
  balance: string;
  valueUsd: number;
  chainId: number;
}

export interface MockNft {
  name: string;
  collection: string;
  chainId: number;
}

/** A position in a protocol, in dollars. */
export interface MockPosition {
  name: string;
  supplied: number;
  borrowed: number;
  chainId: number;
}

/** One lending market, with the names and the nulls of production. */
export interface MockPool {
  protocol: string;
  marketAddress: string;
  market: string | null;
  chainId: number;
  coverage: Coverage;
  feedsScore: boolean;
  syncedToBlock: number | null;
  supply: number | null;
  withdraw: number | null;
  borrow: number | null;
  repay: number | null;
  liquidation: number | null;
  firstEvent: number | null;
  lastEvent: number | null;
}

export interface MockReport {
  score: number;
  tokens: MockToken[];
  nfts: MockNft[];
  positions: MockPosition[];
  pools: MockPool[];
  firstTransaction: number;
  totalTransactions: number;
  activeChains: number[];
}

/** A chain that is not listed holds nothing. */
export interface ChainValue {
  chainId: number;
  totalAssetUsd: number;
}

/** What a request is about. */
export interface Subject {
  address?: string;
  /** The token id of an agent, at least 1. */
  agent?: number;
}

/** An address or agent that behaves as production does in one condition. */
export interface Scenario extends Subject {
  /** Small letters, digits and dashes. */
  id: string;
  title: string;
  /** What a client sees, in one sentence. */
  description: string;
}

/** What the host does on the production paths instead of a plain answer. */
export type Behaviour =
  | 'partial'
  | 'failed-pool'
  | 'provisional'
  | 'liquidated-yesterday'
  | 'not-found'
  | 'upstream-failed'
  | 'unavailable'
  /** Until the request with this number, 2 to 100. */
  | { pending: number }
  | { chainUnread: number }
  /** Seconds. */
  | { rateLimited: number }
  /** Milliseconds. */
  | { slow: number }
  | { submissionFails: 'scoring' | 'uploading' | 'submitting' }
  | {
      paymentRefused:
        | 'network'
        | 'recipient'
        | 'value'
        | 'not-yet-valid'
        | 'expired'
        | 'signature'
        | 'insufficient-funds'
        | 'nonce-used'
        | 'transaction-reverted'
        | 'settlement-failed';
    };
