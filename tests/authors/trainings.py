"""Trains models with options that no other test has, packs each by the Python package, and compares it with its
estimator: trainings.py FOLDER [NAME …]. `assay` is on PATH, or ASSAY_BIN names it.

`pack` compares the component with what the estimator predicts for 1,000 odd wallets (absent figures, counts at the ends
of their types, dollars from the smallest to the largest float) and for the rows of `assay features odd`. Prints a line for
each training: `equal`, `refused` with the reason, or `differ` if only the comparison refused it. Ends with 1 for another
than the known of the last kind, because the packer should have refused it in words.
"""

import contextlib
import io
import os
import sys
import warnings
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import catboost
import lightgbm
import numpy
import xgboost
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (ExtraTreesClassifier, GradientBoostingClassifier, GradientBoostingRegressor,
                              HistGradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier)
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (LinearRegression, LogisticRegression, LogisticRegressionCV, Ridge, RidgeClassifier,
                                  SGDClassifier)
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import assay_model
from assay_model import AssayError

warnings.filterwarnings("ignore")
folder, chosen = Path(sys.argv[1]), sys.argv[2:]
random = numpy.random.default_rng(23)
FEATURES = [("transactions", "sum(chains.transactions where coverage != failed)"), ("assets", "sum(chains.assets_usd)"),
            ("repays", "sum(markets.repay)"), ("liquidations", "sum(markets.liquidation)"),
            ("debt", "max(markets.borrowed_usd)"), ("markets", "count(markets)"),
            ("gap", "days(max(markets.last_event))")]
KINDS = ["lenderA_v2", "lenderA_v3", "lenderB_v2", "lenderB_v3"]


def wallet(at, odd):
    """An ordinary wallet, or one of figures that no ordinary wallet has."""
    count = lambda most: int(random.choice([0, 1, most, 2**32 - 1])) if odd and random.random() < 0.3 else int(
        random.integers(0, most))
    dollars = lambda: float(random.choice([0.0, -0.0, 5e-324, 1e-35, 1e25, 1e30, 0.1 + 0.2, 16777217.0])) if (
        odd and random.random() < 0.4) else float(numpy.round(random.lognormal(6, 3), 2))
    chains = [dict(chain_id=1, coverage=str(random.choice(["complete", "partial", "failed"], p=[0.8, 0.1, 0.1])),
                   transactions=count(3000), assets_usd=dollars(), supplied_usd=dollars(), borrowed_usd=dollars())]
    markets = [dict(chain_id=1, protocol=KINDS[one], coverage="complete", feeds_score=True, supply=count(9), withdraw=1,
                    borrow=count(20), repay=None if random.random() < 0.2 else count(20),
                    liquidation=int(random.random() < 0.2), first_event=1_600_000_000,
                    last_event=1_700_000_000 + int(random.integers(0, 40_000_000)), supplied_usd=dollars(),
                    borrowed_usd=dollars()) for one in range(int(random.integers(0, 5)))]
    return dict(id=f"wallet {at}", as_of=1_748_736_000, chains=[] if odd and random.random() < 0.1 and markets else chains,
                markets=markets, outcome=int(random.random() < 1 / (1 + len(markets) / 2 + chains[0]["transactions"] / 2000)))


training, odd = [wallet(at, False) for at in range(2000)], [wallet(at, True) for at in range(1000)]
declaration = '''version = "0.1"
title = "t"
trained = "model.{end}"
table = "matrix.csv"
[score]
margin = "{margin}"
{score}
[[factor]]
label = "All"
text = "All counts."
'''


def declared(name, end, filled, margin, absent):
    made = folder / name
    made.mkdir(parents=True)
    text = declaration.format(end=end, margin=margin, score="base = 0" if margin == "points" else "")
    if margin == "log-odds-of-bot":
        text = 'kind = "sybil"\n' + text.replace("[score]", "[risk]")
    for feature, expression in FEATURES:
        expression = f"or_else({expression}, -1)" if filled else expression
        text += f'[[feature]]\nname = "{feature}"\nis = "{expression}"\nfactor = "All"\n'
        text += "absent = 0\n" if absent else ""
    (made / "model.toml").write_text(text)
    return made


results, unexpected = [], []


