"""Measures credit 1.4 beside 1 / health factor, 1.1, 1.2 and 1.3 on the public sets, and writes evidence.toml.

  evidence.py DATA ASSAY MODELS

ASSAY is the program, and MODELS are four models as `assay backtest --models` takes them, the new one last. The same
data give the same file.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import tomllib

import numpy as np
import pandas as pd

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

DAY = 86400
VERSIONS = ["1.1", "1.2", "1.3", "1.4"]
# A fall of ether within the horizon, as a share of its price on the date of the record.
FALL = 0.30
# Fewer separate falls are one event, and no claim.
FALLS = 3
# Wallets below which a range says nothing.
ENOUGH = 50
SEED = 1
RESAMPLES = 200


def scored(name, lines, arguments, folder):
    """The table of a features file with the score of each model."""
    command = [arguments.assay, "backtest", "--models", arguments.models, "--features", str(lines), "--scores",
               str(folder / f"{name}.csv"), "--json", str(folder / f"{name}.json")]
    # A backtest that convicts a claim says so and exits with 1; the scores are written all the same.
    done = subprocess.run(command, capture_output=True, text=True)
    if not (folder / f"{name}.csv").exists():
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    scores = pd.read_csv(folder / f"{name}.csv")
    table = model.read(lines)
    for version in VERSIONS:
        table[version] = scores[f"credit {version}"]
    return table


def load(arguments, folder):
    found = {}
    for name in ("maker-eth-b", "maker-eth-b-later", "aave-v2-ethereum"):
        lines = folder / f"{name}.jsonl"
        with open(lines, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in sets.SETS[name](arguments.data))
        found[name] = scored(name, lines, arguments, folder)
    lines = arguments.data / "aave_compound_borrows_2023.jsonl.gz"
    found["borrowers"] = scored("borrowers", lines, arguments, folder)
    return found


def soon(table):
    """Whether a later row of the same wallet shows a liquidation within 30 days; unknown without a row that late."""
    found = []
    for _, rows in table.sort_values("as_of").groupby("cluster"):
        times, last = rows.as_of.to_numpy(), (rows.as_of - rows.days * DAY).where(rows["count"] > 0).to_numpy()
        for at, (index, now) in enumerate(zip(rows.index, times)):
            later = slice(at + 1, None)
            hit = np.any((last[later] > now) & (last[later] <= now + 30 * DAY))
            seen = np.any(times[later] >= now + 30 * DAY)
            found.append((index, 1.0 if hit else 0.0 if seen else np.nan))
    return pd.Series(dict(found)).reindex(table.index)


def ranked(name, table, outcome, within=("as_of",)):
    """AUC within dates of each model, beside 1 / health factor or, without positions, the recency of a liquidation."""
    table = table[table[outcome].notna()].reset_index(drop=True)
    simple = table["load"] if (table["load"] > 0).any() else table["recency"]
    pairs = recipe.Pairs(table, outcome, within)
    row = {"set": name, "rows": len(table), "wallets": int(table.cluster.nunique()), "bad": int(table[outcome].sum()),
           "bad_wallets": int(table.cluster[table[outcome] > 0].nunique())}
    new = -table["1.4"].to_numpy(float)
    over = {"simple": simple.to_numpy(), "1_3": -table["1.3"].to_numpy(float)}
    compared = {name: pairs.compare(new, risk, resamples=RESAMPLES) for name, risk in over.items()}
    row["simple"] = round(float(compared["simple"]["simple"]), 4)
    for version in VERSIONS:
        won, total, _ = pairs.won(-table[version].to_numpy(float))
        row[f"credit_{version.replace('.', '_')}"] = round(float(won.sum(dtype=float) / total.sum(dtype=float)), 4)
    row |= {end: round(float(compared["simple"][end]), 4) for end in ("low", "high")}
    return row | {f"over_{name}{end}": round(float(found[f"difference{end}"]), 4)
                  for name, found in compared.items() for end in ("", "_low", "_high")}


def out_of_time(vaults, borrowers, plan):
    """A fit through January 2021 on dates from May 2021. The borrowers are of 2023, so it has the position of early
    vaults, and the released history."""
    early = model.weighed(vaults, borrowers, plan)[0]
    early = early[early.as_of <= recipe.seconds("2021-01-31")]
    constants = tomllib.loads((OWN / "scorecard.toml").read_text())["constants"]
    history = tuple(constants[name] for name in ("level", "recent", "repeated"))
    fitted = model.Model(plan["rules"], *model.position([early], plan["rules"]), history)
    late = vaults[vaults.as_of >= recipe.seconds("2021-05-01")].reset_index(drop=True)
    for outcome in ("outcome", "soon"):
        found = recipe.Pairs(late, outcome).compare(-fitted.score(late), late["load"].to_numpy())
        yield {"days": 90 if outcome == "outcome" else 30, "bad": int(late[outcome].sum()), "rows": len(late),
               "wallets": int(late.cluster.nunique())} | {key: round(float(value), 4) for key, value in found.items()}


def prices(data):
    """The price of ether at 00:00 UTC by Unix time."""
    table = pd.read_csv(data / "eth_usd_daily.csv")
    return {int(pd.Timestamp(date, tz="UTC").timestamp()): price for date, price in zip(table.date, table.price)}


def fell(table, price, horizon):
    """Whether ether fell by FALL within the horizon after each date; unknown (NaN) where the prices end before."""
    def of(now):
        start = now // DAY * DAY
        ahead = [price.get(start + day * DAY) for day in range(1, horizon + 1)]
        if start not in price or None in ahead:
            return np.nan
        return float(min(ahead) <= (1 - FALL) * price[start])
    dates = {now: of(now) for now in table.as_of.unique()}
    return table.as_of.map(dates)


def falls(price, first, last):
    """Separate falls: ether FALL below its highest price of the 90 days before, then back above half of that loss."""
    found, is_down = [], False
    for now in range(first // DAY * DAY, last + 1, DAY):
        before = [price[day] for day in range(now - 90 * DAY, now + 1, DAY) if day in price]
        if now not in price or not before:
            continue
        down = 1 - price[now] / max(before)
        if not is_down and down >= FALL:
            is_down = True
            found.append(pd.Timestamp(now, unit="s").strftime("%Y-%m-%d"))
        elif is_down and down <= FALL / 2:
            is_down = False
    return found


def lost(data, table, horizon):
    """Dollars of debt liquidated within the horizon, at most what was owed."""
    events = pd.read_csv(data / "maker_eth_b_events.csv.gz")
    events = events[events.kind == "liquidation"]
    by_vault = {f"vault-{vault}": rows for vault, rows in events.groupby("vault")}
    found = []
    for row in table.itertuples():
        own = by_vault.get(row.cluster)
        dai = own.dai[(own.ts >= row.as_of) & (own.ts < row.as_of + horizon * DAY)].sum() if own is not None else 0.0
        found.append(min(float(dai), row.owed))
    return np.array(found)


def rates(name, table, outcome, days, regime, is_claim):
    """The share of the bad in each range, with its interval over wallets and months; dollars where they are known."""
    codes = scorecard.of_range(table["1.4"])
    for code, (ranged, _) in enumerate(scorecard.RANGES):
        rows = table[codes == code]
        if not len(rows):
            continue
        row = {"set": name, "days": days, "regime": regime, "range": ranged, "wallets": int(rows.cluster.nunique()),
               "rows": len(rows), "bad": int(rows[outcome].sum()),
               "bad_wallets": int(rows.cluster[rows[outcome] > 0].nunique()),
               "estimate": round(float(rows[outcome].mean()), 4)}
        if is_claim and row["wallets"] >= ENOUGH:
            _, low, high = recipe.share(rows, outcome)
            row |= {"low": round(low, 4), "high": round(high, 4)}
        if "lost" in rows:
            row["dollars"] = round(float(rows["lost"].sum() / rows.owed.sum()), 4)
        yield row


def by_regime(data, sets_):
    """Rates of vaults by horizon and regime, and those of borrowers beside them."""
    price = prices(data)
    vaults = pd.concat([sets_["maker-eth-b"], sets_["maker-eth-b-later"]], ignore_index=True)
    events = falls(price, int(vaults.as_of.min()), int(vaults.as_of.max()) + 90 * DAY)
    measured = []
    for days, outcome in ((90, "outcome"), (30, "soon")):
        table = vaults[(vaults.within == 90) | (days == 30)]
        table = table[table[outcome].notna()].reset_index(drop=True)
        table = table.assign(fell=fell(table, price, days), lost=lost(data, table, days))
        for regime, rows in (("fall", table[table.fell == 1]), ("otherwise", table[table.fell == 0])):
            is_claim = regime == "otherwise" or len(events) >= FALLS
            measured += rates("vaults", rows.reset_index(drop=True), outcome, days, regime, is_claim)
    borrowers = sets_["borrowers"]
    # Ether fell by less than a fifth from May to November 2023, so all of these dates are `otherwise`.
    for days, outcome in ((90, "outcome"), (30, "soon")):
        table = borrowers[borrowers[outcome].notna()].reset_index(drop=True)
        measured += rates("borrowers", table, outcome, days, "otherwise", True)
    again = sets_["aave-v2-ethereum"]
    again = again.assign(fell=fell(again, price, 90))
    for regime, rows in (("fall", again[again.fell == 1]), ("otherwise", again[again.fell == 0])):
        measured += rates("again", rows.reset_index(drop=True), "outcome", 90, regime, regime == "otherwise")
    return events, measured


def halves(data, vaults):
    """Claims of one half of the vaults on the other, in the calm regime: is each observed share inside?"""
    price = prices(data)
    wallets = np.random.default_rng(SEED).permutation(vaults.cluster.unique())
    first = vaults.cluster.isin(set(wallets[::2]))
    for days, outcome in ((90, "outcome"), (30, "soon")):
        calm = vaults[fell(vaults, price, days) == 0]
        stated = {row["range"]: row for row in rates("half", calm[first.reindex(calm.index)].reset_index(drop=True),
                                                      outcome, days, "otherwise", True)}
        for row in rates("half", calm[~first.reindex(calm.index)].reset_index(drop=True), outcome, days, "otherwise",
                         True):
            claim = stated.get(row["range"], {})
            if "low" in claim and "low" in row:
                yield {"set": "half of the vaults on the other", "days": days, "range": row["range"],
                       "wallets": row["wallets"], "observed": row["estimate"], "low": claim["low"],
                       "estimate": claim["estimate"], "high": claim["high"],
                       "inside": claim["low"] <= row["estimate"] <= claim["high"]}


def beside(measured):
    """Claims of vaults beside what borrowers of other markets had, two years later."""
    stated = {(row["days"], row["range"]): row for row in measured
              if row["set"] == "vaults" and row["regime"] == "otherwise" and "low" in row}
    for row in measured:
        claim = stated.get((row["days"], row["range"]))
        if row["set"] == "borrowers" and claim and row["wallets"] >= ENOUGH:
            yield {"set": "vaults on the borrowers of 2023", "days": row["days"], "range": row["range"],
                   "wallets": row["wallets"], "observed": row["estimate"], "low": claim["low"],
                   "estimate": claim["estimate"], "high": claim["high"],
                   "inside": claim["low"] <= row["estimate"] <= claim["high"]}


def crossed(table):
    """The share of vaults without an event in a week whose range is another after it, by model."""
    for version in VERSIONS:
        rows = table.assign(code=scorecard.of_range(table[version]))[["cluster", "as_of", "events", "code"]]
        pairs = rows.merge(rows.assign(as_of=rows.as_of - 7 * DAY), on=["cluster", "as_of", "events"])
        yield {"model": version, "pairs": len(pairs), "crossed": round(float((pairs.code_x != pairs.code_y).mean()), 4)}


def newcomers(vaults):
    """The first row of each vault: is it liquidated within 90 days? Its own population, without a claim."""
    first = vaults.sort_values("as_of").groupby("cluster").head(1)
    first = first[(first.age <= 7) & (first["count"] == 0)]
    bad = first[first.outcome == 1]
    return {"wallets": len(first), "bad": len(bad), "share": round(len(bad) / len(first), 4),
            "auc_1_4": round(float(recipe.auc(first.outcome, -first["1.4"])), 4),
            "auc_1_2": round(float(recipe.auc(first.outcome, -first["1.2"])), 4),
            "auc_simple": round(float(recipe.auc(first.outcome, first["load"])), 4)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("assay")
    parser.add_argument("models")
    arguments = parser.parse_args()
    plan = tomllib.loads((HERE / "plan.toml").read_text())
    with tempfile.TemporaryDirectory() as folder:
        found = load(arguments, pathlib.Path(folder))
    vaults, later, borrowers, again = (found[name] for name in ("maker-eth-b", "maker-eth-b-later", "borrowers",
                                                                "aave-v2-ethereum"))
    borrowers["soon"] = soon(borrowers)
    month = pd.to_datetime(borrowers.as_of, unit="s").dt.strftime("%Y-%m")
    firsts = borrowers.sort_values("as_of").groupby("cluster").head(1)
    figures = [
        ranked("Vaults, 90 days", vaults, "outcome"), ranked("Vaults, 30 days", vaults, "soon"),
        ranked("Vaults, 90 days, dates from May 2021", vaults[vaults.as_of >= recipe.seconds("2021-05-01")], "outcome"),
        ranked("Vaults, 30 days, dates after the fit", later, "soon"),
        ranked("Borrowers of 2023, 90 days, within months", borrowers.assign(month=month), "outcome", ("month",)),
        ranked("Borrowers of 2023, 90 days, all dates", borrowers.assign(all=1), "outcome", ("all",)),
        ranked("Borrowers of 2023, 90 days, first row of each wallet", firsts.assign(all=1), "outcome", ("all",)),
        ranked("Borrowers of 2023, 30 days, from later rows", borrowers.assign(all=1), "soon", ("all",)),
        ranked("Aave v2 Ethereum, liquidated again", again, "outcome"),
    ]
    events, measured = by_regime(arguments.data, found)
    evidence = {
        "falls": events, "figure": figures, "time": list(out_of_time(vaults, borrowers, plan)), "rate": measured,
        "check": list(halves(arguments.data, vaults)) + list(beside(measured)),
        "stability": list(crossed(pd.concat([vaults, later], ignore_index=True))), "newcomer": newcomers(vaults),
    }
    (OWN / "evidence.toml").write_text(scorecard.toml(evidence).replace("fit.py", "fit/evidence.py", 1))
    for name in ("figure", "time", "rate", "check", "stability"):
        print(pd.DataFrame(evidence[name]).to_string(index=False), "\n")
    print(events, evidence["newcomer"])


if __name__ == "__main__":
    main()
