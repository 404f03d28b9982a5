"""The figures of NumPy, SciPy and scikit-learn for the samples in figures.json, with which main.rs compares assay::stats.

Run by hand when a figure is added; the tests need only its output:

    pip install numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1
    python figures.py > figures.json
"""

import json

import numpy as np
import scipy
import sklearn
from scipy import special, stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, confusion_matrix, roc_auc_score

FLOOR = 1e-4
RANGES = [639, 749, 839, 919]
FIXED = [300 + 35 * n for n in range(1, 20)]
AT = [0.0, 0.01, 0.05, 0.25, 0.5, 0.9, 0.95, 0.975, 1.0]
RESAMPLES, SEED = 200, 7


def bins(values, edges):
    """(lower, upper] bins, the outer ones open."""
    return np.searchsorted(np.array(edges), values, side="left")


def psi_of_counts(expected, actual):
    e = np.maximum(np.array(expected) / np.sum(expected), FLOOR)
    a = np.maximum(np.array(actual) / np.sum(actual), FLOOR)
    return float(special.rel_entr(a, e).sum() + special.rel_entr(e, a).sum())


def psi(expected, actual, edges):
    count = lambda values: np.bincount(bins(values, edges), minlength=len(edges) + 1)
    return psi_of_counts(count(expected), count(actual))


def quantile_edges(values, n):
    return np.unique(np.quantile(values, [k / n for k in range(1, n)]))


def logistic(scores, outcome):
    x = ((scores - 650.0) / 350.0).reshape(-1, 1)
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-14, max_iter=500).fit(x, outcome)
    return model.intercept_[0], model.coef_[0][0], model.predict_proba(x)[:, 1]


def figures(scores, outcome):
    intercept, slope, p = logistic(scores, outcome)
    auc = roc_auc_score(outcome, -scores)
    rows = []
    which = bins(scores, quantile_edges(scores, 10))
    bad, n_bad, n_good = outcome.astype(bool), outcome.sum(), (1 - outcome).sum()
    for row in np.unique(which):
        here, through = which == row, which <= row
        interval = stats.binomtest(int(bad[here].sum()), int(here.sum())).proportion_ci(method="wilson")
        rows.append({
            "from": int(scores[here].min()), "to": int(scores[here].max()), "count": int(here.sum()), "bad": int(bad[here].sum()),
            "low": interval.low, "high": interval.high, "expected_rate": p[here].mean(),
            "cumulative_bad": bad[through].sum() / n_bad, "cumulative_good": (~bad)[through].sum() / n_good,
        })
    return {
        "auc": auc, "gini": 2 * auc - 1, "ks": stats.ks_2samp(scores[~bad], scores[bad]).statistic,
        "slope": slope / 350.0, "intercept": intercept - slope * 650.0 / 350.0, "brier": brier_score_loss(outcome, p), "deciles": rows,
    }


def draws(count):
    """SplitMix64, each number scaled to 0..count; one row per resample."""
    with np.errstate(over="ignore"):
        index = np.arange(RESAMPLES * count, dtype=np.uint64) + np.uint64(1)
        state = np.uint64(SEED) + np.uint64(0x9E3779B97F4A7C15) * index
        z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return np.array([(int(n) * count) >> 64 for n in z]).reshape(RESAMPLES, count)


def bootstrap(first, second, outcome):
    order = np.lexsort((second, first, outcome))
    first, second, outcome = first[order], second[order], outcome[order]
    found = {"auc": [], "brier": []}
    for drawn in draws(len(first)):
        a, b, y = first[drawn], second[drawn], outcome[drawn]
        found["auc"].append((roc_auc_score(y, -a), roc_auc_score(y, -b)))
        found["brier"].append(tuple(brier_score_loss(y, logistic(scores, y)[2]) for scores in (a, b)))
    interval = lambda values: list(np.quantile(values, [0.025, 0.975]))
    return {
        name: {"first": interval([a for a, _ in pairs]), "second": interval([b for _, b in pairs]),
               "difference": interval([b - a for a, b in pairs])}
        for name, pairs in found.items()
    }


def sample(name, first, second, outcome, resampled):
    first, second, outcome = (np.asarray(values) for values in (first, second, outcome))
    difference = second - first
    deciles = quantile_edges(first, 10)
    both = {
        "name": name, "first": first.tolist(), "second": second.tolist(), "outcome": outcome.tolist(), "at": AT,
        "mean": first.mean(), "variance": first.var(ddof=1), "quantiles": list(np.quantile(first, AT)),
        "mean_difference": difference.mean(), "difference_quantiles": list(np.quantile(difference, AT)),
        "absolute_quantiles": list(np.quantile(np.abs(difference), AT)),
        "psi_ranges": psi(first, second, RANGES), "psi_fixed": psi(first, second, FIXED), "psi_deciles": psi(first, second, deciles),
        "decile_edges": deciles.tolist(),
        "ks": stats.ks_2samp(first, second).statistic, "wasserstein": stats.wasserstein_distance(first, second),
        "spearman": stats.spearmanr(first, second).statistic, "kendall": stats.kendalltau(first, second, variant="b").statistic,
        "migration": confusion_matrix(bins(first, RANGES), bins(second, RANGES), labels=range(5)).tolist(),
        "outcomes": [figures(first, outcome), figures(second, outcome)],
    }
    if resampled:
        both["bootstrap"] = bootstrap(first, second, outcome)
    return both


def scores(values):
    return np.clip(np.round(values), 300, 1000).astype(int)


def samples():
    rng = np.random.default_rng(20261121)
    n = 500
    latent = rng.normal(640, 130, n)
    outcome = (rng.random(n) < 1 / (1 + np.exp((latent - 470) / 60))).astype(int)
    yield sample("wallets", scores(latent + rng.normal(0, 70, n)), scores(latent * 0.8 + 170 + rng.normal(0, 40, n)), outcome, True)
    # Nearly all subjects have one of few scores: ties everywhere, and deciles that coincide.
    few = rng.choice([300, 300, 300, 512, 513, 700, 1000], 120)
    yield sample("ties", few, scores(few + rng.choice([0, 0, 1, -50], 120)), (rng.random(120) < 0.4).astype(int), False)
    # The two models rank in opposite order.
    up = np.arange(300, 1000, 23)
    yield sample("opposite", up, up[::-1].copy(), (rng.random(len(up)) < 0.5).astype(int), False)


def sketch():
    """Positive figures over many sizes, zeros and absent ones, against the same shifted; the bins are the sketch's own."""
    rng = np.random.default_rng(5)
    one = [None if rng.random() < 0.1 else 0.0 if rng.random() < 0.2 else float(rng.lognormal(4, 3)) for _ in range(400)]
    two = [None if rng.random() < 0.2 else 0.0 if rng.random() < 0.1 else float(rng.lognormal(5, 2)) for _ in range(300)]
    present = np.array([v for v in one if v is not None])
    return {"expected": one, "actual": two, "at": AT, "quantiles": list(np.quantile(present, AT, method="inverted_cdf"))}


versions = {"numpy": np.__version__, "scipy": scipy.__version__, "scikit-learn": sklearn.__version__}
wilson = [[k, n, *stats.binomtest(k, n).proportion_ci(method="wilson")] for k, n in [(0, 10), (1, 10), (10, 10), (3, 1000), (248, 3497)]]
wilson = [[float(v) for v in row] for row in wilson]
print(json.dumps({"versions": versions, "resamples": RESAMPLES, "seed": SEED, "wilson": wilson, "sketch": sketch(), "samples": list(samples())},
                 default=float))
