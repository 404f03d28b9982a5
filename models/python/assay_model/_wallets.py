"""Wallets: the lines of a features file, or the same as dictionaries."""

from __future__ import annotations

import gzip
import json
import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Union

import numpy
import pandas

from ._program import AssayError

Wallets = Union[str, "os.PathLike[str]", Iterable[Mapping[str, Any]], pandas.DataFrame]
"""A features file, the wallets themselves, or a data frame with a row for each."""

_GZIP, _PARQUET = b"\x1f\x8b", b"PAR1"


def is_file(wallets: Wallets) -> bool:
    return isinstance(wallets, (str, os.PathLike))


def records(wallets: Iterable[Mapping[str, Any]] | pandas.DataFrame) -> Iterable[Mapping[str, Any]]:
    """The wallets of a data frame without the cells that are empty, such as NaN for a column that a wallet has not."""
    if not isinstance(wallets, pandas.DataFrame):
        return wallets
    lists = [name for name in ("chains", "markets", "holdings", "identity") if name in wallets.columns]
    if len(wallets) and not any(wallets[name].map(_is_list).any() for name in lists):
        raise AssayError("the data frame has no lists in its columns chains, markets, holdings and identity: give the "
                         "wallets, not the table that `features` makes of them")
    rows = wallets.reset_index() if any(wallets.index.names) else wallets
    return ({str(name): _plain(value) for name, value in row.items() if not _is_empty(value)}
            for row in rows.to_dict("records"))


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, numpy.ndarray))


def _is_empty(value: Any) -> bool:
    return value is None or value is pandas.NA or value is pandas.NaT or (isinstance(value, float) and math.isnan(value))


def _plain(value: Any) -> Any:
    """Values of numpy and pandas as Python has them; a time as Unix seconds."""
    if isinstance(value, pandas.Timestamp):
        return int((value if value.tzinfo else value.tz_localize("UTC")).timestamp())
    if isinstance(value, numpy.ndarray):
        return [_plain(one) for one in value.tolist()]
    if isinstance(value, numpy.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items() if not _is_empty(one)}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    # A count with gaps in a column, which pandas makes a float.
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


@contextmanager
def as_file(wallets: Wallets) -> Iterator[Path]:
    """A features file with these wallets."""
    if isinstance(wallets, (str, os.PathLike)):
        yield Path(wallets)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wallets.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for number, wallet in enumerate(records(wallets), 1):
                try:
                    file.write(json.dumps(dict(wallet), allow_nan=False) + "\n")
                except (TypeError, ValueError) as error:
                    raise AssayError(f"wallet {number} cannot be written as JSON: {error}") from error
        yield path


def each(wallets: Wallets) -> Iterator[Mapping[str, Any]]:
    """The wallets one by one."""
    if not isinstance(wallets, (str, os.PathLike)):
        yield from records(wallets)
        return
    path = Path(wallets)
    try:
        with path.open("rb") as file:
            begins = file.read(4)
        if begins == _PARQUET:
            raise AssayError(f"{path} is Parquet, and `score` reads JSON lines: export the wallets to a .jsonl file")
        with gzip.open(path) if begins.startswith(_GZIP) else path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    wallet = json.loads(line)
                except ValueError as error:
                    raise AssayError(f"{path}:{number}: it is not JSON: {error}") from error
                if not isinstance(wallet, dict):
                    raise AssayError(f"{path}:{number}: a line is an object, and this is {wallet!r:.40}")
                yield wallet
    except OSError as error:
        raise AssayError(f"{path} cannot be read: {error}") from error
