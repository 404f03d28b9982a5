"""Makes the tables of `bins` by optbinning and scorecardpy, with the scores that these give.

Usage: bins.py FOLDER    reads FOLDER/matrix.csv, the wallets that tests/tests/trained/bins.rs generates

The two libraries are 500 MB, so the tests read what this wrote. Run it again, in an environment with
`pip install optbinning==1.0.0 scorecardpy==0.1.9.7`, if the wallets or the expressions of model.toml change:
`ASSAY_KEEP=FOLDER .ci/suite --only trained bins` writes FOLDER/matrix.csv.
"""

import sys
import warnings
from pathlib import Path

import numpy
import pandas
import scorecardpy
from optbinning import BinningProcess, Scorecard
from sklearn.linear_model import LogisticRegression

warnings.filterwarnings("ignore")
NAMES = ["transactions", "transfers", "counterparties", "hours"]
folder, out = Path(sys.argv[1]), Path(__file__).parent / "bins"
x = pandas.read_csv(folder / "matrix.csv", dtype=float)[NAMES]
random = numpy.random.default_rng(7)
spread = (x.fillna(0).clip(-1000, 1000) - x.mean()) / (x.std() + 1e-9)
y = (spread.sum(axis=1) + random.normal(size=len(x)) > 0).astype(int)


def write(name, table, column, predicts):
    table.to_csv(out / f"{name}.csv", index=False)
    numpy.savetxt(out / f"{name}-{column}.csv", predicts, fmt="%.10g")


def scorecard(digits=8, **scaling):
    made = Scorecard(binning_process=BinningProcess(NAMES), estimator=LogisticRegression(), **scaling)
    return made.fit(x, y, show_digits=digits, metric_missing="empirical")


odds = dict(scaling_method="pdo_odds", scaling_method_params=dict(pdo=60, odds=4, scorecard_points=700))
points = scorecard(**odds)
write("optbinning-points", points.table("detailed"), "score", points.score(x))
log_odds = scorecard()
(out / "intercept.txt").write_text(f"{float(log_odds.estimator_.intercept_[0])!r}\n")
write("optbinning-odds", log_odds.table("detailed"), "probability", log_odds.predict_proba(x)[:, 1])
scorecard(2, **odds).table("detailed").to_csv(out / "optbinning-rounded.csv", index=False)
special = Scorecard(binning_process=BinningProcess(NAMES, special_codes=[0]), estimator=LogisticRegression(), **odds)
special.fit(x, y, show_digits=8).table("detailed").to_csv(out / "optbinning-special.csv", index=False)
labelled = x.assign(y=y)
bins = scorecardpy.woebin(labelled, y="y", print_info=False)
woe = scorecardpy.woebin_ply(labelled, bins, print_info=False)
columns = [column for column in woe.columns if column != "y"]
card = scorecardpy.scorecard(bins, LogisticRegression(C=0.9).fit(woe[columns], woe.y), columns, points0=700, odds0=1 / 4, pdo=60)
write("scorecardpy", pandas.concat(card), "score", scorecardpy.scorecard_ply(x, card, print_step=0)["score"])
