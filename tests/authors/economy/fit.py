"""Fits a scorecard to an export with outcomes, and writes it as a declaration that `assay model pack` takes.

Usage: fit.py ASSAY DECLARATION EXPORT OUT

Each figure gets bins in which the share of bad outcomes moves one way, as `monotone` says, with a weight of evidence
for each bin. A logistic regression then weighs the figures, none below zero, with an intercept for each date, so that a
fall of prices on a date is no property of the wallets that owed then.
"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import numpy
from scipy.optimize import minimize

# Quantiles that bins begin with; the fewest bad outcomes that a bin is to be expected to have; the least information
# value of a figure that is taken.
QUANTILES, SUPPORT, LEAST = 12, 3.0, 0.1
RIDGE = 1.0


def expected(bad, dates):
    """The share of bad outcomes on the date of each row."""
    _, codes = numpy.unique(dates, return_inverse=True)
    return (numpy.bincount(codes, bad) / numpy.bincount(codes))[codes]


def evidence(bad, rate):
    """By how much the log odds of some rows exceed those of their dates, with half a row of each kind added."""
    observed, good = bad.sum() + 0.5, (1 - bad).sum() + 0.5
    return float(numpy.log(observed / (rate.sum() + 0.5)) - numpy.log(good / ((1 - rate).sum() + 0.5)))


def bins(column, bad, rate, rising):
    """Edges of bins with enough outcomes, whose weights of evidence move one way."""
    known = ~numpy.isnan(column)
    edges = sorted(set(numpy.quantile(column[known], numpy.arange(1, QUANTILES) / QUANTILES))) if known.any() else []
    edges = [float(edge) for edge in edges if edge > column[known].min()]
    while edges:
        cells = numpy.where(known, numpy.digitize(column, edges), -1)
        woe = [evidence(bad[cells == cell], rate[cells == cell]) for cell in range(len(edges) + 1)]
        support = [rate[cells == cell].sum() for cell in range(len(edges) + 1)]
        pairs = [support[at] + support[at + 1] for at in range(len(edges))]
        wrong = [at for at in range(len(edges)) if woe[at] == woe[at + 1] or (woe[at] < woe[at + 1]) != rising]
        if min(support) < SUPPORT:
            # The thin bin joins the thinner of its neighbours.
            thin = support.index(min(support))
            del edges[min([at for at in (thin - 1, thin) if 0 <= at < len(edges)], key=pairs.__getitem__)]
        elif wrong:
            del edges[wrong[0]]
        else:
            break
    return edges


def information(places, bad, rate, woe):
    """The information value of bins: how far their bad outcomes are from those of their dates."""
    beyond = numpy.bincount(places, bad - rate, len(woe)) / bad.sum()
    return float(beyond @ numpy.array(woe))


def fit(evidence, bad, dates):
    """A weight of at least zero for each figure, and the mean of the intercepts of the dates."""
    names, codes = numpy.unique(dates, return_inverse=True)
    count = len(names)

    def loss(weights):
        margin = evidence @ weights[count:] + weights[codes]
        error = 1 / (1 + numpy.exp(-margin)) - bad
        value = numpy.logaddexp(0, margin).sum() - bad @ margin + RIDGE / 2 * (weights**2).sum()
        return value, numpy.r_[numpy.bincount(codes, error, count), evidence.T @ error] + RIDGE * weights

    bounds = [(None, None)] * count + [(0, None)] * evidence.shape[1]
    found = minimize(loss, numpy.zeros(count + evidence.shape[1]), jac=True, bounds=bounds, method="L-BFGS-B").x
    return found[count:], float(found[codes].mean())


def matrix(assay, declaration, rows):
    """The figures of the declaration for each row, as the model computes them."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as kept:
        kept.writelines(json.dumps(row) + "\n" for row in rows)
        kept.flush()
        done = subprocess.run([assay, "features", "table", declaration, kept.name], stdout=subprocess.PIPE, check=True)
    lines = done.stdout.decode().splitlines()
    # Id, date and cluster stand before the figures, and the outcome after them.
    return numpy.genfromtxt(lines[1:], delimiter=",")[:, 3:-1]


def main():
    assay, declaration, export, out = sys.argv[1:]
    rows = [row for row in map(json.loads, open(export, encoding="utf-8")) if row.get("outcome") is not None]
    bad = numpy.array([float(row["outcome"]) for row in rows])
    table, text = matrix(assay, declaration, rows), Path(declaration).read_text(encoding="utf-8")
    declared = tomllib.loads(text)
    dates = [row["as_of"] for row in rows]
    rate, columns, cells = expected(bad, dates), [], []
    for feature, column in zip(declared["feature"], table.T):
        edges, absent = bins(column, bad, rate, feature["monotone"] == "falling"), numpy.isnan(column)
        places = numpy.where(absent, len(edges) + 1, numpy.digitize(column, edges))
        woe = [evidence(bad[places == place], rate[places == place]) for place in range(len(edges) + 2)]
        # Nothing is known of what is absent from so few rows.
        woe[-1] = woe[-1] if rate[absent].sum() >= SUPPORT else 0.0
        if information(places, bad, rate, woe) < LEAST:
            edges, woe, places = [], [0.0, 0.0], places * 0
        columns.append(numpy.array(woe)[places])
        cells.append((edges, woe))
    weights, intercept = fit(numpy.column_stack(columns), bad, dates)
    score = declared["score"]
    per = score["points_to_double"] / numpy.log(2)
    margins = numpy.column_stack(columns) @ weights + intercept
    scores = score["anchor_score"] - per * numpy.log(score["anchor_odds"]) - per * margins
    # Each decile begins above the one before.
    deciles = numpy.quantile(scores.clip(301, 991), numpy.arange(1, 10) / 10).round().astype(int)
    deciles = numpy.maximum.accumulate(deciles - numpy.arange(9)) + numpy.arange(9)
    text = text.replace("intercept = 0", f"intercept = {intercept!r}")
    text = re.sub(r"deciles = .*", f"deciles = {deciles.tolist()}", text)
    for feature, weight, (edges, woe) in zip(declared["feature"], weights, cells):
        line = f'is = {json.dumps(feature["is"])}'
        fitted = f"edges = {edges}\nwoe = {woe[:-1]}\nabsent = {woe[-1]!r}\nweight = {float(weight)!r}"
        text = text.replace(line, f"{line}\n{fitted}")
        print(f"{feature['name']}: weight {weight:.2f}, {len(edges) + 1} bins")
    Path(out).write_text(text, encoding="utf-8")
    print(f"{len(rows)} rows, {int(bad.sum())} bad")


main()
