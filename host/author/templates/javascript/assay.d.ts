// What a model sees and answers. `null` was not read; it is never zero. Times are Unix seconds, money is US dollars.

export type Coverage = 'complete' | 'partial' | 'pending' | 'failed';
export type Rating = 'low' | 'fair' | 'good' | 'very-good' | 'excellent';

export interface ModelInfo {
  kind: 'credit' | 'boost' | 'sybil';
  /** Dotted numbers such as `1.1`. A released version never changes its bytes. */
  version: string;
  /** One line, at most 80 characters. */
  title: string;
  authors: string[];
  /** The inputs, such as `markets.liquidation`. */
  reads: string[];
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

export interface Assessment {
  /** 300 to 1000. */
  score: number;
  /** 1 to 10, equal to `decile(score)`. */
  decile: number;
  factors: Factor[];
}

/** Why a model does not answer. */
export type Refusal = { refused: 'no-activity' } | { missing: string };

export interface RiskAssessment {
  /** 0 (human) to 100 (bot). */
  risk: number;
  factors: Factor[];
}

export interface OffChain {
  totalAssetUsd: number;
}
