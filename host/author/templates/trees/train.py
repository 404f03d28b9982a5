"""Trains on matrix.csv, whose last column is the outcome (1 where it was bad). Writes model.txt and predictions.csv.

    assay features table model.toml history.jsonl > matrix.csv
    python train.py
    assay model build --expect predictions.csv
"""

import lightgbm
import numpy

names = open("matrix.csv").readline().strip().split(",")
table = numpy.genfromtxt("matrix.csv", delimiter=",", skip_header=1)
assert names[-1] == "outcome", "history.jsonl needs an `outcome` for each wallet"
x, y, names = table[:, :-1], table[:, -1], names[:-1]
# The margin is the log-odds of a bad outcome, so a feature that lowers the score raises the margin.
rising = [int(name == "liquidations") for name in names]
parameters = dict(objective="binary", num_leaves=15, learning_rate=0.05, min_data_in_leaf=20, verbose=-1,
                  monotone_constraints=rising, monotone_constraints_method="basic", deterministic=True, seed=7)
model = lightgbm.train(parameters, lightgbm.Dataset(x, y, feature_name=names), num_boost_round=200)
model.save_model("model.txt")
# What the component has to predict: `assay model build --expect predictions.csv` compares it for each wallet.
numpy.savetxt("predictions.csv", model.predict(x, raw_score=True), header="margin", comments="", fmt="%.17g")
print(f"model.txt: {model.num_trees()} trees from {len(y)} wallets, {y.mean():.1%} of them bad")
