"""Gives bad tables to train.py of the tree template, `assay model build` and `assay model pack`: tables.py FOLDER.

FOLDER is a new model of the template with a good matrix.csv. Prints what each route says of each table.
"""

import contextlib
import io
import os
import runpy
import subprocess
import sys
from pathlib import Path

os.chdir(sys.argv[1])
matrix, component, packed = Path("matrix.csv"), Path("mine.wasm"), Path("packed.wasm")
good = matrix.read_text()
head, *rows = good.splitlines()
names = head.split(",")
cells = [row.split(",") for row in rows]
assert all(len(row) == len(names) for row in cells), "no id of the template has a comma"


def joined(names, cells, mark=","):
    return "\n".join(mark.join(row) for row in [names, *cells]) + "\n"


def put(column, value, lines=None):
    """The table with another value in a column, of all rows or of some."""
    at = names.index(column)
    put_in = lambda line, row: [*row[:at], value, *row[at + 1 :]] if lines is None or line in lines else row  # noqa: E731
    return joined(names, [put_in(line, row) for line, row in enumerate(cells, 2)])


def without(column):
    at = names.index(column)
    return joined([*names[:at], *names[at + 1 :]], [[*row[:at], *row[at + 1 :]] for row in cells])


# The table, and words of train.py and of `build` and `pack`; nothing where a route takes the table rightly.
TABLES = {
    "good": (good, None, None),
    "a byte order mark": ("\ufeff" + good, None, None),
    "lines of Windows": (good.replace("\n", "\r\n"), None, None),
    "empty": ("", "has the columns ''", "its first line is empty"),
    "only a header": (head + "\n", "has no wallets", "it has no rows"),
    "one row": (joined(names, cells[:1]), "all 1 outcomes are", "all 1 outcomes are"),
    "two rows": (joined(names, [[*row[:-1], str(at)] for at, row in enumerate(cells[:2])]),
                 "wallets are left to train on", "Predict the rows of `assay features odd`"),
    "one row of unknown outcome": (joined(names, [[*cells[0][:-1], ""]]), "`outcome` is empty", "one margin for all"),
    "all good": (put("outcome", "0"), "all 600 outcomes are 0 (good), and none is 1 (bad)",
                 "all 600 outcomes are 0 (good), and none is 1 (bad)"),
    "all bad": (put("outcome", "1"), "all 600 outcomes are 1 (bad)", "all 600 outcomes are 1 (bad)"),
    "no outcome known": (put("outcome", ""), "`outcome` is empty in all 600 rows", None),
    "no column of outcomes": (without("outcome"), "has the columns", None),
    "an outcome of 2": (put("outcome", "2", {9}), "line 9: `outcome` is 2", "the column `outcome` has 2"),
    "an outcome in words": (put("outcome", "bad", {9}), "line 9: `outcome` is 'bad'", "line 9: the column `outcome` is `bad`"),
    "no column of a feature": (without("repays"), "has the columns", "it has no column `repays`"),
    "an empty column": (put("repays", ""), "`repays` is empty in all 600 rows", "the column `repays` is empty in each of"),
    "a column twice": (joined([*names, "repays"], [[*row, "1"] for row in cells]), "has the columns",
                       "two columns have the name `repays`"),
    "another column": (joined(["income", *names], [["1", *row] for row in cells]), "has the columns", None),
    "words for a figure": (put("assets", "many", {7}), "line 7: `assets` is 'many'", "line 7: the column `assets` is `many`"),
    "infinite": (put("assets", "inf", {7}), "line 7: `assets` is 'inf'", "`inf`, which is not a finite number"),
    "beyond any number": (put("assets", "-1e400", {7}), "line 7: `assets` is '-1e400'", "which is not a finite number"),
    "a decimal comma": (put("assets", "1,5", {7}), "line 7 has 9 cells", "line 7 has 9 cells"),
    "a short row": (good + "x,1\n", "line 602 has 2 cells", "line 602 has 2 cells"),
    "no date": (put("as_of", "", {7}), "line 7: `as_of` is nan", None),
    "a date in words": (put("as_of", "2026-01-01", {7}), "line 7: `as_of` is '2026-01-01'", None),
    "semicolons": (joined(names, cells, ";"), "has the columns 'id;as_of", "its columns are separated by ';'"),
    "tabs": (joined(names, cells, "\t"), "has the columns", "its columns are separated by '\\t'"),
    "Latin 1": (put("id", "caf\u00e9").encode("latin-1"), "cannot be read: 'utf-8' codec", "it is not text in UTF-8"),
    "UTF-16": (good.encode("utf-16"), "cannot be read: 'utf-8' codec", "it is not text in UTF-8"),
    "no table": (None, "matrix.csv cannot be read: ", "there is no file matrix.csv"),
}


def trained():
    """What train.py says if it ends with a sentence; anything else that it raises ends the test."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path("train.py", run_name="__main__")
    except SystemExit as end:
        assert isinstance(end.code, str), end.code
        return end.code
    return None


def built(*arguments):
    """What a command says if it fails."""
    for file in (component, packed):
        file.unlink(missing_ok=True)
    done = subprocess.run([os.environ["ASSAY_BIN"], "model", *arguments], capture_output=True, encoding="utf-8")
    made = component.exists() or packed.exists()
    assert (done.returncode == 0) == made, f"{arguments}: {done}"
    return None if made else done.stderr.strip()


assert trained() is None, "the good table"
model = Path("model.txt").read_bytes()
kept = {name: Path(name).read_bytes() for name in ("model.txt", "predictions.csv", "odd-predictions.csv")}
refused = 0
for name, (table, of_training, of_build) in TABLES.items():
    if table is None:
        matrix.unlink()
    else:
        matrix.write_bytes(table if isinstance(table, bytes) else table.encode())
    said = trained(), built("build"), built("pack", "model.toml", "-o", str(packed))
    for wanted, words in zip((of_training, of_build, of_build), said):
        assert (wanted is None) == (words is None), f"{name}: {words}"
        if words is not None:
            assert wanted in words, f"{name}: {words}, without {wanted}"
            assert "\n" not in words and words.startswith(("train.py: ", "assay: ")), f"{name}: {words}"
    print(f"{name}\n  " + "\n  ".join(str(words) for words in said[:2]))
    # A refusal writes nothing.
    assert all(Path(file).read_bytes() == bytes for file, bytes in kept.items()), name
    refused += any(words is not None for words in said)
print(f"{refused} tables refused by 3 routes")
