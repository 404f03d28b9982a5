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

# Each kind of model has one of these.
with suppress(ImportError):
    from wit_world.exports.credit import Assessment
with suppress(ImportError):
    from wit_world.exports.sybil import RiskAssessment


class NoActivity(Exception):
    """Raise it where there is nothing to judge."""


class Missing(Exception):
    """Raise it with the name of an input that the model cannot do without."""
