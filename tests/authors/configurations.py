"""Trains the models that LightGBM, XGBoost, CatBoost, scikit-learn and their converters to ONNX make in ordinary ways.

Usage: configurations.py FOLDER TREES    reads FOLDER/matrix.csv, and writes beside it, for each configuration: the model,
                                         NAME.csv with what its library predicts of each row, and a line of
                                         configurations.jsonl

A line has `origin` and `trained`, in words; `file`; `table` if the file lacks covers; `points` if it predicts a score
and not log-odds; `filled` if it was trained on -1 for what is absent; `factor` for its log-odds; `says` and
`calibration` for the declaration; `weights` and `intercept` of a model without a file; `probability` if that is what it
predicts; `single` if it does so with single precision; `refused` for words of the refusal, none if it must be equal; and
`unsaved` with why the library cannot save it.
"""

import json
import os
import sys
import warnings
from pathlib import Path

# Threads of several libraries that wait for each other on a busy machine take minutes.
os.environ["OMP_NUM_THREADS"] = "1"

import catboost
import joblib
import lightgbm
import numpy
import onnx
import onnxmltools
import onnxruntime
import pandas
import skl2onnx
import sklearn
import xgboost
from onnxmltools.convert import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType as Width
from skl2onnx.common.data_types import FloatTensorType
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (AdaBoostClassifier, BaggingClassifier, ExtraTreesClassifier, GradientBoostingClassifier,
                              GradientBoostingRegressor, HistGradientBoostingClassifier, RandomForestClassifier)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (MaxAbsScaler, MinMaxScaler, OneHotEncoder, PolynomialFeatures, PowerTransformer,
                                   RobustScaler, StandardScaler)
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

warnings.filterwarnings("ignore")
folder, TREES = Path(sys.argv[1]), int(sys.argv[2])
names = (folder / "matrix.csv").open().readline().strip().split(",")
x = numpy.genfromtxt(folder / "matrix.csv", delimiter=",", skip_header=1)
filled, single = numpy.nan_to_num(x, nan=-1), x.astype(numpy.float32)
random = numpy.random.default_rng(7)
hidden = filled.clip(-30, 30)
hidden = (hidden - hidden.mean(axis=0)) / (hidden.std(axis=0) + 1e-9)
margin = hidden @ random.normal(size=len(names)) / 2
y = (random.random(len(x)) < 1 / (1 + numpy.exp(-margin))).astype(int)
score = 700 - 40 * margin + random.normal(size=len(x))
category = names.index("markets")
rising = [int(name == "liquidations") for name in names]
half = len(x) // 2
train, held = slice(0, half), slice(half, None)
rows = (folder / "configurations.jsonl").open("w")
numpy.savetxt(folder / "filled.csv", filled, delimiter=",", header=",".join(names), comments="", fmt="%.17g")


def keep(name, origin, trained, file, predicts=None, **more):
    """Writes a line, and what the library predicts."""
    if predicts is not None:
        numpy.savetxt(folder / f"{name}.csv", numpy.asarray(predicts, dtype=float).ravel(), fmt="%.17g")
    rows.write(json.dumps(dict(name=name, origin=origin, trained=trained, file=file, **more)) + "\n")


def why(error):
    """The first line of the error at the bottom of another."""
    error = error.__cause__ or error
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"


