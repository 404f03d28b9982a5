"""The fit: logistic regression with weights of at least zero, by steps, and its statistics."""

import math

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from sklearn.metrics import roc_auc_score

# Ridge on the weights, in the scale of the inputs (0 to about 3): enough to keep a set of 15 bad from an extreme.
RIDGE = 1.0
SEED = 1


def logistic(inputs, outcome, group, offset):
    """Weights of at least zero, with an intercept for each group, so that a market's mood on a date is no input."""
    codes, names = pd.factorize(group)
    groups, count = len(names), inputs.shape[1]

    def loss(weights):
        linear = inputs @ weights[groups:] + weights[codes] + offset
        error = 1 / (1 + np.exp(-linear)) - outcome
        value = np.logaddexp(0, linear).sum() - outcome @ linear + RIDGE / 2 * (weights[groups:] ** 2).sum()
        return value, np.r_[np.bincount(codes, error, groups), inputs.T @ error + RIDGE * weights[groups:]]

    bounds = [(None, None)] * groups + [(0, None)] * count
    return minimize(loss, np.zeros(groups + count), jac=True, bounds=bounds, method="L-BFGS-B").x[groups:]


def seconds(date):
    return pd.Timestamp(date, tz="UTC").timestamp()


def split(table, step):
    """Training and test rows of a step. The test has later dates, after a purge of the horizon."""
    if "through" not in step:
        return table, table.iloc[:0]
    return table[table.as_of <= seconds(step["through"])], table[table.as_of >= seconds(step["test_from"])]


def ever(table, prior):
    """The log odds by which an old liquidation is worse than none, both over 90 days."""
    days = 30 / table.recency - 30
    old = table[(days >= 180) & (days < 365)]
    odds = lambda rate: math.log(rate / (1 - rate))
    base = 1 - (1 - prior["ever_rate"]) ** (90 / prior["over_days"])
    return odds(old.outcome.mean()) - odds(base)


def fit(sets, plan):
    """Every weight by name, in log odds."""
    weights = {}
    for step in plan["step"]:
        train, _ = split(sets[step["set"]], step)
        offset = sum((weights[name] * train[name].to_numpy() for name in weights), np.zeros(len(train)))
        found = logistic(train[step["inputs"]].to_numpy(), train.outcome.to_numpy(float), train.group, offset)
        weights |= dict(zip(step["inputs"], map(float, found)))
    if prior := plan.get("prior", {}).get("ever"):
        table = sets[prior["set"]]
        old = weights["recency"] + weights["repeated"] * math.log(2)
        # What is left of the fade between 180 and 365 days is part of that difference.
        weights["ever"] = max(ever(table, prior) - old * 30 / (30 + 270), 0.0)
    return weights


def auc(outcome, risk):
    return roc_auc_score(outcome, risk) if outcome.nunique() == 2 else float("nan")


def interval(table, figure, resamples=400):
    """The middle 95 % of a figure over resamples of the clusters: a wallet with sixty rows is drawn as one."""
    random = np.random.default_rng(SEED)
    rows = list(table.groupby("cluster").indices.values())
    drawn = []
    for _ in range(resamples):
        picked = np.concatenate([rows[index] for index in random.integers(0, len(rows), len(rows))])
        drawn.append(figure(table.iloc[picked]))
    return [float(value) for value in np.nanpercentile(drawn, [2.5, 97.5])]
