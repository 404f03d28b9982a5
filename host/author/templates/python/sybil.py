"""{name}: the risk that a wallet is a bot."""

from assay import Coverage, Factor, Features, Kind, ModelInfo, Rating, RiskVerdict

# More transactions say nothing new.
MOST = 1_000_000


def describe() -> ModelInfo:
    reads = ["chains.coverage", "chains.transactions", "identity.provider"]
    return ModelInfo(kind=Kind.SYBIL, version="{version}", title="{name}", authors=[], reads=reads, claims=None)


def seen(features: Features) -> tuple[int, int, int]:
    """Attestations, chains and transactions. `risk` and `explain` begin with it, so that they cannot differ."""
    # A chain that could not be read is left out. It does not count as zero.
    read = [chain for chain in features.chains if chain.coverage != Coverage.FAILED]
    sent = min(sum(chain.transactions for chain in read), MOST)
    return len(features.identity), len(read), sent


def risk(features: Features) -> RiskVerdict:
    return RiskVerdict(judge(*seen(features)), [0])


def explain(features: Features) -> list[Factor]:
    """The words of the same factors. A server asks for them only if somebody reads them."""
    attested, _, sent = seen(features)
    factor = Factor(
        label="Identity",
        rating=Rating.GOOD if attested else Rating.LOW,
        description=f"You have {attested} attestations and sent {sent} transactions.",
        points=0,
        possible=0,
    )
    return [factor]


def judge(attested: int, read: int, sent: int) -> int:
    if attested:
        return 10
    if not read:
        return 50
    return 40 if sent > 100 else 80
