"""Turns public data sets into features files: JSON lines with `outcome`, `cluster` and, as the date, `as_of`.

Each loader takes the folder of the data and yields records. A count that the set does not have is left out, which is
not zero. If a set holds only liquidations, one deposit and one loan are certain, and the coverage says that the counts
are a lower bound.
"""

import datetime
import math
import pathlib

import pandas as pd

from inputs import HORIZON

DAY = 86400


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


def aave_v2_polygon_hidden(folder):
    """Cross-section: borrowers, ever liquidated or not, with the liquidations taken out of the features."""
    table = pd.read_csv(pathlib.Path(folder) / "aave_v2_polygon_wallets.csv").fillna(0)
    as_of = int(table.last_ts.max())
    for row in table[table.n_borrow > 0].itertuples():
        yield record(row.wallet, as_of, row.n_liquidation > 0, {
            "chain_id": 137, "supply": row.n_supply, "withdraw": row.n_withdraw, "borrow": row.n_borrow,
            "repay": row.n_repay, "first_event": row.first_ts, "last_event": row.last_ts,
            # A liquidation repays debt and takes deposits. Without both, a liquidated wallet keeps what was seized.
            **_position(row.usd_supply - row.usd_withdraw - row.usd_liquidation_collateral,
                        row.usd_borrow - row.usd_repay - row.usd_liquidation_debt)})


def rocifi_60_days(folder):
    """Prospective: 287 wallets, 15 of them liquidated within 60 days. Directional at most."""
    table = pd.read_csv(pathlib.Path(folder) / "rocifi_287_wallets.csv")
    as_of = int(pd.Timestamp("2023-04-01", tz="UTC").timestamp())
    for row in table.itertuples():
        first = as_of - int(row.days_since_first_borrow) * DAY
        yield record(row.address, as_of, row.liquidated_60_days, {
            "chain_id": 137, "supply": row.count_deposit, "withdraw": row.count_redeem, "borrow": row.count_borrow,
            "repay": row.count_repay, "liquidation": row.count_liquidation, "first_event": first,
            **_position(row.net_deposits, row.net_outstanding)}) | {"within_days": 60}


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


class Fee:
    """The growth of a debt of one DAI, from the yearly fee by time."""

    def __init__(self, folder):
        table = pd.read_csv(folder / "maker_eth_b_fees.csv")
        self.times = [int(pd.Timestamp(time, tz="UTC").timestamp()) for time in table.TIMESTAMP]
        self.yearly = [math.log1p(fee) for fee in table.TO_VALUE]

    def growth(self, until):
        ends = self.times[1:] + [math.inf]
        spans = zip(self.times, ends, self.yearly)
        return math.exp(sum(yearly * max(min(end, until) - start, 0) / (365 * DAY) for start, end, yearly in spans))


class Vault:
    """The collateral and debt of one vault, event by event."""

    # Of the debt: what is left after the last of several partial liquidations is rounding.
    REST = 0.03

    def __init__(self):
        self.ether = self.normal = 0.0
        self.counts = dict.fromkeys(["supply", "withdraw", "borrow", "repay", "liquidation"], 0)
        self.first = self.last = self.liquidated = None

    def take(self, event, growth):
        self.first, self.last = self.first or event.ts, event.ts
        self.counts[event.kind] += 1
        match event.kind:
            case "supply":
                self.ether += event.eth
            case "withdraw":
                self.ether -= event.eth
            case "borrow":
                self.normal += event.dai / growth
            case "repay":
                self.normal = max(self.normal - event.dai / growth, 0.0)
            case "liquidation":
                # The set lost the decimals of the ether; the contract takes the share of it that it takes of the debt.
                owed = self.normal * growth
                left = max(1 - event.dai / owed, 0.0) if owed > 0 else 0.0
                left = 0.0 if left < self.REST else left
                self.ether, self.normal, self.liquidated = self.ether * left, self.normal * left, event.ts

    def settle(self):
        """After the last event of a block. The contract releases all collateral only if nothing is owed."""
        if self.ether < 1e-6:
            self.ether = self.normal = 0.0


# A vault is liquidated when its collateral is worth less than 1.3 times its debt.
ETH_B = 1 / 1.3
# What a wallet must owe to be in the population.
LEAST_DEBT = 10.0


def maker_eth_b(folder):
    """Prospective: every vault that owes, on every day, with its health factor; liquidated within 90 days, or 30?"""
    return _vaults(folder, "2020-11-01", HORIZON)


def maker_eth_b_later(folder):
    """The dates after those of `maker_eth_b`, too late for 90 days; liquidated within 30?"""
    return _vaults(folder, "2021-07-03", 30)


def _vaults(folder, start, horizon):
    """A row below 0.9 is left out: a liquidation follows within a day, so an amount is missing there."""
    folder = pathlib.Path(folder)
    events = pd.read_csv(folder / "maker_eth_b_events.csv.gz").sort_values(["block", "ts"], kind="stable")
    fee = Fee(folder)
    prices = pd.read_csv(folder / "eth_usd_daily.csv").set_index("date").price
    last = int(events.ts.max()) - horizon * DAY
    days = range(int(pd.Timestamp(start, tz="UTC").timestamp()), last + 1, DAY)
    today = [(day, datetime.datetime.fromtimestamp(day, datetime.UTC).strftime("%Y-%m-%d"), fee.growth(day))
             for day in days]
    for number, own in events.groupby("vault"):
        own = list(own.itertuples())
        liquidations = [event.ts for event in own if event.kind == "liquidation"]
        vault, at = Vault(), 0
        for day, date, growth in today:
            while at < len(own) and own[at].ts < day:
                vault.take(own[at], fee.growth(own[at].ts))
                at += 1
                if at == len(own) or own[at].block != own[at - 1].block:
                    vault.settle()
            debt, deposits = vault.normal * growth, max(vault.ether, 0.0) * prices[date]
            if debt < LEAST_DEBT or deposits * ETH_B / debt < 0.9:
                continue
            ahead = min((time - day for time in liquidations if time >= day), default=math.inf)
            row = record(f"vault-{number}", day, ahead < horizon * DAY, {
                "protocol": "maker", "market": "ETH-B", **vault.counts, "first_event": int(vault.first),
                "last_event": int(vault.last), "last_liquidation": vault.liquidated and int(vault.liquidated),
                "supplied_usd": deposits, "borrowed_usd": debt,
                "position": {"coverage": "complete", "collateral": [{"class": "native", "usd": deposits}],
                             "debt": [{"class": "stablecoin", "usd": debt}], "liquidation_threshold": ETH_B,
                             "health_factor": deposits * ETH_B / debt, "utilisation": debt / deposits}})
            yield row | {"within_days": horizon, "liquidated_30": int(ahead < 30 * DAY)}


SETS = {
    "maker-eth-b": maker_eth_b,
    "maker-eth-b-later": maker_eth_b_later,
    "aave-v2-ethereum": aave_v2_ethereum,
    "aave-v2-polygon-hidden": aave_v2_polygon_hidden,
    "rocifi-60-days": rocifi_60_days,
    "rocifi-loans": rocifi_loans,
}