def train(name, fit, end="onnx", filled=None, points=False, absent=False, single=None, margin="log-odds-of-bad", wanted=None,
          wallets=odd, more=""):
    """Fits and packs; `filled` has -1 for what is absent, as estimators of scikit-learn need. `wanted` are words of the
    refusal, or `equal`; `more` goes into the declaration."""
    if chosen and name not in chosen:
        return
    filled = end == "onnx" and not absent if filled is None else filled
    made = declared(name, end, filled, "points" if points else margin, absent)
    (made / "model.toml").write_text((made / "model.toml").read_text().replace("[[factor]]", f"{more}[[factor]]", 1))
    x = assay_model.features(made / "model.toml", training)
    y = x.pop("outcome").astype(int)
    x = x.fillna(0) if absent else x
    x = x.astype("float32") if (end == "onnx" if single is None else single) else x
    x = x.reset_index(drop=True)
    y = y.reset_index(drop=True)
    try:
        estimator = fit(x, y)
    except Exception as error:
        results.append((name, "not trained", f"{type(error).__name__}: {error}"))
    else:
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said):
                assay_model.pack(estimator, made, wallets)
            proved = [line for line in said.getvalue().splitlines() if "largest difference" in line]
            results.append((name, "equal", "; ".join(line.replace("the component predicts what ", "") for line in proved)))
        except AssayError as error:
            found = "differ" if " differ from " in str(error) else "refused"
            results.append((name, found, str(error)))
    _, found, said = results[-1]
    if wanted is not None and wanted != found and wanted not in said:
        unexpected.append(f"{name}: {wanted}")
    print(" | ".join(results[-1]), flush=True)


# LightGBM.
def light(name, **more):
    filled = more.pop("filled", False)
    train(f"light-{name}", lambda x, y: lightgbm.LGBMClassifier(**(dict(n_estimators=30, n_jobs=1, verbose=-1) | more)).fit(x, y),
          "txt", filled)


light("path-smooth", path_smooth=5)
light("linear-off-max-depth", max_depth=3, num_leaves=8)
light("max-bin-3", max_bin=3)
light("min-gain", min_split_gain=0.5, reg_alpha=1, reg_lambda=3)
light("max-delta", max_delta_step=0.3)
light("zero-missing", zero_as_missing=True)
light("no-missing", use_missing=False)
light("boost-average-off", boost_from_average=False)
light("pos-weight", scale_pos_weight=4)
light("interaction", interaction_constraints=[[0, 1, 2], [3, 4, 5, 6]])
light("stump", num_leaves=2, n_estimators=100)
light("dart-uniform", boosting_type="dart", uniform_drop=True, xgboost_dart_mode=True)
light("entropy", objective="cross_entropy")
light("quantized", use_quantized_grad=True)
light("feature-bynode", colsample_bytree=0.5, feature_fraction_bynode=0.5, extra_trees=True)
light("forced-bins", max_bin_by_feature=[3, 255, 4, 5, 9, 255, 31])
train("light-categories", lambda x, y: lightgbm.LGBMClassifier(n_estimators=30, n_jobs=1, verbose=-1, max_cat_to_onehot=1,
      min_data_per_group=5).fit(x, y, categorical_feature=["markets"]), "txt", False)
train("light-regression", lambda x, y: lightgbm.LGBMRegressor(n_estimators=30, n_jobs=1, verbose=-1).fit(x, 650 - 90 * y),
      "txt", False, True)
train("light-init", lambda x, y: lightgbm.train(dict(objective="binary", verbose=-1, num_threads=1), lightgbm.Dataset(
      x, y), 10, init_model=lightgbm.train(dict(objective="binary", verbose=-1, num_threads=1), lightgbm.Dataset(x, y), 10)), "txt")
train("light-grid", lambda x, y: GridSearchCV(lightgbm.LGBMClassifier(n_jobs=1, verbose=-1), dict(n_estimators=[5, 20]),
      cv=2).fit(x, y), "txt")
train("light-pipeline", lambda x, y: make_pipeline("passthrough", lightgbm.LGBMClassifier(n_estimators=9, n_jobs=1,
      verbose=-1)).fit(x, y), "txt")
train("light-scaled-pipeline", lambda x, y: make_pipeline(StandardScaler(), lightgbm.LGBMClassifier(n_estimators=9, n_jobs=1,
      verbose=-1)).fit(x, y), "txt")


# XGBoost.
def extreme(name, **more):
    train(f"extreme-{name}", lambda x, y: xgboost.XGBClassifier(**(dict(n_estimators=30, n_jobs=1) | more)).fit(x, y), "json")


