"""Keeps what a model prints, and what stopped it, where `assay model try` finds them; lets fail in words what a model
may not do. It is imported before the model."""

import builtins
import datetime
import io
import os
import random
import sys
import time

# The most characters that are kept of what is printed.
MOST = 65_536
OWN = ("entry.py", "confined.py", "assay.py", "assay_answers.py")

_serving = False
_remains = []


class _Printed(io.TextIOBase):
    text = ""

    def write(self, text):
        if len(self.text) < MOST:
            self.text = (self.text + text)[:MOST]
        return len(text)


_printed = _Printed()


def printed() -> str:
    return _printed.text


def serve():
    """From here on calls are confined: what runs before, at the top of files, runs once, when the model is built."""
    global _serving
    _serving = True
    sys.stdout = sys.stderr = _printed


def _refuse(owner, names, why):
    for name in names:
        if hasattr(owner, name):
            setattr(owner, name, _refused(f"{owner.__name__}.{name}()", getattr(owner, name), why))


def _refused(call, original, why):
    def function(*given, **named):
        if _serving:
            raise RuntimeError(f"{call}: {why}")
        return original(*given, **named)

    return function


CLOCK = "a model has no clock. Use features.as_of"
RANDOM = "a model has no randomness"
FILES = "a model has no files. Read them at the top of model.py: that runs when it is built"

_TIMES = ["time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "sleep"]
_DRAWS = ["random", "uniform", "randint", "randrange", "choice", "choices", "shuffle", "sample", "gauss", "seed"]
_refuse(time, _TIMES, CLOCK)
_refuse(random, [*_DRAWS, "_urandom"], RANDOM)
_refuse(os, ["urandom"], RANDOM)
_refuse(os, ["open", "listdir", "scandir", "stat"], FILES)
_refuse(builtins, ["open", "input"], FILES)
_refuse(io, ["open"], FILES)


class _Date(datetime.date):
    @classmethod
    def today(cls):
        raise RuntimeError(f"date.today(): {CLOCK}")


class _DateTime(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        raise RuntimeError(f"datetime.now(): {CLOCK}")

    @classmethod
    def utcnow(cls):
        raise RuntimeError(f"datetime.utcnow(): {CLOCK}")

    today = now


datetime.date, datetime.datetime = _Date, _DateTime


def stopped(error: BaseException):
    """Keeps `error` where the host finds it in the memory of an instance that stopped: its words, and its places."""
    places, step = [], error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        file = code.co_filename.rpartition("/")[2]
        if file not in OWN:
            places.append(f"{file}:{step.tb_lineno} in {code.co_name}")
        step = step.tb_next
    first, *callers = reversed(places) if places else ["model.py"]
    called = "".join(f", called at {place}" for place in callers[:8])
    _keep(b"PANIC:", f"panicked at {first}: {type(error).__name__}: {error}{called}")
    _keep(b"PRINT:", f"printed:{_printed.text}")


def _keep(mark: bytes, words: str):
    """The host looks for the marks in memory, so nothing else may begin with them."""
    _remains.append(b"".join([b"ASSAY-", mark, words.encode("ascii", "backslashreplace"), b"\0"]))
