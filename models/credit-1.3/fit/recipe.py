"""The fit: logistic regression with an intercept and weights of at least zero, and its statistics."""

import math

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.stats import rankdata

# Ridge on the weights of the history, in the scale of the inputs (0 to about 3), for rows that count as months.
RIDGE = 1.0
SEED = 1
FOLDS = 5
MONTH = 30


def logistic(table, names, held, row):
    """Intercept and weights by name. A row counts `row` of a month, so that daily rows are not taken for as many cases;
    those of `held` are held towards zero."""
    inputs, outcome = np.c_[np.ones(len(table)), table[names].to_numpy()], table.outcome.to_numpy(float)
    ridge = RIDGE * np.array([0] + [name in held for name in names])

    def loss(weights):
        linear = inputs @ weights
        error = 1 / (1 + np.exp(-linear)) - outcome
        value = row * (np.logaddexp(0, linear) - outcome * linear).sum() + (ridge * weights ** 2).sum() / 2
        return value, row * (inputs.T @ error) + ridge * weights

    bounds = [(None, None)] + [(0, None)] * len(names)
    found = minimize(loss, np.zeros(len(names) + 1), jac=True, bounds=bounds, method="L-BFGS-B").x
    return dict(zip(["intercept", *names], map(float, found)))


def position(table, plan):
    """The weights for a wallet that owes and whose position was read."""
    owes = table[(table.load > 0) & ~table.unread]
    return logistic(owes, ["near", "repeated"], {"repeated"}, plan.get("days_between", MONTH) / MONTH)


def unread(table, plan):
    """The weights of the liquidations of a wallet whose position was not read."""
    return logistic(table, ["recency", "repeated"], set(), plan.get("days_between", MONTH) / MONTH)


def seconds(date):
    return pd.Timestamp(date, tz="UTC").timestamp()


def split(table, plan):
    """Rows to fit on and later rows to test on, with the horizon purged between them."""
    if "through" not in plan:
        return table, table.iloc[:0]
    return table[table.as_of <= seconds(plan["through"])], table[table.as_of >= seconds(plan["test_from"])]


def folds(table):
    """The wallets in `FOLDS` parts: the number of the part of each row."""
    wallets = np.random.default_rng(SEED).permutation(table.cluster.unique())
    parts = {wallet: at % FOLDS for at, wallet in enumerate(wallets)}
    return table.cluster.map(parts).to_numpy()


class Pairs:
    """Pairs of a bad and a good row of one date, counted by wallet, so that wallets can be drawn again."""

    def __init__(self, table, outcome="outcome", within=("as_of",)):
        self.rows = table.reset_index(drop=True)
        self.wallets, names = pd.factorize(self.rows.cluster)
        self.size = len(names)
        self.bad = self.rows[outcome].to_numpy(bool)
        groups = self.rows.groupby(list(within)).indices.values()
        both = [rows for rows in groups if 0 < self.bad[rows].sum() < len(rows)]
        # Records that each have their own date are one group.
        self.groups = both or [np.arange(len(self.rows))]

    def won(self, risk):
        """By wallet of the bad and of the good row: pairs in which the bad one has more risk, and all pairs."""
        won = np.zeros((self.size, self.size), np.float32)
        all_pairs = np.zeros_like(won)
        for rows in self.groups:
            bad, good = rows[self.bad[rows]], rows[~self.bad[rows]]
            right = (risk[bad][:, None] > risk[good]) + 0.5 * (risk[bad][:, None] == risk[good])
            at = (self.wallets[bad][:, None], self.wallets[good])
            np.add.at(won, at, right)
            np.add.at(all_pairs, at, 1)
        held = all_pairs.any(axis=1)
        return won[held], all_pairs[held], held

    def compare(self, risk, simple, resamples=400):
        """AUC within dates of `risk` and of `simple`, and their difference, with intervals over wallets."""
        random = np.random.default_rng(SEED)
        (one, pairs, held), (other, _, _) = self.won(np.asarray(risk)), self.won(np.asarray(simple))
        drawn = []
        for times in (np.bincount(random.integers(0, self.size, self.size), minlength=self.size).astype(float)
                      for _ in range(resamples)):
            total = times[held] @ pairs @ times
            if total > 0:
                drawn.append((times[held] @ one @ times / total, times[held] @ other @ times / total))
        drawn = np.array(drawn)
        total = pairs.sum(dtype=float)
        own, base = one.sum(dtype=float) / total, other.sum(dtype=float) / total
        low, high = np.percentile(drawn[:, 0], [2.5, 97.5])
        less, more = np.percentile(drawn[:, 0] - drawn[:, 1], [2.5, 97.5])
        return {"auc": own, "low": low, "high": high, "simple": base, "difference": own - base,
                "difference_low": less, "difference_high": more}


def auc(outcome, risk):
    """The chance that a bad row has more risk than a good one, over all dates together."""
    bad = np.asarray(outcome, bool)
    many, ranks = bad.sum(), rankdata(risk)
    pairs = many * (len(bad) - many)
    return (ranks[bad].sum() - many * (many + 1) / 2) / pairs if pairs else float("nan")


def share(rows, outcome, resamples=1000):
    """The share of the bad, and the middle 95 % of it over wallets and, drawn apart from them, calendar months."""
    random = np.random.default_rng(SEED)
    months = pd.to_datetime(rows.as_of, unit="s").dt.strftime("%Y-%m")
    bad, all_rows = (pd.crosstab(rows.cluster, months, values=values, aggfunc="sum").fillna(0).to_numpy(float)
                     for values in (rows[outcome], np.ones(len(rows))))
    wallets, dates = bad.shape
    drawn = []
    for _ in range(resamples):
        one = np.bincount(random.integers(0, wallets, wallets), minlength=wallets)
        two = np.bincount(random.integers(0, dates, dates), minlength=dates)
        total = one @ all_rows @ two
        if total > 0:
            drawn.append(one @ bad @ two / total)
    low, high = np.percentile(drawn, [2.5, 97.5])
    mean = float(rows[outcome].mean())
    # No bad one among n wallets still leaves 3 / n possible.
    high = max(high, 1 - 0.05 ** (1 / rows.cluster.nunique()))
    return mean, float(low), float(high)


def log_odds(share):
    # A part of the wallets can have no bad one.
    share = min(max(share, 1e-4), 1 - 1e-4)
    return math.log(share / (1 - share))
