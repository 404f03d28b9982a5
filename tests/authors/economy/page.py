"""Holds the page of a backtest of one model against the features and the scores, with nothing but their definitions.

usage: page.py FEATURES.jsonl SCORES.csv PAGE.html SCORECARD.toml
"""

import bisect
import csv
import json
import math
import re
import sys
import time
from html.parser import HTMLParser

RANGES = [("low", 300, 639), ("fair", 640, 749), ("good", 750, 839), ("very good", 840, 919), ("excellent", 920, 1000)]
DAY = 86400
Z = 1.959963984540054


def auc(rows, value, dates):
    """The chance that a good row has a higher value than a bad one, of one date where `dates`."""
    won = pairs = 0
    groups = {}
    for row in rows:
        groups.setdefault(row["as_of"] // DAY if dates else 0, []).append(row)
    for group in groups.values():
        good = sorted(value(row) for row in group if not row["bad"])
        for bad in (value(row) for row in group if row["bad"]):
            below, through = bisect.bisect_left(good, bad), bisect.bisect_right(good, bad)
            won += len(good) - through + 0.5 * (through - below)
            pairs += len(good)
    return won / pairs if pairs else None


def load(health):
    """Infinite for a debt that nothing secures any more."""
    return 1 / health if health else float("inf")


class Text(HTMLParser):
    """The words of a page without its data, and the nesting of its elements."""

    VOID = {"meta", "br"}

    def __init__(self):
        super().__init__()
        self.open, self.words, self.tags = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data):
        if "script" not in self.open and "style" not in self.open:
            self.words.append(data)


def rows(features, scores):
    given = {int(line["line"]): line for line in csv.DictReader(open(scores, encoding="utf-8"))}
    found = []
    for number, line in enumerate(open(features, encoding="utf-8"), 1):
        record = json.loads(line)
        score = given[number]["credit 1.3"]
        if record.get("outcome") is None or not score:
            continue
        market = record["markets"][0]
        last = market.get("last_liquidation")
        owed, kept = market["borrowed_usd"], market["supplied_usd"]
        found.append({
            "as_of": record["as_of"], "bad": record["outcome"], "score": int(score), "owed": owed,
            "health": -load(market["position"]["health_factor"]) if owed >= 10 else 0.0,
            "used": -owed / kept if kept and owed >= 10 else (0.0 if owed < 10 else None),
            "days": (record["as_of"] - last) / DAY if market["liquidation"] else float("inf"),
            "cluster": record.get("cluster", record["id"]),
        })
    return found


def close(one, other, what):
    assert (one is None) == (other is None), f"{what}: {one} and {other}"
    assert one is None or abs(one - other) < 1e-6 * max(1.0, abs(one)), f"{what}: {one} and {other}"


def main(features, scores, page, card):
    text = open(page, encoding="utf-8").read()
    html = Text()
    html.feed(text)
    assert not html.open, html.open
    words = " ".join(" ".join(html.words).split())
    result = json.loads(text.split('id="result">')[1].split("</script>")[0])
    grade, all_rows = result["grades"][0], rows(features, scores)
    bad = [row for row in all_rows if row["bad"]]
    assert (grade["count"], grade["bad"]) == (len(all_rows), len(bad)), grade
    close(grade["auc"]["value"], auc(all_rows, lambda row: row["score"], False), "AUC")
    within = auc(all_rows, lambda row: row["score"], True)
    close(grade["within_dates"]["value"], within, "AUC within dates")
    assert f"AUC within dates {within:.3f}" in words, words[:3000]
    assert grade["clusters"] == len({row["cluster"] for row in all_rows})
    assert f"told apart {grade['clusters_found']}" in words and "by the column cluster" in words
    compared = 0
    for baseline, name in zip(grade["baselines"], ("health", "used", "days")):
        known = [row for row in all_rows if row[name] is not None]
        beside = baseline["beside"]
        if beside is None:
            assert len({row[name] for row in known}) < 2, name
            continue
        compared += 1
        for part, dates in ((beside, False), (beside["within"], True)):
            own, alone = (auc(known, lambda row, of=of: row[of], dates) for of in ("score", name))
            for field, value in (("model", own), ("auc", alone), ("difference", own - alone)):
                close(part[field]["value"], value, f"{name} {field}")
                low, high = (part[field]["interval"] or {"low": value, "high": value}).values()
                assert low <= value + 1e-9 and value - 1e-9 <= high, f"{name} {field}: {value} in {low} to {high}"
        assert baseline["title"] in words
    for band, (name, low, high) in zip(grade["ranges"], RANGES):
        own = [row for row in all_rows if low <= row["score"] <= high]
        gone = [row for row in own if row["bad"]]
        assert (band["range"], band["count"], band["bad"]) == (name, len(own), len(gone)), band
        if own:
            for end, value in zip(("low", "high"), interval(own)):
                close(band["interval"][end], value, f"{name} {end}")
        close(band["owed_usd"], sum(row["owed"] for row in own), f"{name} at risk")
        close(band["owed_by_bad_usd"], sum(row["owed"] for row in gone), f"{name} of the bad")
        assert f"{round(band['owed_usd']):,}" in words, f"{name}: {band['owed_usd']}"
    for tenth in grade["tenths"]:
        own = [row for row in all_rows if tenth["from"] <= row["score"] <= tenth["to"]]
        rate = sum(row["bad"] for row in own) / len(own)
        assert (tenth["count"], tenth["bad"]) == (len(own), sum(row["bad"] for row in own)), tenth
        close(tenth["lift"], rate * len(all_rows) / len(bad), f"lift from {tenth['from']}")
        for end, value in zip(("low", "high"), interval(own)):
            close(tenth["clustered"][end], value, f"tenth from {tenth['from']}, {end}")
    assert sum(tenth["count"] for tenth in grade["tenths"]) == len(all_rows)
    rates = [band["bad"] / band["count"] for band in grade["ranges"] if band["count"] >= 50]
    falls = all(after < before or before == after == 0 for before, after in zip(rates, rates[1:]))
    assert grade["falls"] == (falls if len(rates) > 1 and any(rates) else None), (grade["falls"], rates)
    for month in grade["months"]:
        own = [row for row in all_rows if time.strftime("%Y-%m", time.gmtime(row["as_of"])) == month["name"]]
        assert (month["count"], month["bad"]) == (len(own), sum(row["bad"] for row in own)), month
        close(month["mean_score"], sum(row["score"] for row in own) / len(own), month["name"])
    assert sum(month["count"] for month in grade["months"]) == len(all_rows)
    assert sum(part["count"] for part in grade["held_out"]["bins"]) == len(all_rows)
    for cut in grade["curve"]:
        taken = [row for row in all_rows if row["score"] >= cut["score"]]
        gone = sum(row["bad"] for row in taken)
        assert (cut["accepted"], cut["accepted_bad"], cut["refused_bad"]) == (len(taken), gone, len(bad) - gone), cut
    verdicts = judged(grade, all_rows, card, words)
    assert result["label"] == "liquidated" or f"calls its outcome “{result['label']}”" in words, result["label"]
    assert "Model card: credit 1.3" in words and "h3" in html.tags and "pre" not in html.tags
    assert "SR 26-2" in words and "SR 11-7 in April 2026" in words
    print(f"{len(all_rows)} records, {len(bad)} bad: AUC within dates {within:.3f}; {compared} baselines, "
          f"{len(grade['claims'])} claims, {len(grade['curve'])} cut-offs are as the page says")
    print(", ".join(f"{name}: {word}" for name, word in verdicts.items()))
    print(grade["verdict"])


