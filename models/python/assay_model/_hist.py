"""HistGradientBoosting of scikit-learn, saved as ONNX of double precision: skl2onnx rounds its thresholds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy

from ._program import AssayError

# It stands for a library of its own: no step of a pipeline before it can be saved.
NAME = "HistGradientBoosting"
_LINKS = {"LogitLink": "LOGISTIC", "IdentityLink": "NONE"}
_OPSETS = {"": 15, "ai.onnx.ml": 3}


def is_one(estimator: Any) -> bool:
    return any(kind.__module__.startswith("sklearn.ensemble._hist_gradient_boosting") for kind in type(estimator).__mro__)


def save(estimator: Any, file: Path) -> None:
    """Writes the trees as one ensemble."""
    try:
        from onnx import TensorProto, helper
    except ImportError as error:
        raise AssayError("onnx is missing: pip install 'assay-model[scikit-learn]'") from error
    # scikit-learn has no public names for the trees. `pack` compares the result with its own predictions.
    try:
        link = type(estimator._loss.link).__name__
        trees = [[predictor.nodes for predictor in of_iteration] for of_iteration in estimator._predictors]
        start = numpy.asarray(estimator._baseline_prediction, dtype=numpy.float64).reshape(-1)
    except AttributeError as error:
        raise AssayError(f"this release of scikit-learn keeps the trees of {type(estimator).__name__} elsewhere: {error}. "
                         "Install an older one, or fit LGBMClassifier") from error
    if any(len(of_iteration) != 1 for of_iteration in trees):
        raise AssayError("it has several classes; a score needs one margin")
    if link not in _LINKS:
        raise AssayError(f"its loss is {estimator.loss}, whose prediction is not the sum of its trees: fit it with "
                         "log_loss, or with squared_error on a score")
    nodes = numpy.concatenate([of_iteration[0] for of_iteration in trees])
    # Columns of categories come before the others in its trees.
    if getattr(estimator, "_preprocessor", None) is not None or nodes["is_categorical"].any():
        raise AssayError("it was fitted with categorical_features: leave them out, and write `if` for each category into "
                         "the expressions of model.toml")
    counts = [len(of_iteration[0]) for of_iteration in trees]
    tree = numpy.repeat(numpy.arange(len(trees)), counts)
    number = numpy.concatenate([numpy.arange(count) for count in counts])
    is_leaf = nodes["is_leaf"].astype(bool)
    doubles = lambda name, values: helper.make_tensor(name, TensorProto.DOUBLE, [len(values)], values)  # noqa: E731
    whole = lambda values: numpy.where(is_leaf, 0, values).astype(int).tolist()  # noqa: E731
    classes = getattr(estimator, "classes_", None)
    of = "target" if classes is None else "class"
    attributes = {
        "nodes_treeids": tree.tolist(),
        "nodes_nodeids": number.tolist(),
        "nodes_featureids": whole(nodes["feature_idx"]),
        "nodes_modes": numpy.where(is_leaf, "LEAF", "BRANCH_LEQ").tolist(),
        "nodes_values_as_tensor": doubles("thresholds", numpy.where(is_leaf, 0.0, nodes["num_threshold"])),
        "nodes_truenodeids": whole(nodes["left"]),
        "nodes_falsenodeids": whole(nodes["right"]),
        "nodes_missing_value_tracks_true": whole(nodes["missing_go_to_left"]),
        f"{of}_ids": [0] * int(is_leaf.sum()),
        f"{of}_treeids": tree[is_leaf].tolist(),
        f"{of}_nodeids": number[is_leaf].tolist(),
        f"{of}_weights_as_tensor": doubles("leaves", nodes["value"][is_leaf]),
        "base_values_as_tensor": doubles("start", start),
        "post_transform": _LINKS[link],
    }
    figures = lambda name, element, width: helper.make_tensor_value_info(name, element, [None, width])  # noqa: E731
    if classes is None:
        kind, attributes["n_targets"] = "TreeEnsembleRegressor", 1
        outputs = [figures("value", TensorProto.FLOAT, 1)]
    else:
        kind, is_text = "TreeEnsembleClassifier", classes.dtype.kind not in "biu"
        attributes["classlabels_strings" if is_text else "classlabels_int64s"] = (
            [str(one) for one in classes] if is_text else [int(one) for one in classes])
        label = helper.make_tensor_value_info("label", TensorProto.STRING if is_text else TensorProto.INT64, [None])
        outputs = [label, figures("probabilities", TensorProto.FLOAT, 2)]
    ensemble = helper.make_node(kind, ["x"], [one.name for one in outputs], domain="ai.onnx.ml", **attributes)
    inputs = [figures("x", TensorProto.DOUBLE, estimator.n_features_in_)]
    opsets = [helper.make_opsetid(*opset) for opset in _OPSETS.items()]
    model = helper.make_model(helper.make_graph([ensemble], "trees", inputs, outputs), opset_imports=opsets, ir_version=8)
    file.write_bytes(model.SerializeToString())
