//! The report of one chain: the part of a credit report that concerns it. Entries do not name the chain.

use serde::Serialize;
use utoipa::ToSchema;

use super::{Assets, Defi, PriceSourceName};
use crate::ChainReport;
use assay_domain::ChainId;
use assay_http::values::{Checksummed, Moment, Usd, sentences};

/// The data of an address on one chain.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = ChainReport)]
pub struct ChainReportBody {
    #[schema(value_type = String, example = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045")]
    pub address: Checksummed,
    #[schema(value_type = u64)]
    pub chain_id: ChainId,
    pub chain_name: String,
    pub assets: ChainAssets,
    pub defi: ChainDefi,
    pub activity: ChainActivity,
    /// Whether the report comes from an earlier reading.
    pub cached: bool,
    #[schema(value_type = String, format = DateTime)]
    pub timestamp: Moment,
    /// Unread and partly read parts, in words: `first transaction on chain 1: …`. Figures without these parts may be
    /// too low. Absent in the sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub unread: Option<Vec<String>>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ChainAssets {
    /// Tokens and lending deposits, in dollars. Excludes NFTs, unclaimed rewards and debt.
    #[schema(value_type = f64)]
    total_value_usd: Usd,
    tokens: Vec<ChainToken>,
    nfts: Vec<ChainNft>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
struct ChainToken {
    symbol: String,
    name: String,
    /// Whole tokens, exact.
    #[schema(example = "1.5")]
    balance: String,
    /// 0 when no source has a price.
    #[schema(value_type = f64)]
    value_usd: Usd,
    /// Contract of the token; absent for the native currency. In the sandbox, absent for unknown tokens too.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    address: Option<String>,
    /// Whether a source has a price; without one, `value_usd` is 0.
    priced: bool,
    /// Source of the price; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PriceSourceName>, nullable = false)]
    price_source: Option<&'static str>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
struct ChainNft {
    name: String,
    collection: String,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ChainDefi {
    protocols: Vec<ChainProtocol>,
    #[schema(value_type = f64)]
    total_supplied: Usd,
    #[schema(value_type = f64)]
    total_borrowed: Usd,
}

/// The amounts supplied to and borrowed from one protocol, in dollars.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct ChainProtocol {
    name: String,
    #[schema(value_type = f64)]
    supplied: Usd,
    #[schema(value_type = f64)]
    borrowed: Usd,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ChainActivity {
    /// Null when there is none. If it is not found, the first lending event.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub first_transaction: Option<Moment>,
    /// Transactions sent.
    pub total_transactions: u64,
}

impl ChainReportBody {
    pub fn of(report: ChainReport, chain_id: ChainId, chain_name: String) -> Self {
        let ChainReport { contents, cached, .. } = report;
        Self {
            address: Checksummed(contents.address),
            chain_id,
            chain_name,
            assets: Assets::of(&contents).into(),
            defi: Defi::of(&contents).into(),
            activity: ChainActivity {
                first_transaction: contents.first_transaction.map(Moment),
                total_transactions: contents.transactions,
            },
            cached,
            timestamp: Moment(contents.as_of),
            unread: contents.unread.map(sentences),
        }
    }
}

impl From<Assets> for ChainAssets {
    fn from(assets: Assets) -> Self {
        let token = |t: super::TokenBody| ChainToken {
            symbol: t.symbol,
            name: t.name,
            balance: t.balance,
            value_usd: t.value_usd,
            address: t.address,
            priced: t.priced,
            price_source: t.price_source,
        };
        let nft = |n: super::NftBody| ChainNft { name: n.name, collection: n.collection };
        Self {
            total_value_usd: assets.total_value_usd,
            tokens: assets.tokens.into_iter().map(token).collect(),
            nfts: assets.nfts.into_iter().map(nft).collect(),
        }
    }
}

impl From<Defi> for ChainDefi {
    fn from(defi: Defi) -> Self {
        let protocol =
            |p: super::ProtocolBody| ChainProtocol { name: p.name, supplied: p.supplied, borrowed: p.borrowed };
        Self {
            protocols: defi.protocols.into_iter().map(protocol).collect(),
            total_supplied: defi.total_supplied,
            total_borrowed: defi.total_borrowed,
        }
    }
}
