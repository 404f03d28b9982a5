"""Random graphs of ONNX, with what onnxruntime answers.

Usage: graphs.py FILE COUNT SEED    writes one JSON line for each graph that onnxruntime runs: the file of the model, its
                                    number of features, whether absent figures are imputed, the operators, the rows, the
                                    last column of the first output of figures, and how far single precision moves it
"""

import base64
import json
import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

onnxruntime.set_default_logger_severity(4)
OPTIONS = onnxruntime.SessionOptions()
OPTIONS.intra_op_num_threads = OPTIONS.inter_op_num_threads = 1
ROWS = 16
ML = "ai.onnx.ml"
FIGURES = np.array([0.0, -0.0, 1.0, 2.0, 3.0, -1.0, 0.5, 1.5, -2.5, 7.0])


class Graph:
    """A graph that grows operator by operator. `width` columns are in the tensor `last`."""

    def __init__(self, random):
        self.random, self.nodes, self.tensors = random, [], []
        self.count, self.opset, self.imputes = 0, int(random.integers(9, 23)), False
        # Trees may have double precision; `thresholds` are those of such trees.
        self.is_double, self.thresholds = False, []
        self.features = self.width = int(random.integers(2, 6))

    def chance(self, share):
        return self.random.random() < share

    def pick(self, *of):
        return of[int(self.random.integers(len(of)))]

    def name(self, prefix="t"):
        self.count += 1
        return f"{prefix}{self.count}"

    def numbers(self, count, spread=1.0):
        values = self.random.normal(size=count) * spread
        return np.where(self.random.random(count) < 0.3, self.random.choice(FIGURES, count), values).astype(np.float32)

    def constant(self, values):
        """An initializer, or one of the ways in which an operator makes a constant."""
        values, name = np.asarray(values), self.name("c")
        if self.chance(0.25):
            is_whole = values.dtype == np.int64
            if values.ndim == 0 and self.chance(0.5) and self.opset >= 12:
                made = {"value_int": int(values)} if is_whole else {"value_float": float(values)}
            elif values.ndim == 1 and self.chance(0.5) and self.opset >= 12:
                made = {"value_ints": values.tolist()} if is_whole else {"value_floats": values.tolist()}
            else:
                made = {"value": numpy_helper.from_array(values)}
            self.nodes.append(helper.make_node("Constant", [], [name], **made))
        elif self.chance(0.3) and values.dtype == np.float32:
            self.tensors.append(helper.make_tensor(name, TensorProto.FLOAT, values.shape, values.ravel().tolist()))
        else:
            self.tensors.append(numpy_helper.from_array(values, name))
        return name

    def add(self, operator, inputs, domain="", outputs=1, **attributes):
        names = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(operator, inputs, names, domain=domain, **attributes))
        self.last = names[-1] if operator in ("LinearClassifier", "TreeEnsembleClassifier") else names[0]
        return self.last

    def row(self, numbers):
        """A constant of one number for each column, in any of the shapes that broadcast."""
        shape = self.pick((), (1,), (1, 1)) if len(numbers) == 1 else self.pick((-1,), (-1,), (1, -1))
        if self.chance(0.03):
            shape = (-1, 1)
        return self.constant(np.asarray(numbers, np.float32).reshape(shape))


def inputs(graph):
    """One input of all columns, or one for each."""
    element = graph.pick(*[TensorProto.FLOAT] * 12, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.INT32)
    element = TensorProto.DOUBLE if graph.is_double else element
    rows = graph.pick(None, "N", "batch", ROWS)
    if graph.chance(0.75) or (element != TensorProto.FLOAT and not graph.is_double):
        graph.inputs = [("x", element, graph.features)]
        graph.last = "x"
    else:
        graph.inputs = [(f"f{at}", element, 1) for at in range(graph.features)]
        graph.add("Concat", [name for name, _, _ in graph.inputs], axis=graph.pick(1, 1, 1, -1))
    if graph.is_double:
        if graph.chance(0.1):
            graph.add("Cast", [graph.last], to=TensorProto.FLOAT)
            graph.add("Cast", [graph.last], to=TensorProto.DOUBLE)
    elif element == TensorProto.DOUBLE:
        graph.add("Cast", [graph.last], to=TensorProto.FLOAT)
    elif element != TensorProto.FLOAT and graph.chance(0.9):
        graph.add("Cast", [graph.last], to=TensorProto.FLOAT)
    return [helper.make_tensor_value_info(name, element, [rows, width]) for name, element, width in graph.inputs]


def some(graph, spread=1.0):
    return graph.numbers(1 if graph.chance(0.4) else graph.width, spread)


