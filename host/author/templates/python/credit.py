"""{name}: a credit model. Repayments earn points, liquidations take them away."""

from assay import Coverage, Factor, Features, Kind, ModelInfo, Rating, Verdict

# More events of a kind say nothing new.
MOST = 1_000_000
# The most that repayments can earn.
POSSIBLE = 700


def describe() -> ModelInfo:
    reads = ["markets.coverage", "markets.feeds-score", "markets.repay", "markets.liquidation"]
    return ModelInfo(kind=Kind.CREDIT, version="{version}", title="{name}", authors=[], reads=reads, claims=None)


def seen(features: Features) -> tuple[int, int, int]:
    """Repayments, liquidations and points. `score` and `explain` begin with it, so that they cannot differ."""
    # A market that could not be read is left out. It does not count as zero.
    markets = [one for one in features.markets if one.feeds_score and one.coverage != Coverage.FAILED]
    repaid = min(sum(one.repay or 0 for one in markets), MOST)
    liquidated = min(sum(one.liquidation or 0 for one in markets), MOST)
    return repaid, liquidated, min(max(repaid * 50 - liquidated * 200, 0), POSSIBLE)


def score(features: Features) -> Verdict:
    _, _, points = seen(features)
    score = 300 + points
    return Verdict(score, decile(score), [points])


def explain(features: Features) -> list[Factor]:
    """The words of the same factors. A server asks for them only if somebody reads them."""
    repaid, liquidated, points = seen(features)
    factor = Factor(
        label="Repayment History",
        rating=Rating.GOOD if points >= 450 else Rating.LOW,
        description=f"You repaid {repaid} times and were liquidated {liquidated} times.",
        points=points,
        possible=POSSIBLE,
    )
    return [factor]


def decile(score: int) -> int:
    return min((score - 300) // 70 + 1, 10)
