"""The score of credit 1.4 for lines with one market whose health factor was read, as src/ computes it, and its fit."""

import itertools
import json
import gzip
import math
import pathlib

import numpy as np
import pandas as pd
from scipy.optimize import minimize

import recipe

DAY = 86400.0
TOP, BORDER, PER_LOG_ODD = 1000.0, 640.0, 100.0


def read(path):
    """Lines of a features file with one market each, as a table; `soon` is the outcome within 30 days, if known."""
    opened = gzip.open(path, "rt") if str(path).endswith(".gz") else open(path, encoding="utf-8")
    rows = []
    with opened as lines:
        for line in lines:
            record = json.loads(line)
            market, = record["markets"]
            factor = (market.get("position") or {}).get("health_factor")
            count, last = market.get("liquidation") or 0, market.get("last_liquidation")
            days = (record["as_of"] - last) / DAY if last else 30.0
            counts = {kind: market.get(kind) or 0 for kind in ("supply", "withdraw", "borrow", "repay", "liquidation")}
            rows.append({
                "id": record["id"], "cluster": record["cluster"], "as_of": record["as_of"],
                "outcome": int(record["outcome"]), "soon": record.get("liquidated_30"),
                "within": record.get("within_days", 90), "factor": factor, "owed": market["borrowed_usd"],
                "supplied": market["supplied_usd"], "load": min(1 / factor, 1.25) if factor else 0.0,
                "count": count, "days": days, "recency": 30 / (30 + days) if count else 0.0,
                "age": (record["as_of"] - market["first_event"]) / DAY if counts["borrow"] or counts["repay"] else 0.0,
                "events": sum(counts.values()),
                "borrowed": market["borrowed_usd"]})
    return pd.DataFrame(rows)


def odds(share):
    return math.log(share / (1 - share))


class Model:
    """The weights with the rules of plan.toml."""

    def __init__(self, rules, intercept, near, history=None):
        self.rules, self.intercept, self.near, self.history = rules, intercept, near, history

    def position(self, table):
        near = np.log(np.maximum(table["load"] * self.rules["healthy"], 1.0))
        return 1 / (1 + np.exp(-(self.intercept + self.near * near)))

    def habit(self, table):
        level, recent, repeated = self.history
        had = table["count"].to_numpy() > 0
        recency = np.log(np.where(had, table["recency"], 1.0))
        times = np.log1p(np.minimum(table["count"], self.rules["most_liquidations"]))
        return np.where(had, 1 - np.exp(-np.exp(level + recent * recency + repeated * times)), 0.0)

    def risk(self, table):
        return 1 - (1 - self.position(table)) * (1 - self.habit(table))

    def score(self, table):
        """As src/scorecard.rs, for lines whose events were not read: the days since the first one stand in."""
        weight = np.minimum(table["owed"] / self.rules["small"], 1.0)
        lost = weight * self._lost(self.position(table))
        risk = 1 - (1 - self._risk(lost)) * (1 - self.habit(table))
        both = TOP - np.where(table["count"] > 0, np.maximum(self._lost(risk), lost), lost)
        dollar_days = self.rules["most_carried"] * np.maximum(table["age"], 0)
        new = self.rules["new"] / (TOP - BORDER)
        kept = new + (1 - new) * dollar_days / (dollar_days + self.rules["half_dollar_days"])
        return np.floor(np.where(both > BORDER, BORDER + (both - BORDER) * kept, both) + 0.5).astype(int)

    def _lost(self, risk):
        border = odds(self.rules["border_share"])
        log_odds = np.log(np.maximum(risk, 1e-300) / (1 - risk))
        above = np.clip((log_odds - self.intercept) / (border - self.intercept), 0, 1)
        return np.minimum((TOP - BORDER) * above + PER_LOG_ODD * np.maximum(log_odds - border, 0), 700)

    def _risk(self, lost):
        border = odds(self.rules["border_share"])
        log_odds = np.where(lost <= TOP - BORDER, self.intercept + (border - self.intercept) * lost / (TOP - BORDER),
                            border + (lost - (TOP - BORDER)) / PER_LOG_ODD)
        return np.where(lost > 0, 1 / (1 + np.exp(-log_odds)), 0.0)


def weighed(vaults, borrowers, plan):
    """Both sets with the weight of each row."""
    most = plan["borrowers"]["rows_of_a_wallet"]
    of_wallet = borrowers.groupby("cluster")["id"].transform("size")
    return (vaults.assign(weight=plan["vaults"]["days_between"] / 30),
            borrowers.assign(weight=np.minimum(1.0, most / of_wallet)))


def position(tables, rules):
    """Intercept and weight of the log of 1 / health factor, on rows without a liquidation behind them."""
    table = pd.concat(tables)
    table = table[(table["load"] > 0) & (table["count"] == 0)]
    near = np.log(np.maximum(table["load"] * rules["healthy"], 1.0)).to_numpy()
    outcome, weight = table.outcome.to_numpy(float), table.weight.to_numpy()

    def loss(found):
        linear = found[0] + found[1] * near
        error = weight * (1 / (1 + np.exp(-linear)) - outcome)
        return (weight * (np.logaddexp(0, linear) - outcome * linear)).sum(), np.array([error.sum(), error @ near])

    found = minimize(loss, np.array([-9.0, 3.0]), jac=True, method="L-BFGS-B").x
    # Four digits: what a solver of another machine finds beyond them does not move the bytes.
    return round(float(found[0]), 3), round(float(found[1]), 3)


class Order:
    """AUC within dates of one table, for many risks."""

    def __init__(self, table):
        bad = table.outcome.to_numpy(bool)
        groups = table.reset_index(drop=True).groupby("as_of").indices.values()
        self.pairs = [(rows[bad[rows]], rows[~bad[rows]]) for rows in groups if 0 < bad[rows].sum() < len(rows)]

    def auc(self, risk):
        won = total = 0.0
        for bad, good in self.pairs:
            step = np.asarray(risk)[bad][:, None] - np.asarray(risk)[good]
            won, total = won + (step > 0).sum() + 0.5 * (step == 0).sum(), total + step.size
        return won / total


def levels(plan):
    rule = plan["history"]
    steps = round((rule["level_from"] - rule["level_to"]) / rule["level_step"])
    return [round(rule["level_from"] - step * rule["level_step"], 3) for step in range(steps + 1)]


def histories(model, vaults, plan):
    """Of each pair of weights, the highest level at which vaults rank as well as the plan asks."""
    order = Order(vaults)
    least = order.auc(vaults["load"]) - plan["history"]["vaults_lose"]
    for recent, repeated in itertools.product(plan["history"]["recent"], plan["history"]["repeated"]):
        for level in levels(plan):
            found = (level, recent, repeated)
            if order.auc(Model(model.rules, model.intercept, model.near, found).risk(vaults)) >= least:
                yield found
                break


def likeliest(model, candidates, borrowers):
    """The candidate under which the outcomes of the borrowers are likeliest."""
    def likelihood(history):
        risk = np.clip(Model(model.rules, model.intercept, model.near, history).risk(borrowers), 1e-9, 1 - 1e-9)
        outcome = borrowers.outcome.to_numpy(float)
        return float((borrowers.weight * (outcome * np.log(risk) + (1 - outcome) * np.log(1 - risk))).sum())
    return max(candidates, key=likelihood)


def fit(vaults, borrowers, plan):
    rules = plan["rules"]
    vaults, borrowers = weighed(vaults, borrowers, plan)
    model = Model(rules, *position([vaults, borrowers], rules))
    candidates = list(histories(model, vaults, plan))
    model.history = likeliest(model, candidates, borrowers)
    return model, candidates
