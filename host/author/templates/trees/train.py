"""Trains on matrix.csv, whose outcome is 1 if it was bad. Writes model.txt, and what it predicts for the wallets
(predictions.csv) and for rows at which a reader of trees could go wrong (odd-predictions.csv). Prints how well the
trees rank wallets of later dates and of clusters that they have not seen.

    assay features table model.toml history.jsonl > matrix.csv
    python train.py
    assay model build
"""

import csv
import os
import subprocess
import sys
import time
import tomllib

import lightgbm
import numpy

RISING = {"liquidations"}  # a feature that lowers the score raises the margin, the log-odds of a bad outcome
ROUNDS, HELD, DRAWS = 200, 0.25, 200
random = numpy.random.default_rng(7)


def stop(why):
    sys.exit(f"train.py: {why}")


def number(text, field, line):
    """A finite number, or NaN for an empty cell."""
    try:
        found = float(text or "nan")
    except ValueError:
        found = numpy.inf
    if text and not numpy.isfinite(found):
        stop(f"matrix.csv, line {line}: `{field}` is {text!r}, which is not a finite number. Correct it")
    return found


def table(names):
    """The columns of matrix.csv. A file that `assay features table` does not write ends the program with a sentence."""
    again = "Write it again: assay features table model.toml history.jsonl > matrix.csv"
    wanted = ["id", "as_of", "cluster", *names, "outcome"]
    try:
        with open("matrix.csv", newline="", encoding="utf-8-sig") as file:
            head, *lines = list(csv.reader(file, strict=True)) or [[]]
    except (OSError, ValueError, csv.Error) as error:
        stop(f"matrix.csv cannot be read: {error}. {again}")
    if head != wanted:
        stop(f"matrix.csv has the columns {','.join(head)!r:.200}, and not {','.join(wanted)!r}. {again}")
    rows = [(at, row) for at, row in enumerate(lines, 2) if row]
    for at, row in rows:
        if len(row) != len(wanted):
            stop(f"matrix.csv, line {at} has {len(row)} cells, and the first line {len(wanted)}. {again}")
    if not rows:
        stop("matrix.csv has no wallets: put some into history.jsonl, and write it again")
    column = {name: [row[place] for _, row in rows] for place, name in enumerate(wanted)}
    for field in (*names, "as_of", "outcome"):
        column[field] = numpy.array([number(cell, field, at) for cell, (at, _) in zip(column[field], rows)])
        if numpy.isnan(column[field]).all():
            stop(f"matrix.csv: `{field}` is empty in all {len(rows)} rows, so nothing can be learned from it. "
                 + {"outcome": "Give wallets of history.jsonl an `outcome`", "as_of": again}.get(
                     field, "Correct its expression in model.toml, or remove it there"))
    for field, fits in [("as_of", lambda it: 0 <= it < 1e11), ("outcome", lambda it: it in (0, 1) or it != it)]:
        for value, (at, _) in zip(column[field], rows):
            if not fits(value):
                stop(f"matrix.csv, line {at}: `{field}` is {value:g}. {again}")
    outcomes = column["outcome"][~numpy.isnan(column["outcome"])]
    if len(numpy.unique(outcomes)) == 1:
        only, other = ("bad", "good") if outcomes[0] else ("good", "bad")
        stop(f"matrix.csv: all {len(outcomes)} outcomes are {outcomes[0]:g} ({only}), and none is {1 - outcomes[0]:g} "
             f"({other}): trees learn from both. Add {other} wallets to history.jsonl, and write it again")
    return column


with open("model.toml", "rb") as file:
    names = [feature["name"] for feature in tomllib.load(file)["feature"]]
column = table(names)
x = numpy.column_stack([column[name] for name in names])
y, known = column["outcome"], ~numpy.isnan(column["outcome"])
months = numpy.array([time.strftime("%Y-%m", time.gmtime(int(moment))) for moment in column["as_of"]])
# A wallet without a cluster is its own.
_, clusters = numpy.unique([name or f"row {at}" for at, name in enumerate(column["cluster"])], return_inverse=True)


