"""A backtest, and its summary for a notebook."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from ._program import run
from ._wallets import Wallets, as_file


def _cell(value: Any, head: bool = False) -> str:
    tag = "th" if head else "td"
    return f"<{tag}>{escape(str(value))}</{tag}>"


def _rows(head: list[str], rows: list[list[Any]]) -> str:
    lines = ["".join(_cell(one, True) for one in head)] + ["".join(map(_cell, row)) for row in rows]
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def _within(figure: dict[str, Any] | None) -> str:
    """A figure with its 95 % interval."""
    if not figure or figure.get("value") is None:
        return "–"
    interval = figure.get("interval")
    ends = f" ({interval['low']:.3f} to {interval['high']:.3f})" if interval else ""
    return f"{figure['value']:.3f}{ends}"


@dataclass(frozen=True, repr=False)
class Backtest:
    """What `assay backtest` found. A notebook shows a summary."""

    result: dict[str, Any]
    """The whole result, as `assay backtest --json` writes it."""
    page: str
    """The HTML page with charts: one file, without scripts and network."""

    @property
    def verdict(self) -> str:
        """The result in one sentence for each comparison, or for the one model."""
        said = [one["verdict"] for one in self.result["comparisons"] or self.result["grades"]]
        return " ".join(said)

    def __repr__(self) -> str:
        names = " and ".join(one["name"] for one in self.result["models"])
        return f"Backtest({names}, {self.result['sample']['records']} records: {self.verdict})"

    def _repr_html_(self) -> str:
        sample, models = self.result["sample"], self.result["models"]
        grades = {grade["model"]: grade for grade in self.result["grades"]}
        parts = [f"<p>{escape(self.verdict)}</p>"] if self.verdict else []
        parts.append(f"<p>{sample['records']} records, {sample['with_outcome']} with an outcome, "
                     f"{sample['bad_outcomes']} of them bad</p>")
        head, rows = ["model", "scored", "refused", "failed", "mean", "AUC within dates", "AUC", "KS"], []
        for one in models:
            grade = grades.get(one["name"], {})
            mean = "–" if one["mean"] is None else f"{one['mean']:.0f}"
            rows.append([one["name"], one["scored"], one["refused"], one["failed"], mean,
                         *(_within(grade.get(name)) for name in ("within_dates", "auc", "ks"))])
        parts.append(_rows(head, rows))
        for name, grade in grades.items():
            ranges = [[one["range"], one["count"], one["bad"], "–" if one["rate"] is None else f"{one['rate']:.1%}",
                       "yes" if one["enough"] else "no"] for one in grade["ranges"]]
            head = ["range", "wallets", "bad", "bad rate", "enough to judge"]
            parts.append(f"<p>{escape(name)}</p>" + _rows(head, ranges))
        return "".join(parts)


def backtest(
    component: str | os.PathLike[str], wallets: Wallets, beside: str | os.PathLike[str] | None = None
) -> Backtest:
    """Judges a component on wallets with outcomes, and beside another component if one is named.

    Judge on wallets that the model has not seen: of later dates, and of other clusters.
    """
    models = [os.fspath(one) for one in (beside, component) if one is not None]
    with as_file(wallets) as file, tempfile.TemporaryDirectory() as folder:
        result, page = Path(folder) / "result.json", Path(folder) / "page.html"
        run("backtest", "--models", ",".join(models), "--features", file, "--json", result, "--html", page)
        return Backtest(json.loads(result.read_text(encoding="utf-8")), page.read_text(encoding="utf-8"))
