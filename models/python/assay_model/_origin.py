"""Fitted estimators: the file that a component is packed from, and what the estimator predicts."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy
import pandas

from . import _hist, _table
from ._program import AssayError, run
from ._wallets import Wallets, as_file

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# The end of the file that each library saves.
_ENDS = {"lightgbm": ".txt", "xgboost": ".json", "catboost": ".onnx", "sklearn": ".onnx", _hist.NAME: ".onnx"}
# Those whose files have single precision.
_SINGLE = ("catboost", "sklearn")


def _library(estimator: Any) -> str:
    if _hist.is_one(estimator):
        return _hist.NAME
    modules = [kind.__module__.partition(".")[0] for kind in type(estimator).__mro__]
    for module in modules:
        if module in _ENDS:
            return module
    raise AssayError(
        f"{type(estimator).__name__} of {modules[0]} cannot be packed: fit an estimator of LightGBM, XGBoost, CatBoost "
        "or scikit-learn, or declare a scorecard"
    )


def _unwrapped(estimator: Any) -> Any:
    """The fitted estimator inside a search, a frozen estimator, or a pipeline that changes nothing before it."""
    while True:
        kind = type(estimator)
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif kind.__module__.startswith("sklearn.") and hasattr(estimator, "best_params_"):
            raise AssayError(f"{kind.__name__} has no best estimator: search with refit=True")
        elif kind.__name__ == "FrozenEstimator" and kind.__module__.startswith("sklearn."):
            estimator = estimator.estimator
        elif kind.__module__.startswith("sklearn.pipeline") and hasattr(estimator, "steps"):
            last = _unwrapped(estimator.steps[-1][1])
            before = [step for _, step in estimator.steps[:-1] if step is not None and step != "passthrough"]
            if _library(last) == "sklearn":
                return estimator
            if before:
                steps = ", ".join(type(step).__name__ for step in before)
                raise AssayError(f"it is a pipeline of {steps} before {type(last).__name__}, and a file of that library "
                                 "has no such steps. Write them into the expressions of model.toml: trees need no scaling")
            estimator = last
        else:
            return estimator


def _final(estimator: Any) -> Any:
    """The last step of a pipeline."""
    return estimator[-1] if hasattr(estimator, "steps") else estimator


def _save(estimator: Any, library: str, table: pandas.DataFrame, file: Path) -> None:
    """Saves the estimator as its library does, or as ONNX."""
    if library == "lightgbm":
        getattr(estimator, "booster_", estimator).save_model(file)
        return
    if library == "xgboost":
        estimator.save_model(file)
        return
    if library == "catboost":
        names = estimator.feature_names_
        # ONNX keeps no names, and numbers stand for those that an array does not have.
        if names != list(table.columns) and names != [str(at) for at in range(len(names))]:
            raise AssayError(f"it was fitted to {', '.join(names)}, and not to {', '.join(table.columns)}")
        try:
            estimator.save_model(str(file), format="onnx")
        except Exception as error:
            remedy = next((remedy for word, remedy in _CATBOOST_REMEDIES.items() if word in str(error)), _PLAIN_CATBOOST)
            raise AssayError(f"CatBoost cannot save it as ONNX: {error}. {remedy}") from error
        return
    if library == _hist.NAME:
        _hist.save(estimator, file)
        return
    try:
        import skl2onnx
        from skl2onnx.common.data_types import FloatTensorType
        from sklearn.compose import ColumnTransformer
        from sklearn.pipeline import Pipeline
    except ImportError as error:
        raise AssayError("skl2onnx is missing: pip install 'assay-model[scikit-learn]'") from error
    final = _final(estimator)
    # A ColumnTransformer picks columns by their names, which are those of the inputs.
    named = isinstance(estimator, Pipeline) and any(isinstance(step, ColumnTransformer) for _, step in estimator.steps)
    inputs = [(name, 1) for name in table.columns] if named else [("x", table.shape[1])]
    try:
        model = skl2onnx.to_onnx(
            estimator,
            initial_types=[(name, FloatTensorType([None, width])) for name, width in inputs],
            options={id(final): {"zipmap": False}} if hasattr(final, "classes_") else None,
            target_opset={"": 15, "ai.onnx.ml": 3},
        )
    except Exception as error:
        # Some of its errors have all figures of the model.
        raise AssayError(f"skl2onnx cannot convert {type(estimator).__name__}: {error!s:.300}") from error
    file.write_bytes(model.SerializeToString())


def _margin(estimator: Any, library: str, rows: Any) -> Any:
    """The margin that the estimator itself predicts for each row; None if it has only a probability."""
    if library == "lightgbm":
        return getattr(estimator, "booster_", estimator).predict(rows, raw_score=True)
    if library == "xgboost" and hasattr(estimator, "get_booster"):
        return estimator.predict(rows, output_margin=True)
    if library == "xgboost":
        import xgboost

        return estimator.predict(xgboost.DMatrix(rows, feature_names=estimator.feature_names), output_margin=True)
    if library == "catboost":
        return estimator.predict(rows, prediction_type="RawFormulaVal")
    if hasattr(estimator, "decision_function"):
        return estimator.decision_function(rows)
    return None if hasattr(_final(estimator), "classes_") else estimator.predict(rows)


def _predict(estimator: Any, calibrated: Any, library: str, table: pandas.DataFrame) -> dict[str, numpy.ndarray]:
    """What the estimator itself predicts for each row: its margin, and the probability of its second class."""
    x = table.to_numpy(numpy.float32 if library in _SINGLE else None)
    # LightGBM and CatBoost do not need the names.
    named = library in ("xgboost", "sklearn", _hist.NAME) and hasattr(estimator, "feature_names_in_")
    framed = pandas.DataFrame(x, columns=table.columns)
    rows = framed if named else x
    margin = _margin(estimator, library, rows)
    columns = {} if margin is None else {"margin": numpy.asarray(margin, dtype=numpy.float64).reshape(-1)}
    objective = getattr(estimator, "objective", None)
    # With these, predict_proba is the margin.
    if not hasattr(estimator, "predict_proba") or callable(objective) or objective == "binary:logitraw":
        return columns
    source, of_rows = (estimator, rows) if calibrated is None else (calibrated, framed)
    of_rows = of_rows if calibrated is None or hasattr(calibrated, "feature_names_in_") else x
    columns["probability"] = numpy.asarray(source.predict_proba(of_rows), dtype=numpy.float64)[:, 1]
    if library in ("sklearn", _hist.NAME) and calibrated is None and margin is not None:
        # Some decision functions are half of the log-odds.
        implied = 1 / (1 + numpy.exp(-columns["margin"]))
        if not numpy.allclose(implied, columns["probability"], atol=1e-6, equal_nan=True):
            del columns["margin"]
    return columns


def _write(estimator: Any, calibrated: Any, library: str, table: pandas.DataFrame, file: Path) -> None:
    """Writes what the estimator predicts for the rows of `table`."""
    with warnings.catch_warnings():
        # The largest figures overflow on the way.
        warnings.simplefilter("ignore", RuntimeWarning)
        columns = _predict(estimator, calibrated, library, table)
    values = numpy.column_stack(list(columns.values()))
    numpy.savetxt(file, values, header=",".join(columns), comments="", fmt="%.17g", delimiter=",")


# A word of an error of CatBoost, and what to do.
_CATBOOST_REMEDIES = {
    "Scale": "Leave out set_scale_and_bias: ONNX has the sum of the trees only",
    "symmetric": "Fit it with grow_policy='SymmetricTree'; a model that was loaded from ONNX cannot be saved again",
    "ategorical": "Fit it without cat_features: write `if` for each category into the expressions of model.toml",
    "label": "Fit it to whole numbers: y.astype(int)",
}
_PLAIN_CATBOOST = "Fit a CatBoostClassifier to the columns of `features`, with symmetric trees and numbers only"

# The losses of CatBoost whose raw value is log-odds, or the predicted value itself.
_CATBOOST = {"Logloss", "CrossEntropy", "RMSE", "MAE", "Quantile", "MAPE", "Huber", "Expectile", "LogCosh"}


def _is_fitted(final: Any, library: str) -> bool:
    if library == "catboost":
        return final.is_fitted()
    if hasattr(final, "__sklearn_is_fitted__"):
        return final.__sklearn_is_fitted__()
    # A booster has no `fit`; scikit-learn's own check is this one.
    fitted = any(name.endswith("_") and not name.startswith("__") for name in vars(final))
    return fitted or not hasattr(final, "fit")


def _checked(estimator: Any, library: str) -> None:
    """Refuses what the saved file does not say, so that no model reads it: missing figures, the loss."""
    final = _final(estimator)
    if not _is_fitted(final, library):
        raise AssayError(f"{type(final).__name__} is not fitted: call its `fit` with the columns of `features`, then pack it")
    if len(getattr(final, "classes_", [0, 1])) == 1:
        raise AssayError(f"all outcomes that {type(final).__name__} was fitted to are {final.classes_[0]!s}: it learns from "
                         "two classes. Add wallets with the other outcome, and fit it again")
    if library == "xgboost":
        missing = getattr(final, "missing", float("nan"))
        if missing is not None and missing == missing:
            raise AssayError(f"its figure for missing values is {missing}, which XGBoost does not save: fit it with "
                             "missing=numpy.nan, and absent figures as NaN")
    if library == "catboost":
        try:
            loss = str(final.get_all_params().get("loss_function", "")).partition(":")[0]
        except Exception as error:
            raise AssayError(f"CatBoost does not say what it was fitted to: {error}. A sum of models, as sum_models makes, "
                             "has no loss: pack one fitted model") from error
        if loss not in _CATBOOST:
            raise AssayError(f"its loss is {loss}, whose prediction is not the sum of its trees: fit it with Logloss, "
                             "or with RMSE on a score")
    if library == "sklearn" and hasattr(final, "classes_") and not hasattr(final, "predict_proba"):
        raise AssayError(f"the decision function of {type(final).__name__} is not in log-odds: fit an estimator with "
                         "predict_proba, such as LogisticRegression")


# The outcome of each margin, and pairs of labels of which the second is outcome 1.
_OUTCOMES = {"log-odds-of-bad": "bad", "log-odds-of-good": "good", "log-odds-of-bot": "bot"}
_NUMBERED = (["0", "1"], ["0.0", "1.0"], ["false", "true"])


def _labelled(final: Any, declared: dict[str, Any], margin: Any, declaration: Path) -> None:
    """Refuses labels that do not say that the second class is the outcome of the margin. Libraries sort text labels, and
    not every file has them."""
    classes = [str(one) for one in getattr(final, "classes_", [])]
    outcome, lower = _OUTCOMES.get(margin), [one.lower() for one in classes]
    if len(classes) != 2 or outcome is None or lower in _NUMBERED or lower[1] == outcome:
        return
    said = f"it predicts the log-odds of {classes[1]!r}, the second of its classes {classes}"
    if declared.get("kind") == "sybil":
        raise AssayError(f"{said}, and not of a bot: fit it to the classes 0 and 1, where 1 is a bot")
    if lower[1] in ("bad", "good"):
        raise AssayError(f"{said}, and {declaration} has margin = {margin!r}: write \"log-odds-of-{lower[1]}\"")
    raise AssayError(f"{said}, and nothing says whether that is good or bad: fit it to the classes 0 and 1, where 1 is the "
                     "outcome of `margin`, or 'bad' and 'good'")


def _uncalibrated(estimator: Any) -> tuple[Any, dict[str, Any]]:
    """The estimator inside a CalibratedClassifierCV, and [score.calibration] with its numbers."""
    fitted = getattr(estimator, "calibrated_classifiers_", [])
    if len(fitted) != 1:
        raise AssayError(f"it is a mean of {len(fitted)} calibrated models, or not fitted: fit "
                         "CalibratedClassifierCV(FrozenEstimator(model)) to other wallets than the model")
    inner, calibrator = _unwrapped(fitted[0].estimator), fitted[0].calibrators[0]
    of = "margin" if hasattr(fitted[0].estimator, "decision_function") else "probability"
    if hasattr(calibrator, "a_") and hasattr(calibrator, "b_"):
        return inner, {"method": "platt", "of": of, "a": float(calibrator.a_), "b": float(calibrator.b_)}
    if hasattr(calibrator, "X_thresholds_"):
        x, y = (list(map(float, one)) for one in (calibrator.X_thresholds_, calibrator.y_thresholds_))
        return inner, {"method": "isotonic", "of": of, "x": x, "y": y}
    raise AssayError(f"its calibration is {type(calibrator).__name__}: calibrate with method='sigmoid' or 'isotonic'")


def _calibrated(wanted: dict[str, Any], score: dict[str, Any], section: str, declaration: Path) -> None:
    """Refuses a declaration that has another calibration than the estimator."""
    if score.get("calibration") == wanted:
        return
    quoted = {name: f'"{one}"' if isinstance(one, str) else repr(one) for name, one in wanted.items()}
    lines = "".join(f"{name} = {one}\n" for name, one in quoted.items())
    found = "another" if "calibration" in score else "no"
    raise AssayError(f"{declaration} has {found} calibration: write\n[{section}.calibration]\n{lines}")


def pack(
    estimator: Any, folder: str | os.PathLike[str], wallets: Wallets | None = None, reversed: bool = False
) -> Path:
    """Packs a fitted estimator of LightGBM, XGBoost, CatBoost or scikit-learn as a component, and returns its path.

    `folder` has the `model.toml`, as `assay model new --lang trees` makes it. The estimator must be fitted to the
    columns of `features(folder / "model.toml", …)`. This writes the file that `trained` names, the one that `table`
    names, and what the estimator predicts: predictions.csv for `wallets`, and odd-predictions.csv for the rows of
    `assay features odd`. Then `assay model build` makes the component and compares it with both. `wallets` are those of
    the training, in history.jsonl of the folder if they are not given. A search such as GridSearchCV stands for its best
    estimator. CalibratedClassifierCV(FrozenEstimator(model)) is packed with the calibration that model.toml declares.

    `assay model build` refuses a model that gives bad outcomes the higher scores, and `reversed` accepts it.

    Raises AssayError if the estimator cannot be packed, or if the component would predict something else.
    """
    folder = Path(folder)
    declaration = folder / "model.toml"
    try:
        declared = tomllib.loads(declaration.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AssayError(f"{declaration} cannot be read: {error}") from error
    section = "score" if "score" in declared else "risk"
    score = declared.get(section, {})
    estimator, calibrated = _unwrapped(estimator), None
    if type(estimator).__name__ == "CalibratedClassifierCV":
        calibrated, (estimator, calibration) = estimator, _uncalibrated(estimator)
        _calibrated(calibration, score, section, declaration)
    elif "calibration" in score:
        raise AssayError(f"{declaration} has a calibration, and {type(estimator).__name__} has none: pack the "
                         "CalibratedClassifierCV(FrozenEstimator(model)) that has it")
    library = _library(estimator)
    trained = declared.get("trained", declared.get("trees"))
    if not isinstance(trained, str) or not trained.endswith(_ENDS[library]):
        wanted = f'write trained = "model{_ENDS[library]}" for {library}'
        raise AssayError(f"{declaration} has trained = {trained!r}: {wanted}")
    _checked(estimator, library)
    _labelled(_final(estimator), declared, score.get("margin"), declaration)
    with as_file(folder / "history.jsonl" if wallets is None else wallets) as file:
        text = _table.text(declaration, file)
        if isinstance(declared.get("table"), str):
            (folder / declared["table"]).write_text(text, encoding="utf-8")
        absent = {one["name"]: one["absent"] for one in declared.get("feature", []) if "absent" in one}
        table = _table.read(text).drop(columns="outcome").fillna(absent)
        predictions = folder / "predictions.csv"
        try:
            _save(estimator, library, table, folder / trained)
            odd = _table.rows(run("features", "odd", declaration)).fillna(absent)
            _write(estimator, calibrated, library, table, predictions)
            _write(estimator, calibrated, library, odd, folder / "odd-predictions.csv")
        except AssayError:
            raise
        except Exception as error:
            # Each library has its own.
            raise AssayError(f"the estimator does not take the features of {declaration}: {error}") from error
        accepts = ["--reversed"] if reversed else []
        print(run("model", "build", folder, "--expect", predictions, "--features", file, *accepts), end="")
    return folder / f"{folder.resolve().name}.wasm"
