"""A network of 73-82-82-1 units, as the public starter kit of a credit challenge has, with random weights.

Usage: networks.py FOLDER ANY    reads FOLDER/matrix.csv; writes FOLDER/network.onnx unless it is there, and
                                 FOLDER/network.csv with the probabilities of onnxruntime
"""

import sys
from pathlib import Path

import numpy
import onnx
import onnxruntime
from onnx import helper

folder = Path(sys.argv[1])
x = numpy.genfromtxt(folder / "matrix.csv", delimiter=",", skip_header=1).astype(numpy.float32)
widths, random = [x.shape[1], 82, 82, 1], numpy.random.default_rng(7)
if not (folder / "network.onnx").exists():
    nodes, tensors, last = [], [], "input"
    for at, (before, units) in enumerate(zip(widths, widths[1:])):
        for name, values in (("weight", random.normal(size=(units, before)) * 2 / numpy.sqrt(before)), ("bias", random.normal(size=units) / 9)):
            tensors.append(onnx.numpy_helper.from_array(values.astype(numpy.float32), f"{at}.{name}"))
        nodes.append(helper.make_node("Gemm", [last, f"{at}.weight", f"{at}.bias"], [f"{at}.sum"], alpha=1.0, beta=1.0, transB=1))
        last = f"{at}.result" if units > 1 else "output"
        nodes.append(helper.make_node("Relu" if units > 1 else "Sigmoid", [f"{at}.sum"], [last]))
    shapes = [helper.make_tensor_value_info(name, 1, ["batch_size", width]) for name, width in (("input", x.shape[1]), ("output", 1))]
    model = helper.make_model(helper.make_graph(nodes, "main_graph", shapes[:1], shapes[1:], tensors),
                              opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / "network.onnx")
session = onnxruntime.InferenceSession(folder / "network.onnx", providers=["CPUExecutionProvider"])
numpy.savetxt(folder / "network.csv", session.run(None, {"input": x})[0].ravel(), fmt="%.9g")
