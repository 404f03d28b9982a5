"""Fits credit 1.2: data sets to features files, features files to a scorecard, its constants and its figures.

  fit.py sets DATA OUT          turn the data sets of folder DATA into features files in folder OUT
  fit.py fit OUT                fit those as plan.toml says; write scorecard.toml and src/table.rs
  fit.py fit OUT --plan P       the same by another plan, for features files that `assay features export` wrote
  fit.py check OUT              score the files with scorecard.toml and print AUC with intervals, without a fit
"""

import argparse
import hashlib
import json
import pathlib
import tomllib
import warnings

import numpy as np
import pandas as pd

import inputs
import recipe
import scorecard
import sets

HERE = pathlib.Path(__file__).parent
CARD, TABLE = HERE.parent / "scorecard.toml", HERE.parent / "src" / "table.rs"
# Wallets below which a range says nothing.
ENOUGH = 50
# Parts of the wallets for the figure of fits that did not see them.
FOLDS = 5


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def make_sets(data, out):
    out.mkdir(parents=True, exist_ok=True)
    for name, load in sets.SETS.items():
        with open(out / f"{name}.jsonl", "w", encoding="utf-8") as lines:
            lines.writelines(json.dumps(record) + "\n" for record in load(data))
        print(f"{name}: {out / name}.jsonl")


def rates(table, scores):
    """Observed shares by range, while wallets are enough, with intervals over clusters."""
    table = table.assign(range=scorecard.of_range(scores))
    found = []
    for code, (name, _) in enumerate(scorecard.RANGES):
        rows = table[table["range"] == code]
        if rows.cluster.nunique() < ENOUGH:
            # A component claims its rates in the order of the ranges, from the lowest on.
            break
        low, high = recipe.interval(rows, lambda drawn: drawn.outcome.mean())
        found.append({"range": name, "wallets": rows.cluster.nunique(), "rows": len(rows),
                      "bad": int(rows.outcome.sum()),
                      "low": round(low, 4), "estimate": round(float(rows.outcome.mean()), 4), "high": round(high, 4)})
    return found


def evidence(tables, plan):
    """Each input alone: AUC, and information value in bins that rise with it."""
    from optbinning import OptimalBinning
    for step in plan["step"]:
        train, _ = recipe.split(tables[step["set"]], step)
        for name in step["inputs"]:
            binning = OptimalBinning(name=name, monotonic_trend="ascending", max_n_bins=6)
            bins = binning.fit(train[name].to_numpy(), train.outcome.to_numpy()).binning_table
            bins.build()
            value = float(bins.iv) if len(binning.splits) else 0.0
            yield {"input": name, "set": step["set"], "rows": len(train), "bad": int(train.outcome.sum()),
                   "auc": round(recipe.auc(train.outcome, train[name]), 3), "information_value": round(value, 3),
                   "bins_end": [round(float(end), 4) for end in binning.splits]}


def ceiling(train, test):
    """What gradient boosting makes of the same inputs: a scorecard far below it would miss something."""
    from lightgbm import LGBMClassifier
    trees = LGBMClassifier(n_estimators=150, num_leaves=7, min_child_samples=200, learning_rate=0.05,
                           random_state=recipe.SEED, deterministic=True, verbose=-1)
    trees.fit(train[inputs.NAMES], train.outcome)
    return recipe.auc(test.outcome, trees.predict_proba(test[inputs.NAMES])[:, 1])


def crossed(tables, plan, step):
    """The test of a step and its scores: each wallet by a fit without any row of it. Of later dates it saw
    those of others, by the rate behind `ever` alone."""
    _, test = recipe.split(tables[step["set"]], step)
    wallets = np.random.default_rng(recipe.SEED).permutation(test.cluster.unique())
    scores = pd.Series(0, index=test.index)
    for fold in range(FOLDS):
        held = set(wallets[fold::FOLDS])
        weights = recipe.fit({name: table[~table.cluster.isin(held)] for name, table in tables.items()}, plan)
        rows = test[test.cluster.isin(held)]
        scores[rows.index] = scorecard.score(scorecard.points(weights), rows)
    return test, scores


