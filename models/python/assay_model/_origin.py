"""Fitted estimators: the file that a component is packed from, and what the estimator predicts."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy
import pandas

from . import _table
from ._program import AssayError, run
from ._wallets import Wallets, as_file

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# The end of the file that each library saves.
_ENDS = {"lightgbm": ".txt", "xgboost": ".json", "catboost": ".onnx", "sklearn": ".onnx"}


def _library(estimator: Any) -> str:
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
            symmetric = str(estimator.get_all_params().get("grow_policy", "SymmetricTree")) == "SymmetricTree"
            remedy = "Fit it to whole numbers: y.astype(int)" if symmetric else "Fit it with grow_policy='SymmetricTree'"
            raise AssayError(f"CatBoost cannot save it as ONNX: {error}. {remedy}") from error
        return
    try:
        import skl2onnx
        from skl2onnx.common.data_types import FloatTensorType
    except ImportError as error:
        raise AssayError("skl2onnx is missing: pip install 'assay-model[scikit-learn]'") from error
    final = estimator[-1] if hasattr(estimator, "steps") else estimator
    try:
        model = skl2onnx.to_onnx(
            estimator,
            initial_types=[("x", FloatTensorType([None, table.shape[1]]))],
            options={id(final): {"zipmap": False}} if hasattr(final, "classes_") else None,
            target_opset={"": 15, "ai.onnx.ml": 3},
        )
    except Exception as error:
        # Some of its errors have all figures of the model.
        raise AssayError(f"skl2onnx cannot convert {type(estimator).__name__}: {error!s:.300}") from error
    file.write_bytes(model.SerializeToString())


def _predict(estimator: Any, library: str, table: pandas.DataFrame) -> tuple[str, numpy.ndarray]:
    """The margin or probability that the estimator itself predicts for each row, and which of them it is."""
    x = table.to_numpy()
    # ONNX has figures of single precision.
    single = x.astype(numpy.float32)
    if library == "lightgbm":
        return "margin", getattr(estimator, "booster_", estimator).predict(x, raw_score=True)
    if library == "xgboost":
        if hasattr(estimator, "get_booster"):
            named = hasattr(estimator, "feature_names_in_")
            return "margin", estimator.predict(table.reset_index(drop=True) if named else x, output_margin=True)
        import xgboost

        rows = xgboost.DMatrix(x, feature_names=estimator.feature_names)
        return "margin", estimator.predict(rows, output_margin=True)
    if library == "catboost":
        return "margin", estimator.predict(single, prediction_type="RawFormulaVal")
    named = hasattr(estimator, "feature_names_in_")
    rows = pandas.DataFrame(single, columns=table.columns) if named else single
    if hasattr(estimator, "decision_function"):
        return "margin", estimator.decision_function(rows)
    if hasattr(estimator[-1] if hasattr(estimator, "steps") else estimator, "classes_"):
        return "probability", estimator.predict_proba(rows)[:, 1]
    return "margin", estimator.predict(rows)


def _write(estimator: Any, library: str, table: pandas.DataFrame, file: Path) -> None:
    """Writes what the estimator predicts for the rows of `table`."""
    with warnings.catch_warnings():
        # The largest figures overflow on the way.
        warnings.simplefilter("ignore", RuntimeWarning)
        unit, values = _predict(estimator, library, table)
    values = numpy.asarray(values, dtype=numpy.float64).reshape(-1)
    numpy.savetxt(file, values, header=unit, comments="", fmt="%.17g")


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


def _checked(estimator: Any, library: str, margin: Any, declaration: Path) -> None:
    """Refuses what the saved file does not say, so that no model reads it: labels, missing figures, the loss."""
    final = estimator[-1] if hasattr(estimator, "steps") else estimator
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
        loss = str(final.get_all_params().get("loss_function", "")).partition(":")[0]
        if loss not in _CATBOOST:
            raise AssayError(f"its loss is {loss}, whose prediction is not the sum of its trees: fit it with Logloss, "
                             "or with RMSE on a score")
    if library == "sklearn" and hasattr(final, "classes_") and not hasattr(final, "predict_proba"):
        raise AssayError(f"the decision function of {type(final).__name__} is not in log-odds: fit an estimator with "
                         "predict_proba, such as LogisticRegression")
    # Libraries sort text labels: the margin is the log-odds of the last one.
    classes = [str(one) for one in getattr(final, "classes_", [])]
    known = {"log-odds-of-bad": "bad", "log-odds-of-good": "good", "log-odds-of-bot": "bot"}
    if len(classes) == 2 and margin in known and classes[1] in known.values() and classes[1] != known[margin]:
        raise AssayError(f"it predicts the log-odds of {classes[1]!r}, the second of its classes {classes}, and "
                         f"{declaration} has margin = {margin!r}: write \"log-odds-of-{classes[1]}\"")


def pack(estimator: Any, folder: str | os.PathLike[str], wallets: Wallets | None = None) -> Path:
    """Packs a fitted estimator of LightGBM, XGBoost, CatBoost or scikit-learn as a component, and returns its path.

    `folder` has the `model.toml`, as `assay model new --lang trees` makes it. The estimator must be fitted to the
    columns of `features(folder / "model.toml", …)`. This writes the file that `trained` names, the one that `table`
    names, and what the estimator predicts: predictions.csv for `wallets`, and odd-predictions.csv for the rows of
    `assay features odd`. Then `assay model build` makes the component and compares it with both. `wallets` are those of
    the training, in history.jsonl of the folder if they are not given. A search such as GridSearchCV stands for its best
    estimator.

    Raises AssayError if the estimator cannot be packed, or if the component would predict something else.
    """
    folder = Path(folder)
    declaration = folder / "model.toml"
    try:
        declared = tomllib.loads(declaration.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AssayError(f"{declaration} cannot be read: {error}") from error
    estimator = _unwrapped(estimator)
    library = _library(estimator)
    trained = declared.get("trained", declared.get("trees"))
    if not isinstance(trained, str) or not trained.endswith(_ENDS[library]):
        wanted = f'write trained = "model{_ENDS[library]}" for {library}'
        raise AssayError(f"{declaration} has trained = {trained!r}: {wanted}")
    _checked(estimator, library, declared.get("score", declared.get("risk", {})).get("margin"), declaration)
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
            _write(estimator, library, table, predictions)
            _write(estimator, library, odd, folder / "odd-predictions.csv")
        except AssayError:
            raise
        except Exception as error:
            # Each library has its own.
            raise AssayError(f"the estimator does not take the features of {declaration}: {error}") from error
        print(run("model", "build", folder, "--expect", predictions, "--features", file), end="")
    return folder / f"{folder.resolve().name}.wasm"
