"""Uses the Python package as an author does: package.py FOLDER SHELF.

FOLDER has wallets.jsonl and declaration.toml. Writes table.txt with the features, and for each model a folder with its
component and scores.csv.
"""

import json
import os
import re
import sys
import warnings
from pathlib import Path

import catboost
import lightgbm
import numpy
import pandas
import xgboost
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import assay_model
from assay_model import AssayError

folder, shelf = map(Path, sys.argv[1:])
assert Path(assay_model.__file__).is_relative_to(sys.prefix), f"{assay_model.__file__} is not that of the wheel"
wallets = folder / "wallets.jsonl"
rows = [json.loads(line) for line in wallets.read_text().splitlines()]


def refused(words, function, *arguments):
    try:
        function(*arguments)
    except AssayError as error:
        assert words in str(error), f"{words}: {error}"
        return
    raise AssertionError(f"not refused: {words}")


# The table, from a file and from records.
x = assay_model.features(folder / "declaration.toml", wallets)
y = x.pop("outcome").astype(int)
ids = [row["id"] for row in rows]
frame = pandas.read_json(wallets, lines=True, convert_dates=False, precise_float=True)
assert x.index.names == ["id", "as_of", "cluster"] and list(x.index.get_level_values("id")) == ids
for same in (rows, frame, pandas.DataFrame(rows)):
    assert x.equals(assay_model.features(folder / "declaration.toml", same).drop(columns="outcome"))
(folder / "table.txt").write_text("".join(" ".join(map(repr, map(float, row))) + "\n" for row in x.to_numpy()))


def keep(name, component):
    scores = assay_model.score(component, wallets)
    assert list(scores["id"]) == ids
    assert scores["score"].isna().equals(scores["refused"].notna())
    (folder / name).mkdir(exist_ok=True)
    scores[["score", "decile", *scores.columns[4:]]].to_csv(folder / name / "scores.csv", index=False)
    return scores


# Every origin.
light, extreme = dict(objective="binary", num_threads=1, verbose=-1), dict(objective="binary:logistic", nthread=1)
gradient = GradientBoostingClassifier(n_estimators=20, random_state=7)
settings = dict(iterations=20, verbose=False, thread_count=1, random_seed=7, allow_writing_files=False)
for name, fit, end in [
    ("lightgbm", lambda x: lightgbm.LGBMClassifier(n_estimators=20, n_jobs=1, verbose=-1).fit(x, y), "txt"),
    ("booster", lambda x: lightgbm.train(light, lightgbm.Dataset(x, y), 20), "txt"),
    ("xgboost", lambda x: xgboost.XGBClassifier(n_estimators=20, n_jobs=1).fit(x, y), "json"),
    ("dmatrix", lambda x: xgboost.train(extreme, xgboost.DMatrix(x, y), 20), "json"),
    ("catboost", lambda x: catboost.CatBoostClassifier(depth=4, **settings).fit(x.astype("float32"), y), "onnx"),
    ("sklearn", lambda x: gradient.fit(x.astype("float32"), y), "onnx"),
    ("hist", lambda x: HistGradientBoostingClassifier(max_iter=20, random_state=7).fit(x, y), "onnx"),
    ("search", lambda x: GridSearchCV(lightgbm.LGBMClassifier(n_jobs=1, verbose=-1), dict(n_estimators=[5, 9]), cv=2).fit(
        x, y), "txt"),
    ("frozen", lambda x: make_pipeline("passthrough", FrozenEstimator(xgboost.XGBClassifier(n_estimators=9, n_jobs=1).fit(
        x, y))), "json"),
    ("logistic", lambda x: make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(x, y), "onnx"),
    ("network", lambda x: make_pipeline(StandardScaler(), MLPClassifier((8,), max_iter=99, random_state=7)).fit(x, y), "onnx"),
]:
    made = folder / name
    made.mkdir()
    text = (folder / "declaration.toml").read_text()
    if end == "onnx":
        text = 'table = "matrix.csv"\n' + text
    if name in ("sklearn", "logistic", "network"):
        # It takes no absent values.
        text = re.sub(r"""(?m)^is = (["'])(.*)\1$""", r"is = \1or_else(\2, -1)\1", text)
    (made / "model.toml").write_text(f'trees = "model.{end}"\n{text}')
    own = assay_model.features(made / "model.toml", wallets).drop(columns="outcome")
    component = assay_model.pack(fit(own), made, wallets)
    assert component == made / f"{name}.wasm", component
    keep(name, component)
for version in ["credit-1.1", "credit-1.2"]:
    scores = keep(version, shelf / f"{version}.wasm")
    for same in (rows, frame):
        assert scores.equals(assay_model.score(shelf / f"{version}.wasm", same))

# A backtest, and its summary.
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    result = assay_model.backtest(folder / "lightgbm/lightgbm.wasm", wallets, beside=shelf / "credit-1.1.wasm")
    of_frame = assay_model.backtest(folder / "lightgbm/lightgbm.wasm", frame).result
    assert all(of_frame["sample"][one] == result.result["sample"][one] for one in ("records", "bad_outcomes"))
assert repr(result).startswith("Backtest(credit 1.1 and ") and len(repr(result)) < 1000, repr(result)
assert any("was trained on these wallets" in str(one.message) for one in caught), caught
assert result.result["sample"]["records"] == len(rows) and "<svg" in result.page
summary = result._repr_html_()
assert "credit 1.1" in summary and "AUC within dates" in summary and result.verdict[:40] in summary, summary