def figure(name, table, scores):
    low, high = recipe.interval(table.assign(risk=-scores), lambda drawn: recipe.auc(drawn.outcome, drawn.risk))
    return {"set": name, "rows": len(table), "wallets": table.cluster.nunique(), "bad": int(table.outcome.sum()),
            "auc": round(recipe.auc(table.outcome, -scores), 3), "low": round(low, 3), "high": round(high, 3)}


def figures(tables, cost):
    return [figure(name, table, scorecard.score(cost, table)) for name, table in tables.items()]


def run(folder, plan_file):
    plan = tomllib.loads(plan_file.read_text())
    files = sorted(pathlib.Path(folder).glob("*.jsonl*"))
    tables = {file.name.split(".jsonl")[0]: inputs.read(file) for file in files}
    weights = recipe.fit(tables, plan)
    cost = scorecard.points(weights)
    held_out, by_others = {}, []
    for step in plan["step"]:
        train, test = recipe.split(tables[step["set"]], step)
        if len(test):
            held_out[f"{step['set']}, out of time"] = test
            new = test[~test.cluster.isin(train.cluster)]
            if len(new):
                held_out[f"{step['set']}, out of time, wallets not fitted to"] = new
            by_others.append(figure(f"{step['set']}, out of time, each wallet by a fit without it",
                                    *crossed(tables, plan, step)))
            print(f"ceiling by gradient boosting, {step['set']} out of time: {ceiling(train, test):.3f}")
            if len(new):
                print(f"ceiling by gradient boosting, wallets not fitted to: {ceiling(train, new):.3f}")
    reference = tables[plan.get("reference", next(iter(tables)))]
    rated = next(iter(held_out.values()), reference)
    card = {
        "version": "1.2", "outcome": "liquidated", "horizon_days": sets.HORIZON, "base": scorecard.BASE,
        "points_per_log_odd": scorecard.PER_LOG_ODD, "deciles": scorecard.deciles(scorecard.score(cost, reference)),
        "weights": {name: round(weights[name], 6) for name in inputs.NAMES}, "points": cost,
        "possible": scorecard.possible(cost),
        "constants": {"threshold": inputs.THRESHOLD, "most_load": inputs.MOST_LOAD, "dust": inputs.DUST,
                      "large": inputs.LARGE, "fade_days": inputs.FADE_DAYS, "undated_days": inputs.UNDATED_DAYS,
                      "most_liquidations": inputs.MOST_LIQUIDATIONS, "thin": scorecard.THIN},
        "provenance": {"plan": digest(plan_file)} | {file.name: digest(file) for file in files},
        "input": [{"name": name, "knots": [[0.0, 0.0], [round(scorecard.MOST[name], 4),
                   round(-cost[name] * scorecard.MOST[name], 2)]]} for name in inputs.NAMES],
        "rate": rates(rated, scorecard.score(cost, rated)),
        "evidence": list(evidence(tables, plan)), "figure": figures(tables | held_out, cost) + by_others,
    }
    CARD.write_text(scorecard.toml(card))
    TABLE.write_text(scorecard.rust(card))
    print(pd.DataFrame(card["figure"]).to_string(index=False))
    print(pd.DataFrame(card["rate"]).to_string(index=False))


def check(folder):
    cost = tomllib.loads(CARD.read_text())["points"]
    tables = {file.name.split(".jsonl")[0]: inputs.read(file) for file in sorted(pathlib.Path(folder).glob("*.jsonl*"))}
    print(pd.DataFrame(figures(tables, cost)).to_string(index=False))


def main():
    warnings.filterwarnings("ignore", category=FutureWarning)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["sets", "fit", "check"])
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--plan", type=pathlib.Path, default=HERE / "plan.toml")
    given = parser.parse_args()
    if len(given.folders) != (2 if given.command == "sets" else 1):
        parser.error("`sets` takes DATA and OUT, the others take OUT")
    np.random.seed(recipe.SEED)
    {"sets": lambda: make_sets(*given.folders), "fit": lambda: run(given.folders[0], given.plan),
     "check": lambda: check(given.folders[0])}[given.command]()


if __name__ == "__main__":
    main()
