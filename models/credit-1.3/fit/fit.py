"""Fits a credit scorecard and writes scorecard.toml and src/table.rs of models/credit-VERSION.

  fit.py DATA VERSION [--models FOLDER]

                          DATA holds the public sets of sets.py, or features files with outcomes (*.jsonl, *.jsonl.gz),
                          such as `assay features export --population borrowers --outcome liquidation` writes;
                          FOLDER is models/ unless given

A new version begins as a copy of this one without its card. A version in plugins/SHA256SUMS is released and is left as
it is. Of features files the position is fitted; the weights for unread positions stay those of this version.
"""

import argparse
import hashlib
import json
import pathlib
import shutil
import sys
import tempfile
import tomllib

import numpy as np
import pandas as pd

# The folder of this file is source; nothing is written to it.
sys.dont_write_bytecode = True

import inputs
import recipe
import scorecard
import sets

HERE = pathlib.Path(__file__).resolve().parent
OWN = HERE.parent
MODELS = OWN.parent
# Wallets below which a range says nothing.
ENOUGH = 50
POPULATION = {
    "maker-eth-b": "wallets that owe at least $10 and whose health factor or utilisation was read, as measured on "
                   "MakerDAO ETH-B vaults from November 2020 to September 2021; others have no claim"}


def begin(models, version):
    """The folder of the version; a copy of this one if there is none yet."""
    released = (MODELS.parent / "plugins" / "SHA256SUMS").read_text().split()
    if f"credit-{version}.wasm" in released:
        raise SystemExit(f"credit {version} is released and never changes: give the fit another VERSION")
    folder = models / f"credit-{version}"
    if not folder.exists():
        shutil.copytree(OWN, folder, ignore=shutil.ignore_patterns("card.toml", "README.md", "__pycache__"))
        own = OWN.name.removeprefix("credit-")
        for mark in ("-", "_"):
            for file in (folder / "Cargo.toml", *(folder / "tests").glob("*.rs")):
                old, new = (f"credit{mark}{one.replace('.', mark)}" for one in (own, version))
                file.write_text(file.read_text().replace(old, new).replace(f'"{own}.0"', f'"{version}.0"'))
    return folder


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def features(data, out):
    """The features files: those of DATA, or the public sets made from it. Returns them with the plan."""
    files = sorted(data.glob("*.jsonl")) + sorted(data.glob("*.jsonl.gz"))
    files = [file for file in files if "agents" not in file.name]
    if files:
        return files, {"position": {}}
    for name, load in sets.SETS.items():
        with open(out / f"{name}.jsonl", "w", encoding="utf-8") as lines:
            lines.writelines(json.dumps(record) + "\n" for record in load(data))
    return sorted(out.glob("*.jsonl")), tomllib.loads((HERE / "plan.toml").read_text())


def average(table):
    """The share of the bad among wallets that owe."""
    return float(table.outcome[(table.load > 0) & ~table.unread].mean())


def crossed(table, plan, unread):
    """The score of each row by a fit without any row of its wallet, and the part that wallet is in."""
    part, scores = recipe.folds(table), np.zeros(len(table), int)
    for fold in range(recipe.FOLDS):
        rest, held = table[part != fold], table[part == fold]
        scores[part == fold] = scorecard.score(
            scorecard.points(recipe.position(rest, plan), unread, average(rest)), held)
    return scores, part


def horizons(table):
    days = int(table.days.max())
    yield "outcome", days
    if days > 30 and table.soon.notna().all():
        yield "soon", 30


def rates(name, table, scores):
    """Observed shares of every range with enough wallets, by horizon."""
    codes = scorecard.of_range(scores)
    for outcome, days in horizons(table):
        for code, (ranged, _) in enumerate(scorecard.RANGES):
            rows = table[codes == code]
            if rows.cluster.nunique() >= ENOUGH:
                estimate, low, high = recipe.share(rows, outcome)
                yield {"population": name, "days": days, "range": ranged, "wallets": int(rows.cluster.nunique()),
                       "rows": len(rows), "bad": int(rows[outcome].sum()),
                       "low": round(low, 4), "estimate": round(estimate, 4), "high": round(high, 4)}


def refused(table, scores, cut=640):
    """At a lender's cut-off: the share of the bad and of the good below it."""
    below, bad = scores < cut, table.outcome.to_numpy(bool)
    return {"bad_refused": round(float(below[bad].mean()), 3), "good_refused": round(float(below[~bad].mean()), 3)}


def figures(name, table, scores, simple, within=("as_of",), part=None):
    """AUC within dates beside the simplest input, by horizon, and AUC over all dates together."""
    rows = table if part is None else table.assign(part=part)
    for outcome, days in horizons(table):
        found = recipe.Pairs(rows, outcome, within).compare(-scores, table[simple].to_numpy())
        yield {"set": name, "days": days, "rows": len(table), "wallets": int(table.cluster.nunique()),
               "bad": int(table[outcome].sum()), "simplest": simple} | \
            {key: round(float(value), 4) for key, value in found.items()} | \
            {"pooled": round(recipe.auc(table[outcome], -scores), 4),
             "simple_pooled": round(recipe.auc(table[outcome], table[simple]), 4)} | \
            (refused(table, scores) if outcome == "outcome" else {})


def claimed(card, population, days):
    return {row["range"]: row for row in card if row["population"] == population and row["days"] == days}