def columns(graph):
    """One operator over the columns."""
    random, width, last = graph.random, graph.width, graph.last
    match graph.pick("Scaler", "Mul", "Div", "Add", "Sub", "Clip", "Clip", "Imputer", "Norm", "Gather", "Extract",
                     "Identity", "Cast", "Reshape", "Flatten", "Dropout"):
        case "Scaler":
            graph.add("Scaler", [last], ML, offset=some(graph).tolist(), scale=some(graph).tolist())
        case "Mul" | "Add" | "Sub" | "Div" as name:
            numbers = some(graph)
            if name == "Div":
                numbers = np.where(np.abs(numbers) < 0.1, np.float32(2), numbers)
            operands = [last, graph.row(numbers)]
            graph.add(name, operands[:: graph.pick(1, 1, -1)])
        case "Clip":
            low, high = sorted(graph.numbers(2).tolist(), reverse=graph.chance(0.05))
            low, high = (None if graph.chance(0.25) else low), (None if graph.chance(0.25) else high)
            if graph.opset < 11:
                graph.add("Clip", [last], **{name: value for name, value in (("min", low), ("max", high)) if value is not None})
            else:
                bound = lambda value: "" if value is None else graph.constant(np.float32(value))
                bounds = [bound(low), bound(high)]
                while bounds and not bounds[-1]:
                    bounds.pop()
                graph.add("Clip", [last, *bounds])
        case "Imputer":
            replaced = graph.pick(float("nan"), float("nan"), float("nan"), 0.0, None)
            graph.imputes = graph.imputes or (replaced != replaced and graph.fresh)
            given = {} if replaced is None else {"replaced_value_float": replaced}
            graph.add("Imputer", [last], ML, imputed_value_floats=some(graph).tolist(), **given)
        case "Norm":
            scales = [graph.constant(graph.numbers(width)) for _ in range(3)]
            spread = graph.constant(np.abs(graph.numbers(width)) + np.float32(0.2))
            given = {} if graph.chance(0.5) else {"epsilon": graph.pick(1e-5, 1e-3, 0.1)}
            if graph.opset >= 14 and graph.chance(0.2):
                given["training_mode"] = 0
            graph.add("BatchNormalization", [last, *scales, spread], **given)
        case "Gather":
            count = int(random.integers(1, width + 1))
            places = random.integers(-width if graph.chance(0.5) else 0, width, count)
            if graph.chance(0.1):
                places = places[:1].reshape(())
            given = {} if graph.chance(0.03) else {"axis": graph.pick(1, 1, -1)}
            graph.add("Gather", [last, graph.constant(places.astype(np.int64))], **given)
            graph.width = places.size
        case "Extract":
            places = random.integers(0, width, int(random.integers(1, width + 1)))
            graph.add("ArrayFeatureExtractor", [last, graph.constant(places.astype(np.int64))], ML)
            graph.width = places.size
        case "Identity":
            graph.add("Identity", [last])
        case "Cast":
            graph.add("Cast", [last], to=TensorProto.FLOAT)
            if graph.chance(0.15):
                graph.add("Cast", [last], to=graph.pick(TensorProto.INT64, TensorProto.INT32, TensorProto.DOUBLE))
                graph.add("Cast", [graph.last], to=TensorProto.FLOAT)
        case "Reshape":
            shape = graph.pick([-1, width], [0, width], [0, -1], [-1, width], [width, -1], [-1, 1])
            graph.add("Reshape", [last, graph.constant(np.array(shape, np.int64))])
        case "Flatten":
            given = {} if graph.chance(0.4) else {"axis": graph.pick(1, 1, 0, 2) if graph.opset < 11 else graph.pick(1, 1, -1, 0)}
            graph.add("Flatten", [last], **given)
        case "Dropout":
            if graph.opset >= 12:
                graph.add("Dropout", [last], outputs=graph.pick(1, 2))
            else:
                graph.add("Dropout", [last], outputs=graph.pick(1, 2), ratio=0.5)
    graph.fresh = False


