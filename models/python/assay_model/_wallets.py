"""Wallets: the lines of a features file, or the same as dictionaries."""

from __future__ import annotations

import gzip
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Union

from ._program import AssayError

Wallets = Union[str, "os.PathLike[str]", Iterable[Mapping[str, Any]]]
"""A features file, or the wallets themselves."""

_GZIP, _PARQUET = b"\x1f\x8b", b"PAR1"


def is_file(wallets: Wallets) -> bool:
    return isinstance(wallets, (str, os.PathLike))


@contextmanager
def as_file(wallets: Wallets) -> Iterator[Path]:
    """A features file with these wallets."""
    if isinstance(wallets, (str, os.PathLike)):
        yield Path(wallets)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wallets.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for number, wallet in enumerate(wallets, 1):
                try:
                    file.write(json.dumps(dict(wallet), allow_nan=False) + "\n")
                except (TypeError, ValueError) as error:
                    raise AssayError(f"wallet {number} cannot be written as JSON: {error}") from error
        yield path


def each(wallets: Wallets) -> Iterator[Mapping[str, Any]]:
    """The wallets one by one."""
    if not isinstance(wallets, (str, os.PathLike)):
        yield from wallets
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