def held(name, claims, seen):
    """Claims beside the rates that were observed on other dates."""
    for days in (sets.HORIZON, 30):
        stated = claimed(claims, "position", days)
        for ranged, row in claimed(seen, "position", days).items():
            if claim := stated.get(ranged):
                yield {"set": name, "days": days, "range": ranged, "wallets": row["wallets"],
                       "observed": row["estimate"], "observed_low": row["low"], "observed_high": row["high"],
                       "low": claim["low"], "estimate": claim["estimate"], "high": claim["high"],
                       "inside": claim["low"] <= row["estimate"] <= claim["high"]}


def out_of_time(table, plan, unread):
    """Weights and claims of the early dates, held against the later ones."""
    early, late = recipe.split(table, plan)
    if not len(late):
        return [], []
    cost = scorecard.points(recipe.position(early, plan), unread, average(early))
    early_scores, _ = crossed(early, plan, unread)
    claims, seen = (list(rates("position", rows, scores))
                    for rows, scores in ((early, early_scores), (late, scorecard.score(cost, late))))
    name = f"{plan['set']}, out of time" if "set" in plan else "out of time"
    return list(figures(name, late, scorecard.score(cost, late), "load")), list(held(name, claims, seen))


def unread_weights(tables, plan):
    """Fitted if the plan has such a set, and otherwise those of this version."""
    if "unread" in plan:
        return recipe.unread(tables[plan["unread"]["set"]], plan["unread"])
    own = tomllib.loads((OWN / "scorecard.toml").read_text())["weights"]
    return {"intercept": own["unread_intercept"], "recency": own["unread_recency"], "repeated": own["unread_repeated"]}


def others(tables, plan, cost, unread):
    """The figures of the sets that the position was not fitted to, each beside its best single input."""
    if "unread" not in plan:
        return
    early, late = recipe.split(tables[plan["unread"]["set"]], plan["unread"])
    then = scorecard.points(unread | {"near": 1.0}, recipe.unread(early, plan["unread"]), 0.05)
    held = cost | {name: then[name] for name in ("unread_recency", "unread_repeated")}
    yield from figures("aave-v2-ethereum, out of time", late, scorecard.score(held, late), "recency")
    for name, table in tables.items():
        if name not in (plan["position"]["set"], plan["unread"]["set"], plan["later"]["set"]):
            alone = {one: recipe.auc(table.outcome, table[one]) for one in ("load", "owed", "recency", "repeated")}
            yield from figures(name, table, scorecard.score(cost, table), max(alone, key=alone.get))
            owing = table[table.load > 0]
            if owing.outcome.nunique() == 2:
                yield from figures(f"{name}, only who owes", owing, scorecard.score(cost, owing), "load")


def run(data, folder, version, out):
    files, plan = features(data, out)
    tables = {file.name.split(".jsonl")[0]: inputs.read(file) for file in files}
    chosen = plan["position"].get("set")
    table = tables[chosen] if chosen else pd.concat(tables.values(), ignore_index=True)
    table = table[(table.load > 0) & ~table.unread].reset_index(drop=True)
    if not 0 < table.outcome.sum() < len(table):
        raise SystemExit("no wallet that owes was liquidated, or all were: give the fit records of both kinds")
    unread, position = unread_weights(tables, plan), recipe.position(table, plan["position"])
    if position["near"] <= 0:
        raise SystemExit("wallets nearer to a liquidation were not liquidated more often: check the labels")
    cost = scorecard.points(position, unread, average(table))
    scores, part = crossed(table, plan["position"], unread)
    later, checked = out_of_time(table, plan["position"], unread)
    rated = list(rates("position", table, scores))
    if "later" in plan:
        after, name = tables[plan["later"]["set"]], plan["later"]["set"]
        checked += held(name, rated, list(rates("position", after, scorecard.score(cost, after))))
        later += figures(name, after, scorecard.score(cost, after), "load")
    if "unread" in plan:
        blind = tables[plan["unread"]["set"]]
        rated += rates("unread", blind, scorecard.score(cost, blind))
    card = {
        "version": version, "outcome": "liquidated", "horizon_days": sets.HORIZON,
        "population": POPULATION.get(chosen, "wallets that owe at least $10 and whose health factor or utilisation was "
                                             "read; others have no claim"),
        "points_per_log_odd": scorecard.PER_LOG_ODD, "base_rate": round(average(table), 4),
        "deciles": scorecard.deciles(scorecard.score(cost, table)),
        "weights": {name: round(value, 6) for name, value in position.items()} |
                   {f"unread_{name}": round(value, 6) for name, value in unread.items()},
        "points": cost, "possible": scorecard.POSSIBLE,
        "constants": {"threshold": inputs.THRESHOLD, "most_load": inputs.MOST_LOAD, "dust": inputs.DUST,
                      "healthy": inputs.SAFE, "fade_days": inputs.FADE_DAYS, "undated_days": inputs.UNDATED_DAYS,
                      "most_liquidations": inputs.MOST_LIQUIDATIONS, "no_loan": scorecard.NO_LOAN},
        "provenance": {"plan": digest(HERE / "plan.toml")} | {file.name: digest(file) for file in files},
        "border": list(scorecard.borders(position)), "rate": rated, "check": checked,
        "figure": list(figures("each wallet by a fit without it", table, scores, "load", ("as_of", "part"), part))
                  + later + list(others(tables, plan, cost, unread)),
    }
    (folder / "scorecard.toml").write_text(scorecard.toml(card))
    (folder / "src" / "table.rs").write_text(scorecard.rust(card))
    for name in ("border", "rate", "check", "figure"):
        print(pd.DataFrame(card[name]).to_string(index=False), "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("version")
    parser.add_argument("--models", type=pathlib.Path, default=MODELS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as out:
        run(given.data, begin(given.models, given.version), given.version, pathlib.Path(out))


if __name__ == "__main__":
    main()