def encoded(graph):
    """Some columns as numbers, and others as categories."""
    before, parts, width = graph.last, [], 0
    places = graph.random.permutation(graph.width)
    cut = int(graph.random.integers(1, graph.width))
    numbers = graph.add("ArrayFeatureExtractor", [before, graph.constant(places[:cut].astype(np.int64))], ML)
    for place in places[cut:]:
        graph.add("ArrayFeatureExtractor", [before, graph.constant(np.array([place], np.int64))], ML)
        graph.add("Cast", [graph.last], to=graph.pick(TensorProto.INT64, TensorProto.INT64, TensorProto.INT32))
        if graph.nodes[-1].attribute[0].i == TensorProto.INT32:
            graph.add("Cast", [graph.last], to=TensorProto.INT64)
        categories = sorted({int(one) for one in graph.random.integers(-2, 8, 3)})
        given = {} if graph.chance(0.5) else {"zeros": graph.pick(1, 1, 1, 0)}
        parts.append(graph.add("OneHotEncoder", [graph.last], ML, cats_int64s=categories, **given))
        width += len(categories)
    joined = graph.add("Concat", parts, axis=graph.pick(2, -1))
    flat = graph.add("Reshape", [joined, graph.constant(np.array([-1, width], np.int64))])
    graph.add("Concat", [numbers, flat], axis=1)
    graph.width = cut + width


def layer(graph, units, activation):
    width, last = graph.width, graph.last
    weights = (graph.random.normal(size=(width, units)) / np.sqrt(width)).astype(np.float32)
    biases = graph.numbers(1 if graph.chance(0.1) else units, 0.5)
    if graph.chance(0.5):
        flip = int(graph.chance(0.5))
        given = {} if graph.chance(0.5) else {"alpha": graph.pick(0.5, 2.0, 1.0), "beta": graph.pick(0.5, 1.0, -1.0)}
        if flip or graph.chance(0.2):
            given["transB"] = flip
        operands = [last, graph.constant(weights.T.copy() if flip else weights)]
        if graph.opset < 11 or graph.chance(0.9):
            operands.append(graph.row(biases))
        graph.add("Gemm", operands, **given)
    else:
        graph.add("MatMul", [last, graph.constant(weights)])
        if graph.chance(0.9):
            operands = [graph.last, graph.row(biases)]
            graph.add("Add", operands[:: graph.pick(1, -1)])
    graph.width = units
    if graph.chance(0.15):
        graph.add(graph.pick("Mul", "Add", "Sub"), [graph.last, graph.row(some(graph))])
    if graph.chance(0.1):
        scales = [graph.constant(graph.numbers(units)) for _ in range(3)]
        graph.add("BatchNormalization", [graph.last, *scales, graph.constant(np.ones(units, np.float32))])
    if activation == "Clip":
        bounds = [graph.constant(np.float32(0)), graph.constant(np.float32(6))]
        graph.add("Clip", [graph.last, *bounds]) if graph.opset >= 11 else graph.add("Clip", [graph.last], min=0.0, max=6.0)
    elif activation:
        graph.add(activation, [graph.last])
    if graph.chance(0.05):
        graph.add("Dropout", [graph.last])


