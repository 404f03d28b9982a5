"""Runs the notebook of the Python package in a folder of trees: notebook.py NOTEBOOK FOLDER.

First packs the trees that train.py of the template saved there, which changes nothing that train.py wrote.
"""

import os
import sys
from pathlib import Path

import lightgbm
import nbclient
import nbformat

import assay_model

path, folder = map(Path, sys.argv[1:])
os.chdir(folder)
written = [Path(name) for name in ("matrix.csv", "predictions.csv", "model.txt", "model.toml")]
before = [one.read_text() for one in written]
assay_model.pack(lightgbm.Booster(model_file="model.txt"), ".")
for one, text in zip(written, before):
    # The end of a saved model has the parameters of the training, which a loaded one has not.
    assert one.read_text().split("\nend of trees")[0] == text.split("\nend of trees")[0], one

notebook = nbformat.read(path, as_version=4)
nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
cells = {cell.id: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}
said = "".join(output.get("text", "") for output in cells["pack"])
assert "the component predicts what predictions.csv has" in said, said
assert "<th>decile</th>" in cells["score"][-1]["data"]["text/html"]
assert "AUC within dates" in cells["backtest"][-1]["data"]["text/html"]
assert "was trained on these wallets" in "".join(output.get("text", "") for output in cells["backtest"])
