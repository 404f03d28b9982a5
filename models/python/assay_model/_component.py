"""A component, called through wasmtime as a server calls it."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable

import pandas
import wasmtime
from wasmtime import component as model

from ._program import AssayError
from ._wallets import Wallets, each

# A server allows a call 20 ms of processor time; this ends a call that would not return.
_FUEL = 2_000_000_000
# What the largest class of models may have.
_MEMORY = 16 << 20
_LISTS = ("chains", "markets", "holdings", "identity")
# The columns of a features file.
_COLUMNS = ("id", "outcome", "cluster", "as_of", *_LISTS)
# What a market of wit/v2 has and one of wit/v1 has not.
_NEWER = {"events_coverage", "events", "dollars", "liquidation_days", "position"}
# What a market is without these, as the server reads a features file: unread.
_UNREAD = {"events_coverage": "failed", "events": [], "dollars": {}}
_WHOLE: dict[type, int] = {model.U8: 8, model.U16: 16, model.U32: 32, model.U64: 64}

Lower = Callable[[Any, str], Any]


def _lower(of: model.ValType) -> Lower:
    """How a value of JSON becomes one of this type. Wasmtime cuts a number that is too large, so each is checked."""
    if isinstance(of, model.RecordType):
        return _record(of)
    if isinstance(of, model.ListType):
        item = _lower(of.element)

        def items(value: Any, at: str) -> Any:
            if isinstance(value, (str, Mapping)) or not hasattr(value, "__iter__"):
                raise AssayError(f"{at} is {value!r:.40}, and must be a list")
            return [item(one, f"{at}[{number}]") for number, one in enumerate(value)]

        return items
    if isinstance(of, model.OptionType):
        some = _lower(of.payload)
        return lambda value, at: None if value is None else some(value, at)
    if isinstance(of, model.EnumType):
        words = of.names

        def word(value: Any, at: str) -> str:
            if value not in words:
                raise AssayError(f"{at} is {value!r:.40}, and must be one of {', '.join(words)}")
            return value

        return word
    if type(of) in _WHOLE:
        most = 1 << _WHOLE[type(of)]

        def whole(value: Any, at: str) -> int:
            # pandas makes floats of counts with gaps.
            number = int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value
            if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < most:
                raise AssayError(f"{at} is {value!r:.40}, and must be a whole number below {most}")
            return number

        return whole
    if isinstance(of, model.F64):

        def figure(value: Any, at: str) -> float:
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
                raise AssayError(f"{at} is {value!r:.40}, and must be a finite number")
            return float(value)

        return figure
    plain = {model.Bool: bool, model.String: str}.get(type(of))
    if plain is None:
        raise AssayError(f"a feature of the type {type(of).__name__} is unknown: use a newer assay-model")

    def checked(value: Any, at: str) -> Any:
        if not isinstance(value, plain):
            raise AssayError(f"{at} is {value!r:.40}, and must be {plain.__name__}")
        return value

    return checked


def _record(of: model.RecordType) -> Lower:
    fields = [
        (name, name.replace("-", "_"), isinstance(kind, model.OptionType), _lower(kind)) for name, kind in of.fields
    ]
    known = {name for _, name, _, _ in fields}
    if "feeds_score" in known:
        known |= _NEWER

    def record(value: Any, at: str) -> model.Record:
        if not isinstance(value, Mapping):
            raise AssayError(f"{at} is {value!r:.40}, and must be an object")
        made = model.Record()
        for name, key, optional, lower in fields:
            if key in value:
                given = value[key]
            elif optional or key in _UNREAD:
                given = _UNREAD.get(key)
            else:
                raise AssayError(f"{at} has no {key}")
            setattr(made, name, lower(given, f"{at}.{key}"))
        unknown = value.keys() - known
        if unknown:
            raise AssayError(f"{at} has the unknown field {min(unknown)}: it has {', '.join(sorted(known))}")
        return made

    return record


def _almost(name: str, known: str) -> bool:
    """Whether two names differ by one letter: one that is more, less or another, or two that are swapped."""
    name = name.lower()
    same = len(os.path.commonprefix([name, known]))
    a, b = name[same:], known[same:]
    swapped = a[:2] == b[:2][::-1] and len(a) > 1
    return a == b or a[1:] == b[1:] or a[1:] == b or a == b[1:] or (swapped and a[2:] == b[2:])


class _Model:
    """A credit model. Each call has a new instance, as on a server."""

    def __init__(self, path: Path) -> None:
        config = wasmtime.Config()
        config.consume_fuel = True
        self.engine = wasmtime.Engine(config)
        try:
            self.component = model.Component.from_file(self.engine, path)
        except OSError as error:
            raise AssayError(f"{path} cannot be read: {error}") from error
        except wasmtime.WasmtimeError as error:
            raise AssayError(f"{path} is not a component that wasmtime loads: {error}. Of a core module, "
                             "`assay model pack` makes one") from error
        exports = list(self.component.type.exports(self.engine))
        found = [name for name in exports if name.startswith("assay:model/credit@")]
        if not found:
            raise AssayError(f"{path} exports {', '.join(exports)}: `score` takes credit models")
        interface = self.component.get_export_index(found[0])
        self.functions = {name: self.component.get_export_index(name, interface) for name in ("score", "explain")}
        self.linker = model.Linker(self.engine)
        store, score = self.instance("score")
        lowered = _lower(score.type(store).params[0][1])

        def lower(wallet: Mapping[str, Any], at: str) -> Any:
            wrong = [name for name in wallet if name not in _COLUMNS and any(_almost(name, one) for one in _COLUMNS)]
            if wrong:
                raise AssayError(f"{at} has the field {wrong[0]}, which is almost a known one: rename or mend it")
            return lowered({"as_of": wallet.get("as_of")} | {name: wallet.get(name, []) for name in _LISTS}, at)

        self.lower = lower

    def instance(self, function: str) -> tuple[wasmtime.Store, model.Func]:
        store = wasmtime.Store(self.engine)
        store.set_fuel(_FUEL)
        store.set_limits(memory_size=_MEMORY)
        try:
            instance = self.linker.instantiate(store, self.component)
        except wasmtime.WasmtimeError as error:
            raise AssayError(f"the model does not start: {error}. `assay model check` says more") from error
        index = self.functions[function]
        found = None if index is None else instance.get_func(store, index)
        if found is None:
            raise AssayError(f"the model has no function {function}: `assay model check` says more")
        return store, found

    def ask(self, function: str, wallet: Any, at: str) -> Any:
        store, called = self.instance(function)
        try:
            return called(store, wallet)
        except wasmtime.WasmtimeError as error:
            raise AssayError(f"{at}: the model failed. `assay model try` says where: {error}") from error


def _put(row: dict[str, Any], label: str, points: int) -> None:
    if label in row:
        raise AssayError(f"two columns would be named {label!r}: give the factor another label")
    row[label] = points


def score(component: str | os.PathLike[str], wallets: Wallets) -> pandas.DataFrame:
    """Scores wallets with a component, which wasmtime runs.

    Returns one row for each wallet: `id`, `score`, `decile`, and the points of each factor under its label. If the
    model refuses a wallet, `refused` says why and the numbers are missing.

    Raises AssayError if the model fails or a wallet is not one.
    """
    path = Path(component)
    loaded = _Model(path)
    rows: list[dict[str, Any]] = []
    labels: list[str] | None = None
    for number, wallet in enumerate(each(wallets), 1):
        at = f"wallet {number}"
        lowered = loaded.lower(wallet, at)
        answer = loaded.ask("score", lowered, at)
        row: dict[str, Any] = {"id": wallet.get("id"), "score": None, "decile": None, "refused": None}
        rows.append(row)
        if not isinstance(answer, model.Record):
            # `no-activity` has no payload; `missing` has the name of what is absent.
            row["refused"] = "no activity" if answer is None else f"missing: {answer}"
            continue
        given = vars(answer)
        if not 300 <= given["score"] <= 1000 or not 1 <= given["decile"] <= 10:
            raise AssayError(f"{at} has the score {given['score']} and the decile {given['decile']}: a score is 300 to "
                             "1000 and a decile 1 to 10. `assay model check` says more")
        row["score"], row["decile"] = given["score"], given["decile"]
        if "factors" in given:
            for factor in given["factors"]:
                _put(row, factor.label, factor.points)
            continue
        # Of wit/v2: the labels are those of `explain`, the same for all wallets.
        if labels is None:
            labels = [factor.label for factor in loaded.ask("explain", lowered, at)]
        for label, points in zip(labels, given["points"], strict=True):
            _put(row, label, points)
    frame = pandas.DataFrame(rows, columns=None if rows else ["id", "score", "decile", "refused"])
    counts = [name for name in frame.columns if name not in ("id", "refused")]
    return frame.astype({name: "Int64" for name in counts})