def fit(chosen):
    parameters = dict(objective="binary", num_leaves=15, learning_rate=0.05, min_data_in_leaf=20, verbose=-1,
                      monotone_constraints=[int(name in RISING) for name in names],
                      monotone_constraints_method="basic", deterministic=True, seed=7, num_threads=1)
    return lightgbm.train(parameters, lightgbm.Dataset(x[chosen], y[chosen], feature_name=names), ROUNDS)


def auc(figures, chosen):
    """How often a bad wallet has more than a good one of the same month; NaN without such pairs."""
    right = pairs = 0.0
    for month in numpy.unique(months[chosen]):
        of = chosen[months[chosen] == month]
        bad, good = (numpy.sort(figures[of[y[of] == outcome]]) for outcome in (1, 0))
        below, reached = (numpy.searchsorted(good, bad, side) for side in ("left", "right"))
        right, pairs = right + (below + reached).sum() / 2, pairs + len(bad) * len(good)
    return right / pairs if pairs else numpy.nan


def said(what, figures, chosen):
    """The AUC with its 95 % interval, by drawing clusters."""
    members = {one: chosen[clusters[chosen] == one] for one in numpy.unique(clusters[chosen])}
    keys = list(members)
    draws = [auc(figures, numpy.concatenate([members[keys[at]] for at in random.integers(len(keys), size=len(keys))]))
             for _ in range(DRAWS)]
    low, high = numpy.nanquantile(draws, [0.025, 0.975]) if not numpy.isnan(draws).all() else (numpy.nan, numpy.nan)
    print(f"  {what}: AUC within months {auc(figures, chosen):.3f} ({low:.3f} to {high:.3f})")


# The newest months are held back, with every row of their clusters; of clusters by chance if there is one month.
order = numpy.unique(months[known])
later = numpy.isin(months, order[len(order) - max(1, round(len(order) * HELD)):]) if len(order) > 1 else numpy.isin(
    clusters, random.permutation(clusters.max() + 1)[: max(1, round((clusters.max() + 1) * HELD))])
apart = numpy.unique(clusters[known & later])
if numpy.isin(clusters[known & ~later], apart).mean() > 0.5:
    # Most wallets are in the newest months too: half of them are left to train on, on their earlier dates.
    apart = random.permutation(apart)[: max(1, len(apart) // 2)]
held = numpy.flatnonzero(known & later & numpy.isin(clusters, apart))
train = numpy.flatnonzero(known & ~later & ~numpy.isin(clusters, apart))
if len(numpy.unique(y[train])) < 2:
    stop(f"{len(train)} wallets are left to train on, without good and bad ones among them, and {len(held)} are held "
         "back to try the trees on. Give wallets of more dates or clusters")
trial = fit(train)
# The simplest model is one input, in the direction that ranks the training best. What is absent is in the middle.
middle = numpy.where(numpy.isnan(x), numpy.nanmedian(x, axis=0), x)
of_train = numpy.nan_to_num([auc(middle[:, at], train) - 0.5 for at in range(len(names))])
best = int(numpy.argmax(numpy.abs(of_train)))
print(f"trained on {len(train)} wallets, and tried on {len(held)} of {min(months[held])} to {max(months[held])}:")
said("trees", trial.predict(x, raw_score=True), held)
said(f"{names[best]} alone", middle[:, best] * (1 if of_train[best] > 0 else -1), held)

# The model has all of them.
model = fit(numpy.flatnonzero(known))
model.save_model("model.txt")
# What the component has to predict: `assay model build` compares it for each wallet and each odd row.
program = [os.environ.get("ASSAY_BIN", "assay"), "features", "odd", "model.toml"]
try:
    done = subprocess.run(program, capture_output=True, encoding="utf-8")
except OSError as error:
    stop(f"{program[0]} cannot be run: {error}. Put `assay` on PATH, or its path into ASSAY_BIN")
if done.returncode:
    stop(done.stderr.strip())
odd = numpy.array([[float(row[name] or "nan") for name in names] for row in csv.DictReader(done.stdout.splitlines())])
for rows_of, name in [(x, "predictions.csv"), (odd, "odd-predictions.csv")]:
    numpy.savetxt(name, model.predict(rows_of, raw_score=True), header="margin", comments="", fmt="%.17g")
print(f"model.txt: {model.num_trees()} trees from {known.sum()} wallets, {y[known].mean():.1%} of them bad")
