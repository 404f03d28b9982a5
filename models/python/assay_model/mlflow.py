"""Models of Assay in MLflow: `python_function` models whose input is wallets and whose output is that of `score`."""

from __future__ import annotations

import os
from typing import Any

import mlflow.pyfunc
import pandas

from . import __version__, score
from ._wallets import Wallets


def _arguments(component: str | os.PathLike[str]) -> dict[str, Any]:
    requirements = [f"assay-model=={__version__}"]
    return {"loader_module": __name__, "data_path": os.fspath(component), "pip_requirements": requirements}


def save_model(component: str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """Saves a component as a model of MLflow in the new folder `path`."""
    mlflow.pyfunc.save_model(path=os.fspath(path), **_arguments(component))


def log_model(component: str | os.PathLike[str], name: str) -> Any:
    """Logs a component to the active run under `name`, and returns MLflow's description of it."""
    return mlflow.pyfunc.log_model(name=name, **_arguments(component))


class _Scorer:
    def __init__(self, component: str) -> None:
        self.component = component

    def predict(self, wallets: pandas.DataFrame | Wallets, params: dict[str, Any] | None = None) -> pandas.DataFrame:
        return score(self.component, wallets)


def _load_pyfunc(component: str) -> _Scorer:
    """What MLflow calls to load the model."""
    return _Scorer(component)
