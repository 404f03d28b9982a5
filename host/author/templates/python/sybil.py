"""{name}: the risk that a wallet is a bot."""

from assay import Coverage, Factor, Features, Kind, ModelInfo, Rating, RiskAssessment

# More transactions say nothing new.
MOST = 1_000_000


def describe() -> ModelInfo:
    reads = ["chains.coverage", "chains.transactions", "identity.provider"]
    return ModelInfo(kind=Kind.SYBIL, version="0.1", title="{name}", authors=[], reads=reads)


def risk(features: Features) -> RiskAssessment:
    # A chain that could not be read is left out. It does not count as zero.
    read = [chain for chain in features.chains if chain.coverage != Coverage.FAILED]
    sent = min(sum(chain.transactions for chain in read), MOST)
    attested = len(features.identity)
    factor = Factor(
        label="Identity",
        rating=Rating.GOOD if attested else Rating.LOW,
        description=f"You have {attested} attestations and sent {sent} transactions.",
        points=0,
        possible=0,
    )
    return RiskAssessment(judge(attested, len(read), sent), [factor])


def judge(attested: int, read: int, sent: int) -> int:
    if attested:
        return 10
    if not read:
        return 50
    return 40 if sent > 100 else 80