# MLflow.
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
import mlflow  # noqa: E402
from assay_model.mlflow import log_model, save_model  # noqa: E402

expected = assay_model.score(folder / "xgboost/xgboost.wasm", rows[:20])
save_model(folder / "xgboost/xgboost.wasm", folder / "saved")
mlflow.set_tracking_uri(f"file://{folder}/runs")
with mlflow.start_run():
    logged = log_model(folder / "xgboost/xgboost.wasm", "credit")
for place in [folder / "saved", logged.model_uri]:
    for same in (rows[:20], frame[:20]):
        assert mlflow.pyfunc.load_model(str(place)).predict(same).equals(expected)

# What is wrong is said.
declared = folder / "lightgbm"
forest = RandomForestClassifier(5).fit(numpy.nan_to_num(x), y)
refused('write trained = "model.onnx" for sklearn', assay_model.pack, forest, declared, wallets)
refused("its leaves are probabilities", assay_model.pack, forest, folder / "sklearn", wallets)
refused("give the wallets, not the table that `features` makes", assay_model.score, declared / "lightgbm.wasm", x)
refused("it is a pipeline of StandardScaler before LGBMClassifier", assay_model.pack,
        make_pipeline(StandardScaler(), lightgbm.LGBMClassifier(n_estimators=2, n_jobs=1, verbose=-1)).fit(x, y), declared, wallets)
refused("the decision function of LinearSVC is not in log-odds", assay_model.pack,
        make_pipeline(StandardScaler(), LinearSVC()).fit(numpy.nan_to_num(x), y), folder / "sklearn", wallets)
refused("str of builtins cannot be packed", assay_model.pack, "a model", declared, wallets)
narrow = lightgbm.LGBMClassifier(n_estimators=2, n_jobs=1, verbose=-1).fit(x.iloc[:, :5], y)
refused("it was trained on 5 features, and 33 are declared", assay_model.pack, narrow, declared, wallets)
for unfitted in [
    lightgbm.LGBMClassifier(), xgboost.XGBClassifier(), catboost.CatBoostClassifier(), LogisticRegression(),
    GridSearchCV(LogisticRegression(), {}), FrozenEstimator(MLPClassifier()), make_pipeline(StandardScaler(), MLPClassifier()),
]:
    library = assay_model._origin._library(assay_model._origin._unwrapped(unfitted))
    place = {"sklearn": "sklearn", "catboost": "catboost", "xgboost": "xgboost"}.get(library, "lightgbm")
    refused("is not fitted: call its `fit`", assay_model.pack, unfitted, folder / place, wallets)
constant = lightgbm.LGBMClassifier(n_estimators=2, n_jobs=1, verbose=-1).fit(x, y * 0)
refused("all outcomes that LGBMClassifier was fitted to are 0", assay_model.pack, constant, declared, wallets)
refused("has no wallet", assay_model.pack, narrow, declared, [])
turned = x.iloc[:, ::-1].astype("float32")
refused("it was fitted to liquidation_days, volatile_debt, ", assay_model.pack,
        catboost.CatBoostClassifier(depth=4, **settings).fit(turned, y), folder / "catboost", wallets)
refused("The feature names should match", assay_model.pack,
        GradientBoostingClassifier(n_estimators=2).fit(turned.fillna(-1), y), folder / "sklearn", wallets)
refused("`liquidation_days` there", assay_model.pack,
        lightgbm.LGBMClassifier(n_estimators=2, n_jobs=1, verbose=-1).fit(turned, y), declared, wallets)
refused("no-such.toml", assay_model.features, folder / "no-such.toml", wallets)
component = declared / "lightgbm.wasm"
refused("`score` takes credit models", assay_model.score, shelf / "enhanced-boost-1.1.wasm", rows)
refused("is not a component", assay_model.score, wallets, rows)
chain = dict(chain_id=1, coverage="complete", transactions=1, assets_usd=0, supplied_usd=0.0, borrowed_usd=0)
one = rows[0] | {"chains": [chain], "markets": []}
other = {"outcome": 1, "income": 5, "events": "no column of ours"}
assert assay_model.score(component, [one | other])["score"].notna().all()
for words, wallet in [
    ("wallet 1 has the field chain, which is almost a known one", one | {"chain": []}),
    ("wallet 1.as_of is None", {}),
    ("wallet 1.chains[0] has no coverage", one | {"chains": [{"chain_id": 1}]}),
    ("has the unknown field transfer", one | {"chains": [chain | {"transfer": 1}]}),
    ("has the unknown field events", one | {"chains": [chain | {"events": []}]}),
    ("wallet 1.chains[0].counterparties is 4294967296, and must be a whole number below 4294967296",
     one | {"chains": [chain | {"counterparties": 1 << 32}]}),
    ("wallet 1.chains[0].coverage is 'good'", one | {"chains": [chain | {"coverage": "good"}]}),
    ("wallet 1.chains[0].assets_usd is inf", one | {"chains": [chain | {"assets_usd": float("inf")}]}),
]:
    refused(words, assay_model.score, component, [wallet])
    if "inf" not in words:
        # The host refuses it as well.
        refused("", assay_model.features, folder / "declaration.toml", [wallet])
os.environ["ASSAY_BIN"] = str(folder)
refused("which is not a program: set it to", assay_model.features, folder / "declaration.toml", rows)
del os.environ["ASSAY_BIN"]
os.environ["PATH"] = ""
refused("`assay` is not on PATH", assay_model.features, folder / "declaration.toml", rows)
