"""Runs the notebook of a lender and prints its letter: lender.py NOTEBOOK."""

import sys

import nbclient
import nbformat

notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=300).execute()
outputs = {cell.id: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}
print("".join(output.get("text", "") for output in outputs["letter"]))
