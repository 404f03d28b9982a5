"""Trains LightGBM and XGBoost on the matrix that `assay features table` writes, and saves what they predict.

Usage: train.py FOLDER TREES    reads FOLDER/matrix.csv, and writes the models and their margins beside it
"""

import sys
from functools import partial
from pathlib import Path

import lightgbm
import numpy
import onnxruntime
import xgboost
from onnxmltools.convert import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType

TREES, LEAVES = int(sys.argv[2]), 31
folder = Path(sys.argv[1])
names = (folder / "matrix.csv").open().readline().strip().split(",")
x = numpy.genfromtxt(folder / "matrix.csv", delimiter=",", skip_header=1)
category, risk = names.index("markets"), names.index("liquidations")

random = numpy.random.default_rng(7)
hidden = numpy.nan_to_num(x, nan=0.5).clip(-30, 30)
hidden = (hidden - hidden.mean(axis=0)) / (hidden.std(axis=0) + 1e-9)
margin = hidden @ random.normal(size=len(names)) + (numpy.nan_to_num(x[:, category]) % 3)
y = (random.random(len(x)) < 1 / (1 + numpy.exp(-margin / 2))).astype(int)

# A category must not be absent in LightGBM's training; it may be when it predicts.
rising = [int(at == risk) for at in range(len(names))]
shared = dict(learning_rate=0.1, seed=7)
light = lightgbm.train(
    dict(shared, objective="binary", num_leaves=LEAVES, min_data_in_leaf=5, monotone_constraints=rising,
         monotone_constraints_method="basic", verbose=-1, deterministic=True, num_threads=2, max_cat_to_onehot=1),
    lightgbm.Dataset(x, y, feature_name=names, categorical_feature=[category]),
    TREES,
)
light.save_model(folder / "lightgbm.txt")
numpy.savetxt(folder / "lightgbm.csv", light.predict(x, raw_score=True), fmt="%.17g")
EXPLAINED = 100
numpy.savetxt(folder / "lightgbm-shapley.csv", light.predict(x[:EXPLAINED], pred_contrib=True), fmt="%.17g")

types = ["c" if at == category else "q" for at in range(len(names))]
table = xgboost.DMatrix(x, y, feature_names=names, feature_types=types, enable_categorical=True)
extreme = xgboost.train(
    dict(shared, objective="binary:logistic", max_leaves=LEAVES, grow_policy="lossguide", tree_method="hist", nthread=2,
         monotone_constraints=tuple(rising), max_cat_to_onehot=1),
    table,
    TREES,
)
extreme.save_model(folder / "xgboost.json")
numpy.savetxt(folder / "xgboost.csv", extreme.predict(table, output_margin=True), fmt="%.17g")
explained = extreme.predict(table.slice(range(EXPLAINED)), pred_contribs=True)
numpy.savetxt(folder / "xgboost-shapley.csv", explained, fmt="%.17g")

# The same without categories as ONNX, which sends them another way, on figures of its precision. Its margins are those of
# its own runtime.
plain = numpy.array([at for at in range(len(names)) if at != category])
signs = [rising[at] for at in plain]
of_onnx = lightgbm.train(dict(shared, objective="binary", num_leaves=LEAVES, verbose=-1, num_threads=2,
                              monotone_constraints=signs, monotone_constraints_method="basic"),
                         lightgbm.Dataset(x[:, plain].astype(numpy.float32), y), TREES)
# Its own file counts the training data in each leaf, which ONNX does not.
of_onnx.save_model(folder / "onnx-of-lightgbm.txt")
for name, convert, trained in [
    ("onnx-of-lightgbm", partial(convert_lightgbm, zipmap=False),
     of_onnx),
    ("onnx-of-xgboost", convert_xgboost,
     xgboost.train(dict(shared, objective="binary:logistic", max_depth=5, nthread=2, monotone_constraints=tuple(signs)),
                   xgboost.DMatrix(x[:, plain], y), TREES)),
]:
    model = convert(trained, initial_types=[("x", FloatTensorType([None, len(plain)]))], target_opset=15)
    (folder / f"{name}.onnx").write_bytes(model.SerializeToString())
    ensemble = next(node for node in model.graph.node if node.op_type == "TreeEnsembleClassifier")
    next(part for part in ensemble.attribute if part.name == "post_transform").s = b"NONE"
    session = onnxruntime.InferenceSession(model.SerializeToString())
    margins = session.run(["probabilities"], {"x": x[:, plain].astype(numpy.float32)})[0][:, 1]
    numpy.savetxt(folder / f"{name}.csv", margins, fmt="%.17g")

# Objectives other than the binary ones with a sigmoid of 1.
quick = dict(shared, num_leaves=7, verbose=-1, num_threads=2, monotone_constraints=rising,
             monotone_constraints_method="basic")
doubled = lightgbm.train(dict(quick, objective="binary", sigmoid=2.0), lightgbm.Dataset(x, y, feature_name=names), 5)
doubled.save_model(folder / "lightgbm-sigmoid.txt")
numpy.savetxt(folder / "lightgbm-sigmoid.csv", doubled.predict(x, raw_score=True), fmt="%.17g")
for objective in ["regression", "poisson", "lambdarank"]:
    groups = [10] * (len(x) // 10) if objective == "lambdarank" else None
    table = lightgbm.Dataset(x, y, feature_name=names, group=groups)
    lightgbm.train(dict(quick, objective=objective), table, 2).save_model(folder / f"lightgbm-{objective}.txt")
for objective in ["reg:squarederror", "rank:pairwise"]:
    table = xgboost.DMatrix(x, y, feature_names=names)
    if objective.startswith("rank"):
        table.set_group([10] * (len(x) // 10))
    other = xgboost.train(dict(objective=objective, nthread=2, monotone_constraints=tuple(rising)), table, 2)
    other.save_model(folder / f"xgboost-{objective.partition(':')[2]}.json")

# Early stopping: an estimator predicts up to its best iteration, a booster with all of its trees.
half = len(x) // 2
fitted, held = (xgboost.DMatrix(x[rows], y[rows], feature_names=names) for rows in (slice(half), slice(half, None)))
stopped = xgboost.train(dict(objective="binary:logistic", eta=1.0, nthread=2, monotone_constraints=tuple(rising)), fitted,
                        200, evals=[(held, "held")], early_stopping_rounds=5, verbose_eval=False)
assert stopped.best_iteration + 1 < stopped.num_boosted_rounds()
stopped.save_model(folder / "xgboost-booster.json")
margins = stopped.predict(xgboost.DMatrix(x, feature_names=names), output_margin=True,
                          iteration_range=(0, stopped.best_iteration + 1))
numpy.savetxt(folder / "xgboost-estimator.csv", margins, fmt="%.17g")
# What `save_model` of an estimator adds.
stopped.set_attr(scikit_learn="{}")
stopped.save_model(folder / "xgboost-estimator.json")

# The table of the scorecard in authors/card.toml, by numpy.
points = numpy.full(len(x), 300.0)
for name, edges, cells, absent in [
    ("age", [30, 180, 365, 1095], [0, 40, 80, 120, 160], 10),
    ("repays", [1, 4, 11], [0, 60, 120, 200], 0),
    ("liquidations", [1, 2], [140, 40, -120], 100),
    ("assets", [4, 7, 10], [0, 80, 140, 199.5], 0),
]:
    column = x[:, names.index(name)]
    bins = numpy.array(cells)[numpy.digitize(column, edges).clip(0, len(edges))]
    points += numpy.where(numpy.isnan(column), absent, bins)
numpy.savetxt(folder / "card.csv", points, fmt="%.17g")
