"""What a model sees and answers: the types of the component, and how it refuses a wallet."""

from wit_world.exports.credit import Assessment
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
    Rating,
)


class NoActivity(Exception):
    """Raise it where there is nothing to judge."""


class Missing(Exception):
    """Raise it with the name of an input that the model cannot do without."""
