"""The features of wallets, by the expressions of a declaration."""

from __future__ import annotations

import io
import os
from collections import defaultdict

import pandas

from ._program import AssayError, run
from ._wallets import Wallets, as_file

KEYS = ["id", "as_of", "cluster"]


def text(declaration: str | os.PathLike[str], wallets: Wallets) -> str:
    """The table as CSV, with `id`, `as_of` and `cluster` first and `outcome` last."""
    with as_file(wallets) as file:
        return run("features", "table", declaration, file)


def read(table: str) -> pandas.DataFrame:
    types = defaultdict(lambda: "float64", id="str", as_of="uint64", cluster="str")
    frame = pandas.read_csv(
        io.StringIO(table), dtype=types, na_values=[""], keep_default_na=False, float_precision="round_trip"
    )
    if list(frame.columns[:3]) != KEYS or frame.columns[-1] != "outcome":
        raise AssayError("`assay features table` has other columns: use the `assay` of this package's release")
    frame[["id", "cluster"]] = frame[["id", "cluster"]].fillna("")
    return frame.set_index(KEYS)


def rows(table: str) -> pandas.DataFrame:
    """Rows that are only features."""
    return pandas.read_csv(io.StringIO(table), dtype="float64", float_precision="round_trip")


def features(declaration: str | os.PathLike[str], wallets: Wallets) -> pandas.DataFrame:
    """Evaluates the expressions of a `model.toml` on wallets.

    Returns one row for each wallet and one column for each feature, in the order of the declaration, and last the
    column `outcome`. A value is NaN if it is absent. The index has `id`, `as_of` and `cluster` of the wallet.

    `assay` evaluates the expressions, as the packed model does, so that training and serving cannot differ.
    """
    return read(text(declaration, wallets))
