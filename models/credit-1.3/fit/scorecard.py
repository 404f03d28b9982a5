"""From weights to points: the scorecard as a file, as Rust constants, and as a function of the inputs."""

import math
import textwrap

import numpy as np

import inputs
import recipe

BASE, TOP = 300, 1000
RANGES = [("low", 300), ("fair", 640), ("good", 750), ("very_good", 840), ("excellent", 920)]
# `fair` begins where 5 in 100 are liquidated within the horizon; odds double with 69 points. The other borders follow.
BORDER, BORDER_SHARE = 640, 0.05
PER_LOG_ODD = 100
# From here on the points rise slowly, to 1000 at the health factor `inputs.SAFE`: the set cannot tell what is safe from
# what is safer, and only the order is left.
STEEP_UNTIL = 920
# By rule and not by the fit: who owes nothing and of whom no loan is known is at most `fair`.
NO_LOAN = TOP - 749
# The points of a factor that lost none.
POSSIBLE = {"Current Position": 500, "Repayment History": 200}


def points(position, unread, base_rate):
    """Points that a unit of each input takes away, and where the points of the position bend."""
    most = math.log(inputs.SAFE * inputs.MOST_LOAD)
    # The log odds at which the score is STEEP_UNTIL, and the input that has them.
    odds = recipe.log_odds(BORDER_SHARE) - (STEEP_UNTIL - BORDER) / PER_LOG_ODD
    bend = min(max((odds - position["intercept"]) / max(position["near"], 1e-6), 0.1), most)
    average = BORDER - PER_LOG_ODD * (recipe.log_odds(base_rate) - recipe.log_odds(BORDER_SHARE))
    return {"bend": round(bend, 4), "safe": round((TOP - STEEP_UNTIL) / bend, 2),
            "near": round(position["near"] * PER_LOG_ODD, 2),
            "repeated": round(position["repeated"] * PER_LOG_ODD, 2),
            "unread": float(round(TOP - average)),
            "unread_recency": round(unread["recency"] * PER_LOG_ODD, 2),
            "unread_repeated": round(unread["repeated"] * PER_LOG_ODD, 2)}


def lost(cost, table):
    """The points that each factor takes away."""
    near = cost["safe"] * np.minimum(table["near"], cost["bend"]) + \
        cost["near"] * np.maximum(table["near"] - cost["bend"], 0)
    position = np.where(table["load"] > 0, near, np.where(table["loan"], 0.0, NO_LOAN))
    history = cost["repeated"] * table["repeated"]
    alone = cost["unread_recency"] * table["recency"] + cost["unread_repeated"] * table["repeated"]
    return (np.where(table["unread"], np.maximum(position, cost["unread"]), position),
            np.where(table["unread"], np.maximum(history, alone), history))


def score(cost, table):
    """The scores of a table of inputs, as the component computes them."""
    total = BASE + sum(np.floor(full - gone + 0.5) for full, gone in zip(POSSIBLE.values(), lost(cost, table)))
    return np.clip(total, BASE, TOP).astype(int)


def borders(position):
    """The share that the fit states at each border, and the health factor of a wallet without a liquidation there."""
    for name, low in RANGES[1:]:
        odds = recipe.log_odds(BORDER_SHARE) - (low - BORDER) / PER_LOG_ODD
        load = math.exp((odds - position["intercept"]) / position["near"]) / inputs.SAFE
        yield {"range": name, "from": low, "share": round(1 / (1 + math.exp(-odds)), 4),
               "health_factor": round(1 / load, 2)}


def deciles(scores):
    """The lowest scores of deciles 2 to 10."""
    ordered = np.sort(scores)
    return [int(ordered[len(ordered) * tenth // 10]) for tenth in range(1, 10)]


def of_range(scores):
    return np.digitize(scores, [low for _, low in RANGES[1:]])


def text(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(text, value)) + "]"
    return str(value)


def toml(card):
    """The card as TOML: plain values first, then tables and lists of tables."""
    lines = ["# Written by fit.py; do not edit."]
    lines += [f"{key} = {text(value)}" for key, value in card.items() if not nested(value)]
    for key, value in card.items():
        for one in value if nested(value) and isinstance(value, list) else [value] if nested(value) else []:
            lines += ["", f"[[{key}]]" if isinstance(value, list) else f"[{key}]"]
            lines += [f"{text(key) if ' ' in key or '.' in key else key} = {text(item)}" for key, item in one.items()]
    return "\n".join(lines) + "\n"


def nested(value):
    return isinstance(value, dict) or isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def rust(card):
    """The constants of the component."""
    cost = card["points"]
    number = lambda value: str(float(value))
    lines = ["//! The fitted scorecard. `fit/fit.py` writes this file and `scorecard.toml`; do not edit it.", "",
             f"pub const VERSION: &str = {text(card['version'])};",
             "/// The wallets of the claims.",
             "pub const POPULATION: &str = " + " \\\n    ".join(textwrap.wrap(text(card["population"]), 88)) + ";"]
    for name, words in {
        "bend": "The `near` from which the points fall fast.",
        "safe": "Points lost with each unit of `near` up to the bend.",
        "near": "Points lost with each unit of `near` beyond the bend.",
        "repeated": "Points lost with each unit of `repeated`.",
        "unread": "Points lost if a debt may exist that was not read: the average of the population.",
        "unread_recency": "Points lost with each unit of `recency` if a debt may exist that was not read.",
        "unread_repeated": "The same with each unit of `repeated`.",
    }.items():
        lines += [f"/// {words}", f"pub const {name.upper()}: f64 = {number(cost[name])};"]
    for name, value in card["constants"].items():
        lines += [f"pub const {name.upper()}: f64 = {number(value)};"]
    full = card["possible"]
    served = [row for row in card["rate"] if row["population"] == "position" and row["days"] == card["horizon_days"]]
    names = [name for name, _ in RANGES]
    lines += ["/// The most points of each factor.", f"pub const POSITION: u32 = {full['Current Position']};",
              f"pub const REPAYMENT: u32 = {full['Repayment History']};",
              "/// The lowest scores of deciles 2 to 10.",
              f"pub const DECILES: [u32; 9] = {text(card['deciles'])};",
              "/// By range, 0 for `low`: lower end, share and upper end of the liquidated within the horizon.",
              f"pub const RATES: [(usize, [f64; 3]); {len(served)}] = ["]
    lines += [f"    ({names.index(row['range'])}, [{number(row['low'])}, {number(row['estimate'])}, "
              f"{number(row['high'])}])," for row in served]
    return "\n".join(lines + ["];"]) + "\n"