def light(name, trained, parameters=None, data=x, label=y, rounds=TREES, words=None, of=None, **more):
    """Trains a booster of LightGBM, or takes one, and saves its text."""
    settings = dict(verbose=-1, num_threads=1, seed=7, objective="binary") | (parameters or {})
    table = dict(feature_name=names) if not isinstance(data, pandas.DataFrame) else {}
    categories = more.pop("categories", "auto")
    group = [10] * (len(x) // 10) if settings["objective"] == "lambdarank" else None
    booster = of or lightgbm.train(
        settings, lightgbm.Dataset(data, label, group=group, categorical_feature=categories, **table), rounds)
    booster.save_model(folder / f"{name}.txt")
    keep(name, f"LightGBM {lightgbm.__version__}", trained, f"{name}.txt",
         None if words else booster.predict(data, raw_score=True), refused=words, **more)
    return booster


def extreme(name, trained, parameters=None, words=None, of=None, end="json", label=y, types=None, data=x, rounds=TREES,
            **more):
    """Trains a booster of XGBoost, or takes an estimator, and saves it."""
    settings = dict(objective="binary:logistic", nthread=1, seed=7) | (parameters or {})
    made = of
    if of is None:
        table = xgboost.DMatrix(data, label, feature_names=None if isinstance(data, pandas.DataFrame) else names,
                                feature_types=types, enable_categorical=True)
        made = xgboost.train(settings, table, rounds)
    predicts = None
    if not words:
        predicts = made.predict(x if of is not None else table, output_margin=True)
    made.save_model(folder / f"{name}.{end}")
    keep(name, f"XGBoost {xgboost.__version__}", trained, f"{name}.{end}", predicts, refused=words, **more)


def save(name, origin, trained, model, predicts, **more):
    """Saves a model of ONNX."""
    (folder / f"{name}.onnx").write_bytes(model.SerializeToString())
    keep(name, origin, trained, f"{name}.onnx", None if more.get("refused") else predicts, table=True, **more)


def run(model, figures):
    """What the runtime of ONNX makes of each row: the last output."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return numpy.asarray(session.run(None, {session.get_inputs()[0].name: figures})[-1], dtype=float)


def agree(model, figures, predicts):
    """The runtime of ONNX must have the probabilities of the library too."""
    difference = numpy.abs(run(model, figures)[:, 1] - predicts).max()
    assert difference <= 1e-5, f"onnxruntime differs by {difference}"


def learn(name, trained, estimator, data=filled, label=y, words=None, options=None, **more):
    """Fits an estimator of scikit-learn, and converts it by skl2onnx."""
    origin = f"scikit-learn {sklearn.__version__}, skl2onnx {skl2onnx.__version__}"
    estimator.fit(data, label)
    final = estimator[-1] if hasattr(estimator, "steps") else estimator
    try:
        model = skl2onnx.to_onnx(estimator, initial_types=[("x", FloatTensorType([None, len(names)]))],
                                 options={id(final): options} if options else None, target_opset={"": 15, "ai.onnx.ml": 3})
    except Exception as error:
        keep(name, origin, trained, "", unsaved=why(error))
        return
    # ONNX has figures of single precision, so its origin predicts those.
    figures = data.astype(numpy.float32)
    predicts = None
    if not words:
        of = "predict" if more.get("points") else "decision_function"
        if more.get("probability"):
            predicts = estimator.predict_proba(figures)[:, 1]
            agree(model, figures, predicts)
        else:
            predicts = getattr(estimator, of)(figures)
    save(name, origin, trained, model, predicts, refused=words, filled=data is filled, single=True, **more)


# LightGBM.
first = light("light", "train, objective=binary")
light("light-classifier", "LGBMClassifier", of=lightgbm.LGBMClassifier(n_estimators=TREES, verbose=-1, n_jobs=1).fit(
    pandas.DataFrame(x, columns=names), y).booster_)
light("light-stopped", "LGBMClassifier with early_stopping", of=lightgbm.LGBMClassifier(
    n_estimators=300, learning_rate=0.5, verbose=-1, n_jobs=1).fit(
        pandas.DataFrame(x[train], columns=names), y[train], eval_set=[(pandas.DataFrame(x[held], columns=names), y[held])],
        callbacks=[lightgbm.early_stopping(5, verbose=False)]).booster_)
light("light-dart", "boosting=dart", dict(boosting="dart", drop_rate=0.3))
light("light-goss", "data_sample_strategy=goss", dict(data_sample_strategy="goss"))
light("light-bagging", "extra_trees, max_bin=15, bagging and feature_fraction",
      dict(extra_trees=True, max_bin=15, bagging_fraction=0.7, bagging_freq=1, feature_fraction=0.7))
light("light-monotone", "monotone_constraints_method=basic",
      dict(monotone_constraints=rising, monotone_constraints_method="basic"), monotone=True)
light("light-advanced", "monotone_constraints_method=intermediate, with `monotone` declared",
      dict(monotone_constraints=rising, monotone_constraints_method="intermediate"), monotone=True)
light("light-categories", "categorical_feature of numbers", dict(max_cat_to_onehot=1, min_data_per_group=5),
      data=x, categories=[category])
light("light-unbalanced", "is_unbalance", dict(is_unbalance=True))
light("light-zero", "zero_as_missing", dict(zero_as_missing=True))
light("light-no-missing", "use_missing=false", dict(use_missing=False))
light("light-sigmoid", "sigmoid=2", dict(sigmoid=2.0), factor=2)
light("light-entropy", "objective=cross_entropy on shares", dict(objective="cross_entropy"), label=1 / (1 + numpy.exp(-margin)))
light("light-regression", "objective=regression on a score", dict(objective="regression"), label=score, points=True)
light("light-huber", "objective=huber on a score", dict(objective="huber"), label=score, points=True)


def gradients(predicted, table):
    probability = 1 / (1 + numpy.exp(-predicted))
    return probability - table.get_label(), probability * (1 - probability)


light("light-custom", "an objective of the author", dict(objective=gradients),
      words="the trees may not predict log-odds: its objective is a function of its author")
light("light-custom-said", 'the same with trees_predict = "log-odds"', dict(objective=gradients), says="log-odds")
light("light-regression-as-odds", "objective=regression, declared as log-odds", dict(objective="regression"),
      words="the trees may not predict log-odds: its objective is regression")
frame = pandas.DataFrame(x, columns=names).assign(markets=pandas.Categorical(x[:, category].astype(int)))
light("light-pandas", "a category column of pandas", data=frame, words="it was trained on categories of pandas")
light("light-forest", "boosting=rf", dict(boosting="rf", bagging_freq=1, bagging_fraction=0.7),
      words="it is a random forest (`boosting=rf`)")
light("light-linear", "linear_tree", dict(linear_tree=True), words="its leaves are linear models")
light("light-multiclass", "objective=multiclass", dict(objective="multiclass", num_class=3),
      label=numpy.digitize(margin, [-1, 1]), words="several classes")
light("light-rank", "objective=lambdarank", dict(objective="lambdarank"), words="its objective is lambdarank")
light("light-tweedie", "objective=tweedie", dict(objective="tweedie"), words="its objective is tweedie")
(folder / "light-dump.json").write_text(json.dumps(first.dump_model()))
keep("light-dump", f"LightGBM {lightgbm.__version__}", "dump_model", "light-dump.json",
     refused="it is what `dump_model` of LightGBM gives")
joblib.dump(first, folder / "light.pkl")
keep("light-pickle", f"LightGBM {lightgbm.__version__}", "pickle", "light.pkl", refused="it is a pickle of Python")

# XGBoost.
extreme("extreme", "train, binary:logistic")
fit = dict(n_estimators=TREES, n_jobs=1)
extreme("extreme-classifier", "XGBClassifier on a data frame",
        of=xgboost.XGBClassifier(**fit).fit(pandas.DataFrame(x, columns=names), y))
extreme("extreme-stopped", "XGBClassifier with early_stopping_rounds", of=xgboost.XGBClassifier(
    n_estimators=300, learning_rate=1, early_stopping_rounds=5, n_jobs=1).fit(
        x[train], y[train], eval_set=[(x[held], y[held])], verbose=False))
stopped = xgboost.train(dict(objective="binary:logistic", eta=1, nthread=1), xgboost.DMatrix(x[train], y[train], feature_names=names),
                        300, evals=[(xgboost.DMatrix(x[held], y[held], feature_names=names), "held")],
                        early_stopping_rounds=5, verbose_eval=False)
extreme("extreme-booster", "train with early_stopping_rounds", of=stopped,
        words="`Booster.predict` uses all. Save those that you mean")
extreme("extreme-leaves", "grow_policy=lossguide, subsample, colsample_bytree",
        dict(grow_policy="lossguide", max_leaves=15, max_depth=0, tree_method="hist", subsample=0.7, colsample_bytree=0.7))
extreme("extreme-exact", "tree_method=exact, monotone_constraints",
        dict(tree_method="exact", max_depth=4, monotone_constraints=tuple(rising)), monotone=True)
extreme("extreme-approx", "tree_method=approx, scale_pos_weight, base_score",
        dict(tree_method="approx", scale_pos_weight=3, base_score=0.2))
extreme("extreme-parallel", "num_parallel_tree=3", dict(num_parallel_tree=3, subsample=0.7, eta=0.3), rounds=5)
extreme("extreme-forest", "XGBRFClassifier", of=xgboost.XGBRFClassifier(**fit).fit(x, y))
extreme("extreme-categories", "feature_types of numbers", dict(tree_method="hist", max_cat_to_onehot=1),
        types=["c" if at == category else "q" for at in range(len(names))])
extreme("extreme-raw", "binary:logitraw", dict(objective="binary:logitraw"))
extreme("extreme-regression", "reg:squarederror on a score", dict(objective="reg:squarederror"), label=score, points=True)
extreme("extreme-pandas", "a category column of pandas", dict(tree_method="hist"), data=frame,
        words="it keeps categories of a data frame")
extreme("extreme-dart", "booster=dart", dict(booster="dart", rate_drop=0.3), words="its booster is dart")
extreme("extreme-linear", "booster=gblinear", dict(booster="gblinear"), data=filled, words="its booster is gblinear")
extreme("extreme-hinge", "binary:hinge", dict(objective="binary:hinge"), words="its objective is binary:hinge")
extreme("extreme-multiclass", "multi:softprob", dict(objective="multi:softprob", num_class=3),
        label=numpy.digitize(margin, [-1, 1]), words="several classes")
extreme("extreme-binary", "saved as UBJSON", end="ubj", words="it is UBJSON of XGBoost")

# CatBoost, which saves ONNX itself.
origin = f"CatBoost {catboost.__version__}"
settings = dict(iterations=TREES, verbose=False, thread_count=1, random_seed=7, allow_writing_files=False)


def cat(name, trained, made, data, file_format="onnx", words=None, **more):
    end = {"onnx": "onnx", "cbm": "cbm", "json": "json"}[file_format]
    try:
        made.save_model(str(folder / f"{name}.{end}"), format=file_format)
    except Exception as error:
        keep(name, origin, trained, "", unsaved=why(error))
        return
    predicts = None if words else made.predict(data.astype(numpy.float32), prediction_type="RawFormulaVal")
    keep(name, origin, trained, f"{name}.{end}", predicts, refused=words, table=True, **more)


plain = catboost.CatBoostClassifier(depth=5, **settings).fit(filled, y)
cat("cat", "CatBoostClassifier", plain, filled, filled=True)
cat("cat-absent", "CatBoostClassifier with absent figures", catboost.CatBoostClassifier(depth=5, **settings).fit(x, y), x)
cat("cat-absent-max", "CatBoostClassifier, nan_mode=Max",
    catboost.CatBoostClassifier(depth=5, nan_mode="Max", **settings).fit(x, y), x)
cat("cat-leaves", "CatBoostClassifier, grow_policy=Lossguide",
    catboost.CatBoostClassifier(grow_policy="Lossguide", max_leaves=15, **settings).fit(filled, y), filled, filled=True)
cat("cat-regressor", "CatBoostRegressor on a score", catboost.CatBoostRegressor(depth=5, **settings).fit(filled, score),
    filled, filled=True, points=True)
cat("cat-native", "CatBoostClassifier saved as cbm", plain, filled, "cbm", words="it is CatBoost's own format")
cat("cat-json", "CatBoostClassifier saved as JSON", plain, filled, "json", words="it is JSON of CatBoost")
words = [["a" if row[category] > 3 else "b", *map(float, row[:3])] for row in filled]
cat("cat-categories", "CatBoostClassifier with cat_features", catboost.CatBoostClassifier(
    depth=4, **settings).fit(words, y, cat_features=[0]), filled)

# scikit-learn by skl2onnx.
raw = dict(zipmap=False, raw_scores=True)
trees = dict(n_estimators=TREES, random_state=7)
learn("learn-gradient", "GradientBoostingClassifier", GradientBoostingClassifier(**trees), options=dict(zipmap=False))
learn("learn-gradient-zero", 'GradientBoostingClassifier, init="zero"', GradientBoostingClassifier(init="zero", **trees))
learn("learn-gradient-raw", "GradientBoostingClassifier, raw_scores", GradientBoostingClassifier(**trees), options=raw,
      words="it is a TreeEnsembleClassifier without LOGISTIC after its sum")
learn("learn-exponential", 'GradientBoostingClassifier, loss="exponential"',
      GradientBoostingClassifier(loss="exponential", **trees), words="it has the operator Mul")
learn("learn-regressor", "GradientBoostingRegressor on a score", GradientBoostingRegressor(**trees), label=score, points=True)
learn("learn-labels", 'GradientBoostingClassifier of "good" and "bad"', GradientBoostingClassifier(**trees),
      label=numpy.where(y == 1, "bad", "good"), words='the trees predict the log-odds of "good"')
histogram = dict(max_iter=TREES, random_state=7)
learn("learn-histogram", "HistGradientBoostingClassifier on float32", HistGradientBoostingClassifier(**histogram), data=single)
learn("learn-histogram-double", "HistGradientBoostingClassifier on float64", HistGradientBoostingClassifier(**histogram),
      data=x, words="single precision")
PROBABILITIES = "its leaves are probabilities"
SEVERAL = "it has several tree ensembles"
for name, estimator, words in [
    ("forest", RandomForestClassifier(**trees), PROBABILITIES),
    ("extra-trees", ExtraTreesClassifier(**trees), PROBABILITIES),
    ("tree", DecisionTreeClassifier(random_state=7), PROBABILITIES),
    ("ada", AdaBoostClassifier(n_estimators=5), SEVERAL),
    ("bagging", BaggingClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=5), SEVERAL),
    ("calibrated", CalibratedClassifierCV(GradientBoostingClassifier(n_estimators=5), cv=3), SEVERAL),
    ("scaled", make_pipeline(StandardScaler(), GradientBoostingClassifier(n_estimators=5)), "it has the operator Scaler"),
    ("imputed", make_pipeline(SimpleImputer(), GradientBoostingClassifier(n_estimators=5)), "it has the operator Imputer"),
]:
    inner = estimator[-1] if hasattr(estimator, "steps") else estimator
    learn(f"learn-{name}", " in a pipeline after ".join(type(one).__name__ for one in
                                                        (inner, *(estimator.steps[0][1:] if inner is not estimator else ()))),
          estimator, words=words)

# Linear models and networks of scikit-learn.
CATEGORY, NUMBERS = [category], [at for at in range(len(names)) if at != category]


def hot(**more):
    return make_column_transformer((make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), NUMBERS),
                                   (OneHotEncoder(**more), CATEGORY))


logistic = dict(max_iter=2000)
learn("linear", "LogisticRegression after StandardScaler", make_pipeline(StandardScaler(), LogisticRegression(**logistic)))
learn("linear-imputed", "LogisticRegression after SimpleImputer, StandardScaler",
      make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(**logistic)), data=single)
learn("linear-bounds", "LogisticRegression after MinMaxScaler(clip=True)",
      make_pipeline(MinMaxScaler(clip=True), LogisticRegression(**logistic)))
learn("linear-robust", "LogisticRegression after RobustScaler, MaxAbsScaler",
      make_pipeline(RobustScaler(), MaxAbsScaler(), LogisticRegression(**logistic)))
learn("linear-hot", 'LogisticRegression after OneHotEncoder(handle_unknown="ignore") and others',
      make_pipeline(hot(handle_unknown="ignore", sparse_output=False), LogisticRegression(**logistic)))
learn("linear-hot-error", "LogisticRegression after OneHotEncoder() and others",
      make_pipeline(hot(sparse_output=False), LogisticRegression(**logistic)), words='fit it with handle_unknown="ignore"')
learn("linear-labels", 'LogisticRegression of "good" and "bad"', make_pipeline(StandardScaler(), LogisticRegression(**logistic)),
      label=numpy.where(y == 1, "bad", "good"), words='the layers predict the log-odds of "good": write "log-odds-of-good"')
learn("linear-raw", "LogisticRegression, raw_scores", make_pipeline(StandardScaler(), LogisticRegression(**logistic)),
      options=raw, words="it is a LinearClassifier without LOGISTIC after its sum")
learn("linear-descent", 'SGDClassifier(loss="log_loss")', make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", random_state=7)))
learn("linear-ridge", "Ridge on a score", make_pipeline(StandardScaler(), Ridge()), label=score, points=True)
learn("linear-absent", "LogisticRegression of features that can be absent", make_pipeline(StandardScaler(), LogisticRegression()),
      data=filled.copy(), words="and a linear model or network needs a number: add `absent = 0`")
learn("linear-powers", "LogisticRegression after PolynomialFeatures",
      make_pipeline(PolynomialFeatures(2, interaction_only=True), LogisticRegression(max_iter=5)),
      words="write powers, products and logarithms as expressions of features")
learn("linear-yeo", "LogisticRegression after PowerTransformer",
      make_pipeline(PowerTransformer(standardize=False), LogisticRegression(max_iter=5)), words="it has the operator")
learn("linear-calibrated", "CalibratedClassifierCV of LogisticRegression", CalibratedClassifierCV(LogisticRegression(max_iter=5), cv=3),
      words="a calibration belongs under [score.calibration]")
learn("vectors", "SVC", SVC(probability=True, max_iter=20, random_state=7), words="a support vector machine cannot be packed")
probability = dict(options=dict(zipmap=False), probability=True)
for activation in ["relu", "tanh", "logistic"]:
    learn(f"network-{activation}", f'MLPClassifier(activation="{activation}") after StandardScaler',
          make_pipeline(StandardScaler(), MLPClassifier((16, 8), activation=activation, max_iter=30, random_state=7)), **probability)
learn("network-hot", "MLPClassifier after SimpleImputer, StandardScaler, OneHotEncoder",
      make_pipeline(hot(handle_unknown="ignore", sparse_output=False), MLPClassifier((16,), max_iter=30, random_state=7)), **probability)
learn("network-score", "MLPRegressor on a score", make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(16,), max_iter=200, random_state=7)),
      label=score, points=True)

# Declared weights.
fitted = make_pipeline(StandardScaler(), LogisticRegression(**logistic)).fit(filled, y)
scales, means = fitted[0].scale_, fitted[0].mean_
weights = fitted[-1].coef_[0] / scales
keep("weights", f"scikit-learn {sklearn.__version__}", "LogisticRegression as `weight` of each feature", "",
     fitted.decision_function(filled), weights=dict(zip(names, weights)), filled=True,
     intercept=float(fitted[-1].intercept_[0] - (weights * means).sum()))


# Calibrations.
def calibration(calibrated, of):
    made = calibrated.calibrated_classifiers_[0].calibrators[0]
    if hasattr(made, "a_"):
        return f'[score.calibration]\nmethod = "platt"\nof = "{of}"\na = {made.a_!r}\nb = {made.b_!r}'.replace("np.float64(", "").replace(")", "")
    x_steps, y_steps = (numpy.asarray(steps, dtype=float).tolist() for steps in (made.X_thresholds_, made.y_thresholds_))
    return f'[score.calibration]\nmethod = "isotonic"\nof = "{of}"\nx = {x_steps}\ny = {y_steps}'


for method in ["sigmoid", "isotonic"]:
    of_light = lightgbm.LGBMClassifier(n_estimators=TREES, verbose=-1, n_jobs=1).fit(x[train], y[train])
    calibrated = CalibratedClassifierCV(FrozenEstimator(of_light), method=method).fit(x[held], y[held])
    of_light.booster_.save_model(folder / f"{method}-light.txt")
    keep(f"{method}-light", f"scikit-learn {sklearn.__version__}", f'CalibratedClassifierCV(method="{method}") of LGBMClassifier',
         f"{method}-light.txt", calibrated.predict_proba(x)[:, 1], probability=True, calibration=calibration(calibrated, "margin"))
    # It has no decision_function, so its probabilities are calibrated.
    of_extreme = xgboost.XGBClassifier(n_estimators=TREES, n_jobs=1).fit(x[train], y[train])
    calibrated = CalibratedClassifierCV(FrozenEstimator(of_extreme), method=method).fit(x[held], y[held])
    of_extreme.save_model(folder / f"{method}-extreme.json")
    keep(f"{method}-extreme", f"scikit-learn {sklearn.__version__}", f'CalibratedClassifierCV(method="{method}") of XGBClassifier',
         f"{method}-extreme.json", calibrated.predict_proba(x)[:, 1], probability=True, single=True,
         calibration=calibration(calibrated, "probability"))
    linear = make_pipeline(StandardScaler(), LogisticRegression(**logistic)).fit(filled[train], y[train])
    calibrated = CalibratedClassifierCV(FrozenEstimator(linear), method=method).fit(filled[held], y[held])
    model = skl2onnx.to_onnx(linear, initial_types=[("x", FloatTensorType([None, len(names)]))],
                             options={id(linear[-1]): dict(zipmap=False)}, target_opset={"": 15, "ai.onnx.ml": 3})
    save(f"{method}-linear", f"scikit-learn {sklearn.__version__}", f'CalibratedClassifierCV(method="{method}") of LogisticRegression',
         model, calibrated.predict_proba(filled.astype(numpy.float32))[:, 1], probability=True, filled=True, single=True,
         calibration=calibration(calibrated, "margin"))

# Networks as PyTorch and Keras write them.
OPS = onnx.helper


def network(name, trained, nodes, constants, words=None, odds=True):
    width = [OPS.make_tensor_value_info("x", 1, ["rows", len(names)])]
    last = [OPS.make_tensor_value_info(nodes[-1].output[0], 1, None)]
    tensors = [onnx.numpy_helper.from_array(numpy.asarray(value, dtype=numpy.float32), key) for key, value in constants.items()]
    model = OPS.make_model(OPS.make_graph(nodes, "network", width, last, tensors), opset_imports=[OPS.make_opsetid("", 17)],
                           ir_version=8)
    predicts = run(model, filled.astype(numpy.float32))
    predicts = predicts[:, -1] if predicts.shape[1] == 2 else predicts.ravel()
    save(name, f"onnxruntime {onnxruntime.__version__}", trained, model, predicts, refused=words, filled=True, single=True,
         probability=odds, points=not odds)


def layer(rows, columns):
    return random.normal(size=(rows, columns)) / numpy.sqrt(columns), random.normal(size=rows) / 4


(one, one_bias), (two, two_bias), (three, three_bias) = layer(12, len(names)), layer(8, 12), layer(2, 8)
spread = filled.std(axis=0) + 1e-9
constants = dict(mean=filled.mean(axis=0), spread=spread, one=one, one_bias=one_bias, two=two.T, two_bias=two_bias,
                 three=three, three_bias=three_bias, last=three[:1], last_bias=three_bias[:1], scale=random.random(12) + 0.5,
                 shift=random.normal(size=12), seen=random.normal(size=12), variance=random.random(12) + 0.5)
node = OPS.make_node
scaled = [node("Sub", ["x", "mean"], ["centred"]), node("Div", ["centred", "spread"], ["scaled"]),
          node("Gemm", ["scaled", "one", "one_bias"], ["a"], transB=1)]
dense = [node("MatMul", ["b", "two"], ["c"]), node("Add", ["c", "two_bias"], ["d"]), node("Tanh", ["d"], ["e"])]
final = [node("Gemm", ["e", "last", "last_bias"], ["f"], transB=1)]
network("torch", "Gemm, Relu, MatMul, Add, Tanh, Gemm, Sigmoid",
        [*scaled, node("Relu", ["a"], ["b"]), *dense, *final, node("Sigmoid", ["f"], ["g"])], constants)
network("torch-softmax", "Softmax of two outputs", [*scaled, node("Sigmoid", ["a"], ["b"]), *dense,
        node("Gemm", ["e", "three", "three_bias"], ["f"], transB=1), node("Softmax", ["f"], ["g"], axis=1)], constants)
network("torch-norm", "BatchNormalization after a layer",
        [*scaled, node("BatchNormalization", ["a", "scale", "shift", "seen", "variance"], ["n"]), node("Relu", ["n"], ["b"]),
         *dense, *final, node("Sigmoid", ["f"], ["g"])], constants)
network("torch-sum", "no Sigmoid at the end, declared as log-odds", [*scaled, node("Relu", ["a"], ["b"]), *dense, *final], constants,
        words="it has no Sigmoid or Softmax at its end")
network("torch-leaky", "LeakyRelu", [*scaled, node("LeakyRelu", ["a"], ["b"]), *dense, *final, node("Sigmoid", ["f"], ["g"])],
        constants, words="it has the operator LeakyRelu")
network("torch-several", "two outputs", [*scaled, node("Relu", ["a"], ["b"]), *dense,
        node("Gemm", ["e", "three", "three_bias"], ["f"], transB=1)], constants, words="it has several outputs")

# LightGBM and XGBoost by onnxmltools.
converter = f"onnxmltools {onnxmltools.__version__}"
width = [("x", Width([None, len(names)]))]
shared = dict(objective="binary", verbose=-1, num_threads=1, seed=7)


def by_light(name, trained, data, parameters=shared, label=y, **more):
    booster = lightgbm.train(parameters, lightgbm.Dataset(data, label), TREES)
    model = convert_lightgbm(booster, initial_types=width, target_opset=15, zipmap=False)
    save(name, converter, trained, model, booster.predict(single, raw_score=True), **more)
    return booster


by_light("onnx-light", "LightGBM on float32", single).save_model(folder / "onnx-light.txt")
by_light("onnx-light-double", "LightGBM on float64", x, refused="single precision")
by_light("onnx-light-regression", "LightGBM objective=regression on a score", single,
         shared | dict(objective="regression"), score, points=True)
made = xgboost.train(dict(objective="binary:logistic", max_depth=5, nthread=1), xgboost.DMatrix(x, y), TREES)
save("onnx-extreme", converter, "XGBoost", convert_xgboost(made, initial_types=width, target_opset=15),
     made.predict(xgboost.DMatrix(x), output_margin=True))
rows.close()