def head(graph):
    """What follows the last layer. Returns the outputs, and whether they are probabilities."""
    match graph.pick("plain", "plain", "Sigmoid", "Sigmoid", "rest", "both", "Softmax", "classifier", "regressor", "heads"):
        case "plain":
            layer(graph, 1, None)
            if graph.chance(0.2):
                graph.add("Reshape", [graph.last, graph.constant(np.array(graph.pick([-1], [-1, 1]), np.int64))])
            return [graph.last], False
        case "Sigmoid":
            layer(graph, 1, "Sigmoid")
            return [graph.last], True
        case "rest":
            layer(graph, 1, "Sigmoid")
            return [graph.add("Sub", [graph.row([1.0 if graph.chance(0.9) else 2.0]), graph.last])], True
        case "both":
            layer(graph, 1, "Sigmoid")
            other = graph.last
            rest = graph.add("Sub", [graph.row([1.0]), other])
            graph.add("Concat", [rest, other][:: graph.pick(1, 1, 1, -1)], axis=graph.pick(1, 1, -1))
            if graph.chance(0.3):
                graph.add("Gather", [graph.last, graph.constant(np.array(graph.pick(1, 1, 0, -1), np.int64))], axis=1)
            return [graph.last], True
        case "Softmax":
            layer(graph, graph.pick(2, 2, 2, 3), None)
            given = {} if graph.chance(0.4) else {"axis": graph.pick(1, 1, 0) if graph.opset < 11 else graph.pick(1, -1, -1, 0)}
            graph.add("Softmax", [graph.last], **given)
            if graph.chance(0.3):
                place = graph.pick(np.array([1]), np.array(1), np.array([-1]), np.array([0]), np.array(-1))
                graph.add("Gather", [graph.last, graph.constant(place.astype(np.int64))], axis=graph.pick(1, 1, 0))
            if graph.chance(0.1):
                graph.add("Normalizer", [graph.last], ML, norm=graph.pick("L1", "L1", "L2", "MAX"))
            return [graph.last], True
        case "classifier":
            transform = graph.pick("LOGISTIC", "LOGISTIC", "SOFTMAX", "NONE", None, "PROBIT")
            one = graph.numbers(graph.width, 0.7)
            rows, cuts = np.stack([-one, one]), np.array([-0.5, 0.5], np.float32)
            if transform == "SOFTMAX" and graph.chance(0.5):
                rows, cuts = graph.numbers(2 * graph.width, 0.7), graph.numbers(2)
            given = {} if transform is None else {"post_transform": transform}
            # Without intercepts the runtime ends the process.
            given["intercepts"] = cuts.tolist()
            if graph.chance(0.5):
                given["multi_class"] = graph.pick(0, 1)
            graph.add("LinearClassifier", [graph.last], ML, 2, coefficients=rows.ravel().tolist(),
                      classlabels_ints=[0, 1], **given)
            label = graph.nodes[-1].output[0]
            if graph.chance(0.4) and transform != "NONE":
                graph.add("Normalizer", [graph.last], ML, **({} if graph.chance(0.1) else {"norm": graph.pick("L1", "L1", "L1", "L2", "MAX")}))
            return [(label, TensorProto.INT64), graph.last], transform in ("LOGISTIC", "SOFTMAX")
        case "regressor":
            given = {} if graph.chance(0.3) else {"intercepts": graph.numbers(1).tolist()}
            transform = graph.pick(None, None, "NONE", "LOGISTIC", "SOFTMAX")
            if transform:
                given["post_transform"] = transform
            graph.add("LinearRegressor", [graph.last], ML, coefficients=graph.numbers(graph.width).tolist(), **given)
            return [graph.last], False
        case "heads":
            before, width = graph.last, graph.width
            layer(graph, 1, None)
            first, graph.last, graph.width = graph.last, before, width
            layer(graph, 1, graph.pick(None, "Sigmoid"))
            return [first, graph.last], False


def trees(graph):
    """A random ensemble over the columns."""
    random, count = graph.random, int(graph.random.integers(1, 4))
    parts = {name: [] for name in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids",
                                   "missing_value_tracks_true")}
    leaves, modes = [], graph.pick(["BRANCH_LEQ"], ["BRANCH_LT"], ["BRANCH_GT", "BRANCH_LEQ"], ["BRANCH_GTE"], ["BRANCH_EQ", "BRANCH_LEQ"])
    for tree in range(count):
        for node in range(7):
            is_leaf = node > 2
            for name, value in zip(parts, (tree, node, 0 if is_leaf else int(random.integers(graph.width)),
                                           "LEAF" if is_leaf else graph.pick(*modes),
                                           0.0 if is_leaf else float(graph.numbers(1)[0]), 0 if is_leaf else 2 * node + 1,
                                           0 if is_leaf else 2 * node + 2, int(graph.chance(0.3)))):
                parts[name].append(value)
            if is_leaf:
                leaves.append((tree, node, float(graph.numbers(1)[0])))
    given = {f"nodes_{name}": values for name, values in parts.items()}
    if graph.chance(0.3):
        del given["nodes_missing_value_tracks_true"]
    kind = graph.pick("target", "class")
    given |= {f"{kind}_treeids": [leaf[0] for leaf in leaves], f"{kind}_nodeids": [leaf[1] for leaf in leaves],
              f"{kind}_ids": [0] * len(leaves), f"{kind}_weights": [leaf[2] for leaf in leaves]}
    if graph.chance(0.4):
        given["base_values"] = graph.numbers(1).tolist()
    transform = graph.pick(None, "NONE", "LOGISTIC", "LOGISTIC", "SOFTMAX")
    if transform:
        given["post_transform"] = transform
    if graph.is_double:
        for name in ("nodes_values", "base_values", f"{kind}_weights"):
            if name in given:
                values = np.array(given.pop(name)) * (1.1 if graph.chance(0.5) else 1)
                make = numpy_helper.from_array if graph.chance(0.5) else lambda values, name: helper.make_tensor(
                    name, TensorProto.DOUBLE, values.shape, values.tolist())
                given[f"{name}_as_tensor"] = make(values, name)
                if name == "nodes_values":
                    graph.thresholds = values[values != 0]
    if kind == "target":
        given["n_targets"] = 1
        if graph.chance(0.4):
            given["aggregate_function"] = graph.pick("SUM", "SUM", "AVERAGE", "MIN")
        graph.add("TreeEnsembleRegressor", [graph.last], ML, **given)
        outputs = [graph.last]
    else:
        graph.add("TreeEnsembleClassifier", [graph.last], ML, 2, classlabels_int64s=[0, 1], **given)
        outputs = [(graph.nodes[-1].output[0], TensorProto.INT64), graph.last]
    if graph.chance(0.2):
        shape = graph.pick([-1], [-1, 1], [-1, 2])
        outputs[-1] = graph.add("Reshape", [graph.last, graph.constant(np.array(shape, np.int64))])
    # The runtime ends a regressor with its sum in any case.
    return outputs, transform == "LOGISTIC" and kind == "class"


