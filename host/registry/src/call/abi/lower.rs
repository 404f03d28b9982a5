//! Conversions of the parts of the features that are the same in every version of the interface.

/// Defines the conversions to the types of the module `$wit`. The module around it defines `with_markets`.
macro_rules! lowering {
    ($wit:ident) => {
        /// Calls `run` with the features in the types of the interface; strings are borrowed.
        fn lowered<T>(features: &Features, run: impl FnOnce(&$wit::Features<'_>) -> T) -> T {
            let chains: Vec<_> = features.chains.iter().map(chain).collect();
            let holdings: Vec<_> = features.holdings.iter().map(holding).collect();
            let identity: Vec<_> = features.identity.iter().map(attestation).collect();
            with_markets(&features.markets, |markets| {
                run(&$wit::Features {
                    as_of: features.as_of,
                    chains: &chains,
                    markets,
                    holdings: &holdings,
                    identity: &identity,
                })
            })
        }

        fn chain(c: &assay_domain::features::ChainFeatures) -> $wit::ChainFeatures {
            $wit::ChainFeatures {
                chain_id: c.chain_id,
                coverage: coverage(c.coverage),
                first_transaction: c.first_transaction,
                last_transaction: c.last_transaction,
                transactions: c.transactions,
                transfers: c.transfers,
                counterparties: c.counterparties,
                active_days: c.active_days,
                active_hours: c.active_hours,
                median_gap: c.median_gap,
                assets_usd: c.assets_usd,
                supplied_usd: c.supplied_usd,
                borrowed_usd: c.borrowed_usd,
            }
        }

        fn attestation(a: &assay_domain::features::AttestationFeature) -> $wit::Attestation<'_> {
            $wit::Attestation { provider: &a.provider, issued: a.issued, expires: a.expires, score: a.score }
        }

        fn coverage(coverage: assay_domain::Coverage) -> $wit::Coverage {
            match coverage {
                assay_domain::Coverage::Complete => $wit::Coverage::Complete,
                assay_domain::Coverage::Partial => $wit::Coverage::Partial,
                assay_domain::Coverage::Pending => $wit::Coverage::Pending,
                assay_domain::Coverage::Failed => $wit::Coverage::Failed,
            }
        }

        fn holding(h: &assay_domain::features::Holding) -> $wit::Holding {
            let class = match h.class {
                assay_domain::AssetClass::Native => $wit::AssetClass::Native,
                assay_domain::AssetClass::Stablecoin => $wit::AssetClass::Stablecoin,
                assay_domain::AssetClass::Token => $wit::AssetClass::Token,
                assay_domain::AssetClass::Wrapped => $wit::AssetClass::Wrapped,
                assay_domain::AssetClass::Liquidity => $wit::AssetClass::Liquidity,
                assay_domain::AssetClass::Collateral => $wit::AssetClass::Collateral,
            };
            $wit::Holding { class, usd: h.usd, assets: h.assets }
        }
    };
}

/// Converts a market to the type of the module `$wit`: the fields of every version, and those that the caller adds.
macro_rules! lowered_market {
    ($wit:ident, $m:ident $(, $field:ident: $value:expr)* $(,)?) => {
        $wit::MarketFeatures {
            chain_id: $m.chain_id,
            protocol: $m.protocol.as_str(),
            market: $m.market.as_deref(),
            coverage: coverage($m.coverage),
            feeds_score: $m.feeds_score,
            supply: $m.supply,
            withdraw: $m.withdraw,
            borrow: $m.borrow,
            repay: $m.repay,
            liquidation: $m.liquidation,
            first_event: $m.first_event,
            last_event: $m.last_event,
            last_liquidation: $m.last_liquidation,
            supplied_usd: $m.supplied_usd,
            borrowed_usd: $m.borrowed_usd,
            $($field: $value,)*
        }
    };
}

pub(super) use {lowered_market, lowering};
