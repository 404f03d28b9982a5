"""What a model sees and answers, for tests. In the component, the types of `wit/v2/types.wit` take their place."""

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
ExposureClass = Enum("ExposureClass", ["STABLECOIN", "NATIVE", "BITCOIN", "OTHER"])
EventKind = Enum("EventKind", ["SUPPLY", "WITHDRAW", "BORROW", "REPAY", "LIQUIDATION"])
AssetClass = Enum("AssetClass", ["NATIVE", "STABLECOIN", "TOKEN", "WRAPPED", "LIQUIDITY", "COLLATERAL"])


@dataclass
class Rate:
    range: Rating
    low: float
    estimate: float
    high: float


@dataclass
class Claims:
    outcome: str
    horizon_days: int
    population: str
    rates: list[Rate]


@dataclass
class ModelInfo:
    kind: Kind
    version: str
    title: str
    authors: list[str]
    reads: list[str]
    claims: Claims | None


@dataclass
class Factor:
    label: str
    rating: Rating
    description: str
    points: int
    possible: int


@dataclass
class Verdict:
    score: int
    decile: int
    points: list[int]


@dataclass
class RiskVerdict:
    risk: int
    points: list[int]


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
class Exposure:
    class_: ExposureClass
    usd: float


@dataclass
class Position:
    coverage: Coverage
    collateral: list[Exposure] = field(default_factory=list)
    debt: list[Exposure] = field(default_factory=list)
    liquidation_threshold: float | None = None
    health_factor: float | None = None
    utilisation: float | None = None


@dataclass
class LendingEvent:
    time: int
    kind: EventKind
    usd: float | None = None
    class_: ExposureClass | None = None


@dataclass
class Dollars:
    supply: float | None = None
    withdraw: float | None = None
    borrow: float | None = None
    repay: float | None = None
    liquidation: float | None = None


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
    events_coverage: Coverage = Coverage.FAILED
    events: list[LendingEvent] = field(default_factory=list)
    dollars: Dollars = field(default_factory=Dollars)
    liquidation_days: int | None = None
    position: Position | None = None


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
    chains, holdings, identity = _all(ChainFeatures, line, "chains"), _holdings(line), _all(Attestation, line, "identity")
    return Features(line["as_of"], chains, [_market(one) for one in line.get("markets") or []], holdings, identity)


def _holdings(line: dict) -> list[Holding]:
    return [_record(Holding, one, AssetClass) for one in line.get("holdings") or []]


def _market(values: dict) -> MarketFeatures:
    market = _record(MarketFeatures, values)
    market.events = _all(LendingEvent, values, "events")
    market.dollars = _record(Dollars, values.get("dollars") or {})
    if position := values.get("position"):
        market.position = _record(Position, position)
        market.position.collateral = _all(Exposure, position, "collateral")
        market.position.debt = _all(Exposure, position, "debt")
    return market


def _all(kind, values: dict, name: str) -> list:
    return [_record(kind, one) for one in values.get(name) or []]


def _record(kind, values: dict, classes=ExposureClass):
    enums = {"coverage": Coverage, "events_coverage": Coverage, "kind": EventKind, "class": classes}
    known = {one.name for one in fields(kind)}
    named = {"class_" if name == "class" else name: enums[name][value.upper()] if value and name in enums else value
             for name, value in values.items()}
    return kind(**{name: value for name, value in named.items() if name in known})