def interval(own):
    """Wilson's interval of the bad rate, for the records that the spread between wallets supports, one each at most."""
    wallets = {}
    for row in own:
        bad, count = wallets.get(row["cluster"], (0, 0))
        wallets[row["cluster"]] = (bad + row["bad"], count + 1)
    rate = sum(row["bad"] for row in own) / len(own)
    spread = sum((bad - rate * count) ** 2 for bad, count in wallets.values()) / len(own) ** 2
    size = min(rate * (1 - rate) / spread, len(wallets)) if spread else len(wallets)
    square = Z * Z / size
    middle, half = rate + square / 2, Z * math.sqrt(rate * (1 - rate) / size + square / (4 * size))
    return max((middle - half) / (1 + square), 0.0), min((middle + half) / (1 + square), 1.0)


def verdict(rate, own):
    """What the page must say of a claimed rate."""
    if len(own) < 50:
        return "not_shown"
    low, high = interval(own)
    observed = sum(row["bad"] for row in own) / len(own)
    if not low <= rate["estimate"] <= high and not rate["low"] <= observed <= rate["high"]:
        return "fails"
    within = min(rate["low"], rate["estimate"] / 2) <= low and high <= max(rate["high"], rate["estimate"] * 2)
    return "holds" if within else "not_shown"


def judged(grade, all_rows, card, words):
    """The claims of the card of the fit on those who owe, for the horizon of the file."""
    days = next(claim["horizon_days"] for claim in grade["claims"] if claim["not_compared"] is None)
    measured = [dict(re.findall(r'^(\w+) = "?([^"\n]+)', block, re.M)) for block in
                open(card, encoding="utf-8").read().split("\n[[")[1:] if block.startswith("rate]]")]
    owing = [row for row in all_rows if row["owed"] >= 10]
    claim = next(claim for claim in grade["claims"] if claim["by_rule"] and claim["not_compared"] is None)
    assert claim["count"] == len(owing) and claim["horizon_days"] == days, claim
    found_verdicts = {}
    for found, (name, low, high) in zip(claim["ranges"], RANGES):
        own = [row for row in owing if low <= row["score"] <= high]
        place = ("position", str(days), name.replace(" ", "_"))
        rate = next(r for r in measured if (r["population"], r["days"], r["range"]) == place)
        rate = {end: float(rate[end]) for end in ("low", "estimate", "high")}
        assert (found["count"], found["estimate"]) == (len(own), rate["estimate"]), found
        assert found["claimed"] == {"low": rate["low"], "high": rate["high"]}, found
        if own:
            for end, value in zip(("low", "high"), interval(own)):
                close(found["interval"][end], value, f"{name} {end}")
        assert found["verdict"] == verdict(rate, own), found
        if len(own) >= 50:
            found_verdicts[name] = found["verdict"]
    broken = "fails" in found_verdicts.values()
    assert ("What it claims does not hold" in grade["verdict"]) == broken, (found_verdicts, grade["verdict"])
    assert broken == any(not check["passed"] for check in grade["checks"]), grade["checks"]
    shown = not broken and set(found_verdicts.values()) == {"holds"}
    assert ("What it claims is not shown to hold" in grade["verdict"]) == (not broken and not shown), grade["verdict"]
    assert f"the outcomes of the file are of {days} days" in words
    return found_verdicts


if __name__ == "__main__":
    main(*sys.argv[1:])
