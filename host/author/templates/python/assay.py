"""What a model sees and answers, for tests. In the component, the types of `wit/v1/types.wit` take their place."""

import json
from dataclasses import dataclass, field, fields
from enum import Enum


class NoActivity(Exception):
    """Raise it where there is nothing to judge."""


class Missing(Exception):
    """Raise it with the name of an input that the model cannot do without."""


Kind = Enum("Kind", ["CREDIT", "BOOST", "SYBIL", "SANDBOX"])
Rating = Enum("Rating", ["LOW", "FAIR", "GOOD", "VERY_GOOD", "EXCELLENT"])
Coverage = Enum("Coverage", ["COMPLETE", "PARTIAL", "PENDING", "FAILED"])
AssetClass = Enum("AssetClass", ["NATIVE", "STABLECOIN", "TOKEN", "WRAPPED", "LIQUIDITY", "COLLATERAL"])


@dataclass
class ModelInfo:
    kind: Kind
    version: str
    title: str
    authors: list[str]
    reads: list[str]


@dataclass
class Factor:
    label: str
    rating: Rating
    description: str
    points: int
    possible: int


@dataclass
class Assessment:
    score: int
    decile: int
    factors: list[Factor]


@dataclass
class RiskAssessment:
    risk: int
    factors: list[Factor]


@dataclass
class OffChain:
    total_asset_usd: float


@dataclass
class ChainFeatures:
    chain_id: int
    coverage: Coverage
    first_transaction: int | None = None
    last_transaction: int | None = None
    transactions: int = 0
    transfers: int | None = None
    counterparties: int | None = None
    active_days: int | None = None
    active_hours: int | None = None
    median_gap: int | None = None
    assets_usd: float = 0.0
    supplied_usd: float = 0.0
    borrowed_usd: float = 0.0


@dataclass
class MarketFeatures:
    chain_id: int
    protocol: str
    market: str | None = None
    coverage: Coverage = Coverage.COMPLETE
    feeds_score: bool = True
    supply: int | None = None
    withdraw: int | None = None
    borrow: int | None = None
    repay: int | None = None
    liquidation: int | None = None
    first_event: int | None = None
    last_event: int | None = None
    last_liquidation: int | None = None
    supplied_usd: float = 0.0
    borrowed_usd: float = 0.0


@dataclass
class Holding:
    class_: AssetClass
    usd: float
    assets: int


@dataclass
class Attestation:
    provider: str
    issued: int | None = None
    expires: int | None = None
    score: float | None = None


@dataclass
class Features:
    as_of: int
    chains: list[ChainFeatures] = field(default_factory=list)
    markets: list[MarketFeatures] = field(default_factory=list)
    holdings: list[Holding] = field(default_factory=list)
    identity: list[Attestation] = field(default_factory=list)


def wallets(text: str) -> list[Features]:
    """The lines of a features file, for tests."""
    return [_features(json.loads(line)) for line in text.splitlines() if line.strip()]


def _features(line: dict) -> Features:
    def of(kind, name):
        return [_record(kind, one) for one in line.get(name) or []]

    lists = of(ChainFeatures, "chains"), of(MarketFeatures, "markets"), of(Holding, "holdings")
    return Features(line["as_of"], *lists, of(Attestation, "identity"))


def _record(kind, values: dict):
    enums = {"coverage": Coverage, "class": AssetClass}
    known = {one.name for one in fields(kind)}
    named = {"class_" if name == "class" else name: enums[name][value.upper()] if name in enums else value
             for name, value in values.items()}
    return kind(**{name: value for name, value in named.items() if name in known})
