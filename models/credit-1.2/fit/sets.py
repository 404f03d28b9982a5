"""Turns public data sets into features files: JSON lines with `outcome`, `cluster` and, as the date, `as_of`.

Each loader takes the folder of the data and yields records. A count that the set does not have is left out, which is
not zero. Where a set holds liquidations alone, one deposit and one loan are certain, and the coverage says that the
counts are a lower bound.
"""

import datetime
import pathlib

import pandas as pd

DAY = 86400
HORIZON = 90


def record(wallet, as_of, outcome, market):
    """One line of a features file about one market."""
    market = {"chain_id": 1, "protocol": "lenderA_v2", "coverage": "complete", "feeds_score": True,
              "supplied_usd": 0.0, "borrowed_usd": 0.0} | {k: v for k, v in market.items() if v is not None}
    date = datetime.datetime.fromtimestamp(as_of, datetime.UTC).strftime("%Y-%m-%d")
    return {"id": f"{wallet}@{as_of}", "cluster": wallet, "outcome": int(outcome), "as_of": int(as_of),
            "group": date, "chains": [], "markets": [market], "holdings": [], "identity": []}


def aave_v2_ethereum(folder):
    """Prospective: wallets with a liquidation before a date, every seven days; liquidated again within 90 days?"""
    events = pd.read_csv(pathlib.Path(folder) / "aave_v2_eth_liquidations.csv.gz").sort_values("ts")
    last = events.ts.max() - HORIZON * DAY
    for date in range(int(pd.Timestamp("2021-02-01", tz="UTC").timestamp()), last + 1, 7 * DAY):
        before = events[events.ts < date].groupby("wallet").ts.agg(["size", "min", "max"])
        again = set(events.wallet[(events.ts >= date) & (events.ts < date + HORIZON * DAY)])
        for wallet, (count, first, newest) in before.iterrows():
            yield record(wallet, date, wallet in again, {
                "coverage": "pending", "supply": 1, "borrow": 1, "liquidation": int(count),
                "first_event": int(first), "last_event": int(newest), "last_liquidation": int(newest)})


def _position(supplied, borrowed):
    """Net flows in dollars; interest can carry a withdrawal above the deposits, and then nothing is left."""
    return {"supplied_usd": max(float(supplied), 0.0), "borrowed_usd": max(float(borrowed), 0.0)}


def _polygon(folder, visible):
    table = pd.read_csv(pathlib.Path(folder) / "aave_v2_polygon_wallets.csv").fillna(0)
    as_of = int(table.last_ts.max())
    for row in table[table.n_borrow > 0].itertuples():
        yield record(row.wallet, as_of, row.n_liquidation > 0, {
            "chain_id": 137, "supply": row.n_supply, "withdraw": row.n_withdraw, "borrow": row.n_borrow,
            "repay": row.n_repay, "liquidation": row.n_liquidation if visible else None,
            "first_event": row.first_ts, "last_event": row.last_ts,
            **_position(row.usd_supply - row.usd_withdraw, row.usd_borrow - row.usd_repay)})


def aave_v2_polygon_hidden(folder):
    """Cross-section: borrowers, ever liquidated or not, with the liquidations taken out of the features."""
    return _polygon(folder, False)


def aave_v2_polygon(folder):
    """The same wallets with their liquidations, which are also the outcome: shows levels, and no foresight."""
    return _polygon(folder, True)


def rocifi_60_days(folder):
    """Prospective: 287 wallets, 15 of them liquidated within 60 days. Directional at most."""
    table = pd.read_csv(pathlib.Path(folder) / "rocifi_287_wallets.csv")
    as_of = int(pd.Timestamp("2023-04-01", tz="UTC").timestamp())
    for row in table.itertuples():
        first = as_of - int(row.days_since_first_borrow) * DAY
        yield record(row.address, as_of, row.liquidated_60_days, {
            "chain_id": 137, "supply": row.count_deposit, "withdraw": row.count_redeem, "borrow": row.count_borrow,
            "repay": row.count_repay, "liquidation": row.count_liquidation, "first_event": first,
            **_position(row.net_deposits, row.net_outstanding)})


def rocifi_loans(folder):
    """Another product: under-collateralised loans of 30 days. Each loan, 30 days before its end: is it liquidated?

    The start of a repaid loan is not recorded, so all loans count as begun 30 days before their last event. Only
    repayments and liquidations before that moment are read.
    """
    events = pd.read_csv(pathlib.Path(folder) / "rocifi_events.csv.gz").sort_values("ts")
    events["liquidated"] = events.kind.str.startswith("liq")
    ends = events.groupby(["wallet", "loan"]).agg(ts=("ts", "max"), liquidated=("liquidated", "any")).reset_index()
    histories = dict(list(events.groupby("wallet")))
    for loan in ends.itertuples():
        as_of = loan.ts - 30 * DAY
        own = histories[loan.wallet]
        own = own[own.ts < as_of]
        if own.empty:
            continue
        past = own[own.liquidated]
        yield record(loan.wallet, as_of, loan.liquidated, {
            "chain_id": 137, "protocol": "rocifi", "repay": int((own.kind == "repay").sum()),
            "liquidation": len(past), "first_event": int(own.ts.min()), "last_event": int(own.ts.max()),
            "last_liquidation": int(past.ts.max()) if len(past) else None})


SETS = {
    "aave-v2-ethereum": aave_v2_ethereum,
    "aave-v2-polygon-hidden": aave_v2_polygon_hidden,
    "aave-v2-polygon": aave_v2_polygon,
    "rocifi-60-days": rocifi_60_days,
    "rocifi-loans": rocifi_loans,
}