def build(random):
    graph = Graph(random)
    is_forest = graph.chance(0.2)
    graph.is_double = is_forest and graph.chance(0.3)
    given = inputs(graph)
    graph.fresh = True
    if is_forest:
        if graph.chance(0.25) and not graph.is_double:
            columns(graph)
    else:
        for _ in range(int(random.integers(0, 4))):
            columns(graph)
        if graph.width > 1 and graph.chance(0.12):
            encoded(graph)
    if is_forest:
        outputs, is_probability = trees(graph)
    else:
        for _ in range(int(random.integers(0, 3))):
            layer(graph, int(random.integers(2, 5)), graph.pick("Relu", "Relu", "Sigmoid", "Tanh", None, *["LeakyRelu", "Clip"][: graph.chance(0.3) * 2]))
        outputs, is_probability = head(graph)
    shapes = [helper.make_tensor_value_info(*(one if isinstance(one, tuple) else (one, TensorProto.FLOAT)), None) for one in outputs]
    opsets = [helper.make_opsetid("", graph.opset), helper.make_opsetid(ML, 3 if graph.is_double else graph.pick(1, 2, 3))]
    made = helper.make_graph(graph.nodes, "graph", given, shapes, graph.tensors)
    return graph, helper.make_model(made, opset_imports=opsets, ir_version=8), is_probability


def table(graph):
    """Rows of figures; some are absent if the graph imputes them."""
    random = graph.random
    rows = (random.normal(size=(ROWS, graph.features)) * random.choice([1, 1, 3, 30], (1, graph.features))).astype(np.float32)
    rows = np.where(random.random(rows.shape) < 0.3, random.choice(FIGURES, rows.shape), rows)
    if len(graph.thresholds):
        near = np.concatenate([graph.thresholds, *(np.nextafter(graph.thresholds, end) for end in (-np.inf, np.inf))])
        rows = np.where(random.random(rows.shape) < 0.4, random.choice(near, rows.shape), rows)
    return np.where(random.random(rows.shape) < 0.15, np.nan, rows) if graph.imputes else rows


def answers(session, graph, rows):
    types = {TensorProto.FLOAT: np.float32, TensorProto.DOUBLE: np.float64, TensorProto.INT64: np.int64, TensorProto.INT32: np.int32}
    with np.errstate(invalid="ignore"):
        feed = ({"x": rows.astype(types[graph.inputs[0][1]])} if len(graph.inputs) == 1 else
                {name: rows[:, at:at + 1].astype(types[element]) for at, (name, element, _) in enumerate(graph.inputs)})
    outputs = [np.asarray(one) for one in session.run(None, feed)]
    first = next(one for one in outputs if one.dtype in (np.float32, np.float64))
    # Another number of figures is an answer too, which no model can have.
    return np.resize(first, (len(rows), 1))[:, 0] * np.nan if first.size % len(rows) else first.reshape(len(rows), -1)[:, -1]


def main():
    path, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    random, made = np.random.default_rng(seed), 0
    with open(path, "w", encoding="utf-8") as file:
        while made < count:
            graph, model, is_probability = build(random)
            rows = table(graph)
            bytes_ = model.SerializeToString()
            try:
                session = onnxruntime.InferenceSession(bytes_, OPTIONS, providers=["CPUExecutionProvider"])
                expected = answers(session, graph, rows)
                moved = answers(session, graph, rows * np.float64(1 + 1e-6))
            except Exception:  # It is no graph for the runtime either.
                continue
            made += 1
            clean = lambda values: [None if not np.isfinite(value) else float(value) for value in values]
            line = {"model": base64.b64encode(bytes_).decode(), "features": graph.features, "imputes": graph.imputes,
                    "operators": sorted({node.op_type for node in graph.nodes}), "probability": is_probability,
                    "opset": graph.opset, "rows": [clean(row) for row in rows], "expected": clean(expected),
                    "moved": clean(np.abs(moved.astype(np.float64) - expected))}
            file.write(json.dumps(line) + "\n")


main()
