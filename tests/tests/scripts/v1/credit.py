"""earlier: a credit model. Repayments earn points, liquidations take them away."""

from assay import Assessment, Coverage, Factor, Features, Kind, ModelInfo, Rating

# More events of a kind say nothing new.
MOST = 1_000_000


def describe() -> ModelInfo:
    reads = ["markets.coverage", "markets.feeds-score", "markets.repay", "markets.liquidation"]
    return ModelInfo(kind=Kind.CREDIT, version="0.1", title="earlier", authors=[], reads=reads)


def score(features: Features) -> Assessment:
    # A market that could not be read is left out. It does not count as zero.
    markets = [one for one in features.markets if one.feeds_score and one.coverage != Coverage.FAILED]
    repaid = min(sum(one.repay or 0 for one in markets), MOST)
    liquidated = min(sum(one.liquidation or 0 for one in markets), MOST)
    points = min(max(repaid * 50 - liquidated * 200, 0), 700)
    score = 300 + points
    factor = Factor(
        label="Repayment History",
        rating=Rating.GOOD if score >= 750 else Rating.LOW,
        description=f"You repaid {repaid} times and were liquidated {liquidated} times.",
        points=points,
        possible=700,
    )
    return Assessment(score, decile(score), [factor])


def decile(score: int) -> int:
    return min((score - 300) // 70 + 1, 10)
