"""The program `assay`."""

from __future__ import annotations

import os
import shutil
import subprocess
import warnings
from pathlib import Path


class AssayError(Exception):
    """What is wrong, then what to do."""


def _find() -> str:
    named = os.environ.get("ASSAY_BIN")
    if named is not None:
        if not os.access(named, os.X_OK) or Path(named).is_dir():
            raise AssayError(f"ASSAY_BIN is {named!r}, which is not a program: set it to the path of `assay`")
        return named
    found = shutil.which("assay")
    if found is None:
        raise AssayError(
            "the program `assay` is not on PATH: build it with `cargo build --release` in a copy of Assay's source, "
            "and put target/release on PATH, or set ASSAY_BIN to its path"
        )
    return found


def run(*arguments: str | os.PathLike[str]) -> str:
    """Runs `assay` and returns what it prints. A warning of `assay` is one of Python.

    Raises AssayError with its last words if it fails.
    """
    command = [_find(), *(os.fspath(argument) for argument in arguments)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        said = done.stderr.strip().removeprefix("assay: ") or done.stdout.strip()
        raise AssayError(said or f"`{' '.join(command)}` ended with {done.returncode} and said nothing")
    for line in done.stderr.splitlines():
        if line.startswith("assay: "):
            warnings.warn(line.removeprefix("assay: "), stacklevel=3)
    return done.stdout
