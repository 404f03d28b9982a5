"""Train, pack, score and backtest models of Assay."""

from ._backtest import Backtest, backtest
from ._component import score
from ._origin import pack
from ._program import AssayError
from ._table import features

__all__ = ["AssayError", "Backtest", "backtest", "features", "pack", "score"]
__version__ = "0.1.0"
