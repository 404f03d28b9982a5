"""Fits credit 1.4 and writes its scorecard.toml and src/table.rs: the same data give the same bytes.

  fit.py DATA

DATA holds maker_eth_b_events.csv.gz with its fees and prices, and aave_compound_borrows_2023.jsonl.gz.
"""

import argparse
import hashlib
import json
import math
import pathlib
import sys
import tempfile
import tomllib

import numpy as np

# The folder of this file is source; nothing is written to it.
sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
OWN = HERE.parent
# The readers of the public sets and the statistics are those of 1.3.
sys.path[:0] = [str(HERE), str(OWN.parent / "credit-1.3" / "fit")]

import model
import recipe
import scorecard
import sets

VERSION = "1.4"
POSSIBLE = {"position": 300, "repayment": 149, "carried": 251}
WORDS = {
    "intercept": "Log-odds of a liquidation at the health factor of a safe position, where the score is 1000.",
    "near": "Log-odds added with each unit of the log of 1 / health factor.",
    "level": "Log of the hazard of another liquidation right after one, but for the count.",
    "recent": "Power of `FADE_DAYS / (FADE_DAYS + days)`.",
    "repeated": "Power of one and the number of liquidations.",
    "border_odds": "Log-odds at 640.",
    "unread": "Points that an unread part takes at least: 639 are left.",
    "small": "Dollars; a smaller debt counts in proportion.",
    "material": "A debt counts in full from 1 / this of what the deposits of other loans could spare.",
    "matched": "The part of a debt that a deposit of its own class carries.",
    "plain_threshold": "Threshold of a market that states none.",
    "unread_threshold": "Threshold of a debt whose health factor was not read: the lowest in use.",
    "spare_health": "Health factor that is left when deposits are spared.",
    "most_load": "The highest load: beyond it nothing is said.",
    "healthy": "Health factor from which on a position is safe.",
    "new": "Share of the points above 640 that a wallet without a carried loan keeps: 749 is its highest score.",
    "most_carried": "Dollars of a loan that count.",
    "half_dollar_days": "Dollars times days that earn half of the rest.",
    "unpriced": "Dollars of a loan in another asset than a stablecoin: its events have none.",
    "fade_days": "Days in which the recency of a liquidation halves.",
    "undated_days": "Age of a liquidation without a date.",
    "most_liquidations": "Liquidations that count.",
    "rounding": "Dollars by which the sum of markets may differ from that of a chain.",
    "unread_load": "The lowest load of a debt whose health factor was not read.",
}


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def load(data, plan):
    """The two tables of the fit and the digests of what was read."""
    vaults = getattr(sets, plan["vaults"]["set"].replace("-", "_"))
    with tempfile.TemporaryDirectory() as out:
        lines = pathlib.Path(out) / "vaults.jsonl"
        with open(lines, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in vaults(data))
        borrowers = data / plan["borrowers"]["file"]
        found = {plan["vaults"]["set"]: digest(lines), borrowers.name: digest(borrowers)}
        return model.read(lines), model.read(borrowers), found


def constants(fitted):
    """Every constant of the component by name."""
    rules = {name: value for name, value in fitted.rules.items() if name not in ("border_share", "new")}
    level, recent, repeated = fitted.history
    border = model.odds(fitted.rules["border_share"])
    # A hundredth of a log-odd is a point.
    unread = math.exp((border + 0.01 - fitted.intercept) / fitted.near) / fitted.rules["healthy"]
    return {"intercept": fitted.intercept, "near": fitted.near, "level": level, "recent": recent, "repeated": repeated,
            "border_odds": round(border, 6), "unread": 361.0, "unread_load": round(unread, 4),
            "new": round(fitted.rules["new"] / 360, 6)} | rules


def folds(vaults, borrowers, plan, candidates):
    """AUC within dates, each wallet scored by a fit without it, beside 1 / health factor."""
    rules = plan["rules"]
    weighed = model.weighed(vaults, borrowers, plan)
    history = model.likeliest(model.Model(rules, *model.position(weighed, rules)), candidates, weighed[1])
    for name, at in (("vaults", 0), ("borrowers", 1)):
        table = weighed[at]
        part, risk = recipe.folds(table), np.zeros(len(table))
        for fold in range(recipe.FOLDS):
            rest = list(weighed)
            rest[at] = table[part != fold]
            fitted = model.Model(rules, *model.position(rest, rules))
            # Vaults choose the level of the history and borrowers its weights; a fold leaves out its own wallets.
            fitted.history = history if name == "vaults" else model.likeliest(fitted, candidates, rest[1])
            risk[part == fold] = fitted.risk(table[part == fold])
        # Dates of borrowers are their own, so they are compared within their part of the wallets.
        rows = table.assign(part=part, outcome=table.outcome)
        within = ("as_of", "part") if name == "vaults" else ("part",)
        for outcome, days in (("outcome", 90), ("soon", 30)):
            if outcome == "outcome" or rows.soon.notna().all():
                found = recipe.Pairs(rows, outcome, within).compare(risk, rows["load"].to_numpy())
                yield {"set": name, "days": days, "rows": len(rows), "wallets": int(rows.cluster.nunique()),
                       "bad": int(rows[outcome].sum())} | {key: round(float(value), 4) for key, value in found.items()}


def rust(card):
    lines = ["//! The fitted scorecard. `fit/fit.py` writes this file and `scorecard.toml`; do not edit it.", "",
             f'pub const VERSION: &str = "{card["version"]}";']
    for name, value in card["constants"].items():
        lines += [f"/// {WORDS[name]}", f"pub const {name.upper()}: f64 = {float(value)};"]
    lines += ["/// The points of each factor that lost none."]
    lines += [f"pub const {name.upper()}: u32 = {value};" for name, value in card["possible"].items()]
    lines += ["/// The lowest scores of deciles 2 to 10.",
              f"pub const DECILES: [u32; 9] = {scorecard.text(card['deciles'])};"]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    data = parser.parse_args().data
    plan = tomllib.loads((HERE / "plan.toml").read_text())
    vaults, borrowers, read = load(data, plan)
    fitted, candidates = model.fit(vaults, borrowers, plan)
    scores = np.concatenate([fitted.score(table) for table in (vaults, borrowers)])
    card = {
        "version": VERSION, "outcome": "liquidated", "horizon_days": sets.HORIZON,
        "deciles": scorecard.deciles(scores), "constants": constants(fitted), "possible": POSSIBLE,
        "provenance": {"plan": digest(HERE / "plan.toml")} | read,
        "candidate": [dict(zip(("level", "recent", "repeated"), one)) for one in candidates],
        "figure": list(folds(vaults, borrowers, plan, candidates)),
    }
    (OWN / "scorecard.toml").write_text(scorecard.toml(card))
    (OWN / "src" / "table.rs").write_text(rust(card))
    print(scorecard.toml(card))


if __name__ == "__main__":
    main()
