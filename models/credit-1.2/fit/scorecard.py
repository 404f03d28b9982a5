"""From weights to points: the scorecard as a file, as Rust constants, and as a function of the inputs."""

import math

import numpy as np

import inputs

BASE, TOP = 300, 1000
# Odds double with 76 points. A wallet that owes 1,000 dollars at half of a market's threshold and was never liquidated is
# then `fair`, one that was liquidated last week `low`, and one that paid everything back `excellent`.
PER_LOG_ODD = 110
RANGES = [("low", 300), ("fair", 640), ("good", 750), ("very_good", 840), ("excellent", 920)]
# The largest value of each input.
MOST = {"load": inputs.MOST_LOAD, "size": 1.0, "ever": 1.0, "recency": 1.0,
        "repeated": math.log(1 + inputs.MOST_LIQUIDATIONS)}
FACTORS = {"Current Position": ["load", "size"], "Repayment History": ["ever", "recency", "repeated"]}


def points(weights):
    """Points that a unit of each input takes away."""
    return {name: round(weights[name] * PER_LOG_ODD, 2) for name in inputs.NAMES}


def possible(cost):
    """Whole points of each factor; together what lies between 300 and 1000."""
    position = round(sum(cost[name] * MOST[name] for name in FACTORS["Current Position"]))
    return {"Current Position": position, "Repayment History": TOP - BASE - position}


def score(cost, table):
    """The scores of a table of inputs, as the component computes them."""
    full, total = possible(cost), BASE
    for factor, names in FACTORS.items():
        total = total + np.floor(full[factor] - sum(cost[name] * table[name] for name in names) + 0.5)
    return np.clip(total, BASE, TOP).astype(int)


def deciles(scores):
    """The lowest scores of deciles 2 to 10."""
    ordered = np.sort(scores)
    return [int(ordered[len(ordered) * tenth // 10]) for tenth in range(1, 10)]


def of_range(scores):
    edges = [low for _, low in RANGES[1:]]
    return np.digitize(scores, edges)


def text(value):
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(text, value)) + "]"
    return str(value)


def toml(card):
    """The card as TOML: plain values first, then tables and lists of tables."""
    lines = ["# Written by fit.py; do not edit. Points are taken from the possible points of a factor, in straight lines",
             "# between the knots [input, points]."]
    lines += [f"{key} = {text(value)}" for key, value in card.items() if not nested(value)]
    for key, value in card.items():
        for one in value if nested(value) and isinstance(value, list) else [value] if nested(value) else []:
            lines += ["", f"[[{key}]]" if isinstance(value, list) else f"[{key}]"]
            lines += [f"{text(name) if ' ' in name or '.' in name else name} = {text(item)}" for name, item in one.items()]
    return "\n".join(lines) + "\n"


def nested(value):
    return isinstance(value, dict) or isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def rust(card):
    """The constants of the component."""
    cost = card["points"]
    number = lambda value: str(float(value))
    lines = ["//! The fitted scorecard. `fit/fit.py` writes this file and `scorecard.toml`; do not edit it.", ""]
    for name, words in {
        "load": "a load of 1, debt at the threshold of a liquidation",
        "size": "a debt of 1,000 dollars or more",
        "ever": "any liquidation",
        "recency": "a liquidation now",
        "repeated": "recency times the logarithm of one and the number of liquidations",
    }.items():
        lines += [f"/// Points that are lost to {words}.", f"pub const {name.upper()}: f64 = {number(cost[name])};"]
    for name, value in card["constants"].items():
        lines += [f"pub const {name.upper()}: f64 = {number(value)};"]
    full = card["possible"]
    lines += ["/// The most points of each factor.", f"pub const POSITION: u32 = {full['Current Position']};",
              f"pub const REPAYMENT: u32 = {full['Repayment History']};",
              "/// The lowest scores of deciles 2 to 10.",
              f"pub const DECILES: [u32; 9] = {text(card['deciles'])};",
              "/// The lower end, the share and the upper end of the liquidated within the horizon, by range from `low` on, as far",
              "/// as a range had enough wallets in the test.",
              f"pub const RATES: [[f64; 3]; {len(card['rate'])}] = ["]
    lines += [f"    [{number(row['low'])}, {number(row['estimate'])}, {number(row['high'])}]," for row in card["rate"]]
    return "\n".join(lines + ["];"]) + "\n"
