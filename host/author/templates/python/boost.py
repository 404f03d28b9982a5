"""{name}: what off-chain assets add to a score."""

from assay import Kind, ModelInfo, OffChain


def describe() -> ModelInfo:
    reads = ["score", "off-chain.total-asset-usd"]
    return ModelInfo(kind=Kind.BOOST, version="{version}", title="{name}", authors=[], reads=reads, claims=None)


def boost(score: int, off_chain: OffChain) -> int:
    """A tenth of the gap to 1000, from 50,000 dollars on."""
    share = min(max(off_chain.total_asset_usd / 50_000, 0.0), 1.0)
    return score + int((1000 - score) * 0.1 * share)
