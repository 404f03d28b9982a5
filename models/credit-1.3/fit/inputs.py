"""The inputs of the scorecard, from one line of a features file. `src/seen.rs` computes the same for the component.

A larger input is more risk. `load` is debt over what it may reach before a liquidation, 1 over the health
factor; `near` is its log, 0 from a health factor of `SAFE` on. `recency` is 30 / (30 + days) since the last
liquidation, and `repeated` is recency times the log of one and their number. `unread` says that a debt may exist that
was not read, and `loan` that a loan is known.
"""

import gzip
import json
import math

import pandas as pd

DAY = 86400.0
# Days in which the outcome may happen, unless a record says another number as `within_days`.
HORIZON = 90
# The usual threshold of volatile collateral, if none is stated.
THRESHOLD = 0.8
# Debt over its limit. Beyond the highest nothing is said; flows and prices are not so exact.
MOST_LOAD = 1.25
# From this health factor on, a higher one counts for nothing.
SAFE = 10.0
# A smaller debt is none; nobody liquidates it for the fee.
DUST = 10.0
FADE_DAYS = 30.0
# The age of a liquidation without a date: what is not known is not taken for old.
UNDATED_DAYS = 30.0
MOST_LIQUIDATIONS = 20


def money(value):
    return min(value, 1e12) if value and value > 0 and math.isfinite(value) else 0.0


def load(borrowed, supplied, threshold=THRESHOLD):
    """0 without debt; the most if nothing secures it."""
    if borrowed < DUST:
        return 0.0
    room = supplied * threshold
    return MOST_LOAD if room <= 0 else min(borrowed / room, MOST_LOAD)


def known(market):
    """The position of a market, if it was read."""
    position = market.get("position") or {}
    return position if position.get("coverage", "failed") != "failed" else {}


def unread(market, complete):
    """Whether the market may hold a debt that was not read. `complete` has the chains that were read whole."""
    if known(market):
        return False
    if market["coverage"] == "failed":
        return True
    if money(market["borrowed_usd"]) > 0:
        return False
    return bool(market.get("position")) or market["coverage"] != "complete" and market["chain_id"] not in complete


def sources(record):
    """What could be read: chains, the positions of markets that may move a score, and those with a history."""
    markets = [m for m in record["markets"] if m["feeds_score"]]
    counted = [m for m in markets if m["coverage"] != "failed"]
    chains = [c for c in record["chains"] if c["coverage"] != "failed"]
    return chains, [m for m in markets if m in counted or known(m)], counted


def position(record):
    """The highest load of a market or of everything together, and the debt. Each rises with each debt."""
    chains, markets, _ = sources(record)
    total, kept = (max(sum(money(c[key]) for c in chains), sum(money(m[key]) for m in markets))
                   for key in ("borrowed_usd", "supplied_usd"))
    highest, threshold, stated = 0.0, THRESHOLD, False
    for market in markets:
        debt, deposits = money(market["borrowed_usd"]), money(market["supplied_usd"])
        stated_there = known(market)
        factor = money(stated_there.get("health_factor"))
        threshold = max(threshold, min(money(stated_there.get("liquidation_threshold")), 1.0))
        if factor > 0:
            stated = True
            highest = max(highest, min(1.0 / factor, MOST_LOAD) if debt >= DUST else 0.0)
        elif deposits > 0:
            highest = max(highest, load(debt, deposits))
    if kept > 0 or not stated:
        highest = max(highest, load(total, kept, threshold))
    return highest, total


def loan(market):
    """Whether a loan of more than dust is known."""
    dollars = (market.get("dollars") or {}).get("borrow")
    return bool(market.get("borrow") or market.get("repay")) and (dollars is None or dollars >= DUST)


def of(record):
    """The inputs of one record, by name."""
    highest, owed = position(record)
    _, _, markets = sources(record)
    complete = {c["chain_id"] for c in record["chains"] if c["coverage"] == "complete"}
    dark = any(c["coverage"] == "failed" for c in record["chains"]) or \
        any(unread(m, complete) for m in record["markets"] if m["feeds_score"])
    count = sum(m.get("liquidation") or 0 for m in markets)
    days = [UNDATED_DAYS if m.get("last_liquidation") is None
            else max(record["as_of"] - m["last_liquidation"], 0) / DAY for m in markets if m.get("liquidation")]
    recency = FADE_DAYS / (FADE_DAYS + min(days)) if days else 0.0
    near = math.log(max(highest * SAFE, 1.0))
    return {"load": highest, "owed": owed, "near": near, "unread": dark, "loan": any(map(loan, markets)),
            "recency": recency, "repeated": recency * math.log(1 + min(count, MOST_LIQUIDATIONS))}


def read(path):
    """A features file as a table: the inputs, outcome, cluster, group and date of each line that has an outcome."""
    opened = gzip.open(path, "rt") if str(path).endswith(".gz") else open(path, encoding="utf-8")
    rows = []
    with opened as lines:
        for line in lines:
            record = json.loads(line) if line.strip() else {}
            if record.get("outcome") is None:
                continue
            rows.append({**of(record), "outcome": int(record["outcome"]), "as_of": record["as_of"],
                         "days": record.get("within_days", HORIZON), "soon": record.get("liquidated_30"),
                         "cluster": record.get("cluster") or record.get("id")})
    if not rows:
        raise SystemExit(f"{path} has no line with an outcome: label it, for example with --outcome of the export")
    return pd.DataFrame(rows)
