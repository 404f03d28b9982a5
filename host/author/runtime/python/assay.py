"""What a model sees and answers: the types of the component, and how it refuses a wallet."""

from contextlib import suppress

from wit_world.imports.types import (
    AssetClass,
    Attestation,
    ChainFeatures,
    Coverage,
    Factor,
    Features,
    Holding,
    Kind,
    MarketFeatures,
    ModelInfo,
    OffChain,
    Rating,
)

with suppress(ImportError):  # of wit/v2
    from wit_world.imports.types import (
        Claims,
        Dollars,
        EventKind,
        Exposure,
        ExposureClass,
        LendingEvent,
        Position,
        Rate,
    )

# Each kind of model has one of these.
with suppress(ImportError):
    from wit_world.exports.credit import Assessment
with suppress(ImportError):
    from wit_world.exports.credit import Verdict
with suppress(ImportError):
    from wit_world.exports.sybil import RiskAssessment
with suppress(ImportError):
    from wit_world.exports.sybil import Verdict as RiskVerdict


def __getattr__(name):
    if name in ("Claims", "Dollars", "EventKind", "Exposure", "ExposureClass", "LendingEvent", "Position", "Rate",
                "Verdict", "RiskVerdict"):
        raise ImportError(f"assay.{name} is of wit/v2, whose models say so in describe: ModelInfo(…, claims=None)")
    if name in ("Assessment", "RiskAssessment"):
        raise ImportError(f"assay.{name} is of wit/v1: a model with claims answers Verdict or RiskVerdict, and explain")
    raise AttributeError(f"module 'assay' has no attribute {name!r}")


class NoActivity(Exception):
    """Raise it where there is nothing to judge."""


class Missing(Exception):
    """Raise it with the name of an input that the model cannot do without."""