extreme("deep", max_depth=12)
extreme("max-delta", max_delta_step=1)
extreme("gamma", gamma=2, reg_alpha=1)
extreme("bins-4", max_bin=4, tree_method="hist")
extreme("approx-sketch", tree_method="approx", max_bin=9)
extreme("gradient-based", sampling_method="uniform", subsample=0.5, colsample_bylevel=0.5, colsample_bynode=0.7)
extreme("interaction", interaction_constraints=[["transactions", "assets"], ["repays", "debt"]])
extreme("base-score", base_score=0.9)
extreme("lossguide", grow_policy="lossguide", max_leaves=31, max_depth=0)
extreme("parallel", num_parallel_tree=3, subsample=0.5)
extreme("logitraw", objective="binary:logitraw")
extreme("reg-logistic", objective="reg:logistic")
extreme("missing-zero", missing=0)
train("extreme-grid", lambda x, y: GridSearchCV(xgboost.XGBClassifier(n_jobs=1), dict(n_estimators=[5, 20]), cv=2).fit(x, y),
      "json")
train("extreme-frozen", lambda x, y: FrozenEstimator(xgboost.XGBClassifier(n_estimators=9, n_jobs=1).fit(x, y)), "json")
train("extreme-regression", lambda x, y: xgboost.XGBRegressor(n_estimators=30, n_jobs=1).fit(x, 650 - 90 * y), "json",
      points=True)
train("extreme-forest", lambda x, y: xgboost.XGBRFClassifier(n_estimators=30, n_jobs=1).fit(x, y), "json")


# CatBoost.
def cat(name, filled=False, **more):
    settings = dict(iterations=30, verbose=False, thread_count=1, random_seed=7, allow_writing_files=False) | more
    train(f"cat-{name}", lambda x, y: catboost.CatBoostClassifier(**settings).fit(x, y), filled=filled)


cat("nan-max", nan_mode="Max")
cat("nan-min", nan_mode="Min")
cat("border-8", border_count=8)
cat("ordered", boosting_type="Ordered")
cat("bernoulli", bootstrap_type="Bernoulli", subsample=0.6)
cat("leaf-l2", l2_leaf_reg=30, depth=2)
cat("uniform-borders", feature_border_type="Uniform", filled=True)
cat("weights", auto_class_weights="Balanced")
cat("random-strength", random_strength=5, leaf_estimation_method="Gradient")
cat("lossguide", grow_policy="Lossguide")

