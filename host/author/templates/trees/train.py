"""Trains on matrix.csv, whose outcome is 1 if it was bad. Writes model.txt, and what it predicts for the wallets
(predictions.csv) and for rows at which a reader of trees could go wrong (odd-predictions.csv). Prints how well the trees
rank wallets of later dates and of clusters that they have not seen.

    assay features table model.toml history.jsonl > matrix.csv
    python train.py
    assay model build
"""

import csv
import os
import subprocess
import time

import lightgbm
import numpy

RISING = {"liquidations"}  # a feature that lowers the score raises the margin, the log-odds of a bad outcome
ROUNDS, HELD, DRAWS = 200, 0.25, 200
random = numpy.random.default_rng(7)

with open("matrix.csv", newline="", encoding="utf-8") as file:
    rows = list(csv.DictReader(file))
names = [name for name in rows[0] if name not in ("id", "as_of", "cluster", "outcome")]
x = numpy.array([[float(row[name] or "nan") for name in names] for row in rows])
known = numpy.array([row["outcome"] != "" for row in rows])
assert known.any(), "history.jsonl needs an `outcome` for the wallets to train on"
y = numpy.array([float(row["outcome"] or "nan") for row in rows])
months = numpy.array([time.strftime("%Y-%m", time.gmtime(int(row["as_of"]))) for row in rows])
# A wallet without a cluster is its own.
_, clusters = numpy.unique([row["cluster"] or f"row {at}" for at, row in enumerate(rows)], return_inverse=True)


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
assert len(numpy.unique(y[train])) == 2, f"{len(train)} wallets are left to train on: give more dates or clusters"
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
odd = subprocess.run(program, check=True, capture_output=True, encoding="utf-8").stdout.splitlines()
odd = numpy.array([[float(row[name] or "nan") for name in names] for row in csv.DictReader(odd)])
for rows_of, name in [(x, "predictions.csv"), (odd, "odd-predictions.csv")]:
    numpy.savetxt(name, model.predict(rows_of, raw_score=True), header="margin", comments="", fmt="%.17g")
print(f"model.txt: {model.num_trees()} trees from {known.sum()} wallets, {y[known].mean():.1%} of them bad")