# scikit-learn.
learn = lambda name, estimator, **more: train(f"learn-{name}", lambda x, y: estimator.fit(x, y), **more)
learn("gradient-huber", GradientBoostingRegressor(loss="huber", n_estimators=20), points=True)
learn("gradient-exponential", GradientBoostingClassifier(loss="exponential", n_estimators=20))
learn("gradient-init", GradientBoostingClassifier(init="zero", n_estimators=20, max_features=3, subsample=0.5))
learn("gradient-leaves", GradientBoostingClassifier(max_leaf_nodes=6, n_estimators=20, ccp_alpha=0.0001))
learn("tree", DecisionTreeClassifier(max_depth=5))
learn("forest", RandomForestClassifier(20))
learn("extra", ExtraTreesClassifier(20))
learn("logistic-l1", make_pipeline(StandardScaler(), LogisticRegression(l1_ratio=1, C=0.1, solver="liblinear")))
learn("logistic-cv", make_pipeline(RobustScaler(), LogisticRegressionCV(Cs=3, cv=2)))
learn("min-max-clip", make_pipeline(MinMaxScaler(clip=True), LogisticRegression()))
learn("imputer-indicator", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler(), LogisticRegression()), filled=False)
learn("one-hot", make_pipeline(OneHotEncoder(handle_unknown="ignore", min_frequency=20), LogisticRegression(max_iter=50)))
learn("select", make_pipeline(StandardScaler(), SelectKBest(k=3), LogisticRegression()))
learn("ridge", make_pipeline(StandardScaler(), Ridge()), points=True)
learn("least-squares", make_pipeline(StandardScaler(), LinearRegression()), points=True)
learn("ridge-classifier", make_pipeline(StandardScaler(), RidgeClassifier()))
learn("svc", make_pipeline(StandardScaler(), LinearSVC()))
learn("huber-sgd", make_pipeline(StandardScaler(), SGDClassifier(loss="modified_huber")))
learn("log-sgd", make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", penalty="elasticnet")), absent=True)
learn("discriminant", make_pipeline(StandardScaler(), LinearDiscriminantAnalysis()))
learn("network-tanh", make_pipeline(StandardScaler(), MLPClassifier((6, 3), activation="tanh", max_iter=60)))
learn("network-logistic", make_pipeline(MinMaxScaler(), MLPClassifier((5,), activation="logistic", max_iter=60)))
learn("grid", GridSearchCV(make_pipeline(StandardScaler(), LogisticRegression()), {"logisticregression__C": [0.1, 1]}, cv=2))
learn("calibrated", CalibratedClassifierCV(LogisticRegression(), cv=2))

REVERSED, UNKNOWN, BOT = "wallets with a bad outcome have the higher scores", "nothing says whether that is good or bad", "where 1 is a bot"

# HistGradientBoosting has its own file, of double precision and with absent figures.
def hist(name, kind=HistGradientBoostingClassifier, wanted="equal", of=lambda y: y, wrap=lambda made: made, points=False, **more):
    made = lambda: wrap(kind(**(dict(max_iter=20, random_state=7) | more)))  # noqa: E731
    train(f"hist-{name}", lambda x, y: made().fit(x, of(y)), filled=False, single=False, points=points, wanted=wanted)


hist("plain")
hist("one-tree", max_iter=1)
hist("deep", max_leaf_nodes=None, min_samples_leaf=2)
hist("stumps", max_depth=1, max_iter=90)
hist("bins", max_bins=5, l2_regularization=3)
hist("monotonic", monotonic_cst=[0, 0, 1, -1, 0, 0, 0])
hist("interaction", interaction_cst=[[0, 1], [2, 3, 4, 5, 6]])
hist("early", early_stopping=True, n_iter_no_change=2, max_iter=200)
hist("balanced", class_weight="balanced", max_features=0.5)
hist("bool", of=lambda y: y.astype(bool))
hist("words", of=lambda y: numpy.where(y == 1, "bad", "account"))
hist("reversed", of=lambda y: 1 - y, wanted=REVERSED)
hist("three", of=lambda y: y + (numpy.arange(len(y)) % 3 == 0), wanted="several classes")
hist("same", of=lambda y: 0 * y, wanted="learns from two classes")
hist("nothing", min_samples_leaf=2000, wanted="none of its trees has a split")
hist("categories", categorical_features=[5], wanted="write `if` for each category")
hist("scaled", wrap=lambda made: make_pipeline(StandardScaler(), made), wanted="trees need no scaling")
hist("passed", wrap=lambda made: make_pipeline("passthrough", made))
hist("grid", wrap=lambda made: GridSearchCV(made, dict(max_depth=[2, 4]), cv=2))
hist("calibrated", wrap=lambda made: CalibratedClassifierCV(made, cv=2), wanted="a mean of 2 calibrated models")
score = lambda y: 650 - 90 * y  # noqa: E731
hist("regression", HistGradientBoostingRegressor, of=score, points=True)
hist("absolute", HistGradientBoostingRegressor, of=score, points=True, loss="absolute_error")
hist("quantile", HistGradientBoostingRegressor, of=score, points=True, loss="quantile", quantile=0.4)
hist("poisson", HistGradientBoostingRegressor, of=score, points=True, loss="poisson", wanted="not the sum of its trees")
hist("gamma", HistGradientBoostingRegressor, of=score, points=True, loss="gamma", wanted="not the sum of its trees")

# The direction: by labels, whether the file has them or not, and by outcomes.
unlabelled = [{name: value for name, value in one.items() if name != "outcome"} for one in odd]
for margin, labels, wanted in [
    ("bad", (0, 1), "equal"), ("bad", (False, True), "equal"), ("bad", (1, 0), REVERSED),
    ("bad", ("good", "bad"), 'write "log-odds-of-good"'), ("bad", ("Good", "Bad"), 'write "log-odds-of-good"'),
    ("good", ("good", "bad"), 'equal'), ("bad", ("repaid", "default"), UNKNOWN), ("bad", ("default", "repaid"), UNKNOWN),
    ("bad", ("no", "yes"), UNKNOWN), ("bad", (1, 2), UNKNOWN), ("bad", (-1, 1), UNKNOWN), ("bot", (0, 1), "equal"),
    ("bot", (1, 0), "bots have the lower risks"), ("bot", ("human", "bot"), BOT), ("bot", ("good", "bot"), BOT),
    ("bot", ("honest", "Sybil"), BOT), ("bot", ("account", "bot"), "equal"),
]:
    by = {"text": (lightgbm.LGBMClassifier(n_estimators=9, n_jobs=1, verbose=-1), "txt"),
          "network": (make_pipeline(StandardScaler(), MLPClassifier((4,), max_iter=60, random_state=7)), "onnx"),
          "linear": (make_pipeline(StandardScaler(), LogisticRegression()), "onnx")}
    for of, (estimator, end) in by.items():
        fit = lambda x, y, estimator=estimator: estimator.fit(x, numpy.where(y == 1, labels[1], labels[0]))  # noqa: E731
        name = f"labels-{of}-{margin}-{labels[0]}-{labels[1]}"
        train(name, fit, end, True, margin=f"log-odds-of-{margin}", wanted=wanted)
        if all(isinstance(one, str) for one in labels):
            train(f"{name}-unknown", fit, end, True, margin=f"log-odds-of-{margin}", wanted=wanted, wallets=unlabelled)


# What an estimator predicts is compared, and not only its margin.
class Halved(lightgbm.LGBMClassifier):
    def predict_proba(self, *arguments, **more):
        return super().predict_proba(*arguments, **more) / 2


small = dict(n_estimators=30, n_jobs=1, verbose=-1)
train("own-early", lambda x, y: lightgbm.LGBMClassifier(pred_early_stop=True, pred_early_stop_freq=1, pred_early_stop_margin=0.1,
      **small).fit(x, y), "txt", wanted="has the probability")
train("own-subclass", lambda x, y: Halved(**small).fit(x, y), "txt", wanted="has the probability")
train("own-sigmoid", lambda x, y: lightgbm.LGBMClassifier(sigmoid=2, **small).fit(x, y), "txt", wanted="equal")
learn("own-multinomial", make_pipeline(StandardScaler(), LogisticRegression(multi_class="multinomial")), wanted="equal")
learn("own-columns", make_pipeline(ColumnTransformer([("scaled", StandardScaler(), ["gap", "debt"])], remainder="passthrough"),
      LogisticRegression()), wanted="equal")
learn("own-components", make_pipeline(StandardScaler(), PCA(3), LogisticRegression()), wanted="equal")

# A calibration is declared as the estimator has it.
for method, of, base in [("sigmoid", "txt", lightgbm.LGBMClassifier(**small)), ("isotonic", "json", xgboost.XGBClassifier(n_estimators=9, n_jobs=1)),
                         ("isotonic", "onnx", make_pipeline(StandardScaler(), LogisticRegression()))]:
    fitted = lambda x, y, base=base, method=method: CalibratedClassifierCV(  # noqa: E731
        FrozenEstimator(base.fit(x[:1000], y[:1000])), method=method).fit(x[1000:], y[1000:])
    train(f"calibrated-none-{of}", fitted, of, wanted="has no calibration: write\n[score.calibration]\nmethod")
    if results and results[-1][0] == f"calibrated-none-{of}":
        lines = results[-1][2].partition("write\n")[2]
        train(f"calibrated-{of}", fitted, of, wanted="equal", more=lines)
        train(f"calibrated-inside-{of}", lambda x, y, base=base: base.fit(x[:1000], y[:1000]), of, wanted="has a calibration, and",
              more=lines)
        other = lines.replace('"margin"', '"?"').replace('"probability"', '"margin"').replace('"?"', '"probability"')
        train(f"calibrated-other-{of}", fitted, of, wanted="has another calibration", more=other)

# What CatBoost does not save.
scaled = lambda made: made.set_scale_and_bias(2, [0.5]) or made  # noqa: E731
settings = dict(iterations=5, verbose=False, thread_count=1, allow_writing_files=False)


def loaded(made):
    made.save_model(str(folder / "loaded.onnx"), format="onnx")
    return catboost.CatBoostClassifier().load_model(str(folder / "loaded.onnx"), format="onnx")


for name, fit, wanted in [
    ("scaled", lambda x, y: scaled(catboost.CatBoostClassifier(**settings).fit(x, y)), "Leave out set_scale_and_bias"),
    ("sum", lambda x, y: catboost.sum_models([catboost.CatBoostClassifier(**settings).fit(x, y)] * 2), "pack one fitted model"),
    ("float", lambda x, y: catboost.CatBoostClassifier(**settings).fit(x, y.astype(float)), "Fit it to whole numbers"),
    ("categories", lambda x, y: catboost.CatBoostClassifier(cat_features=["markets"], **settings).fit(
        x.assign(markets=x.markets.astype(int)), y), "write `if` for each category"),
    ("loaded", lambda x, y: loaded(catboost.CatBoostClassifier(**settings).fit(x, y)), "cannot be saved again"),
]:
    train(f"cat-{name}", fit, wanted=wanted)

for result in ("equal", "refused", "differ", "not trained"):
    print(f"{sum(one[1] == result for one in results)} {result}")
# skl2onnx converts the discriminant analysis of two classes to other figures.
known = {"learn-discriminant"}
unknown = [one[0] for one in results if one[1] in ("differ", "not trained") and one[0] not in known
           and not one[0].startswith(("own-", "calibrated-"))]
sys.exit(", ".join(unknown + unexpected) or None)
