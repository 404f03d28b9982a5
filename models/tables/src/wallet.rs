//! The features of a wallet as the source of expressions. The component reads them in the types of the contract, the
//! packer in those of the host: the fields have the same names in both.

/// Defines `Wallet`, which gives an expression the number or text at a place of the lists in [`fields`](crate::fields).
///
/// The module around it has `Features`, `ChainFeatures`, `MarketFeatures`, `Holding` and `Attestation`, and the functions
/// `coverage` and `class`, which give the place of a word in its WIT enum.
#[macro_export]
macro_rules! wallet {
    () => {
        pub struct Wallet<'a>(pub &'a Features);

        impl $crate::Source for Wallet<'_> {
            fn as_of(&self) -> f64 {
                self.0.as_of as f64
            }

            fn count(&self, list: u8) -> usize {
                match list {
                    $crate::fields::CHAINS => self.0.chains.len(),
                    $crate::fields::MARKETS => self.0.markets.len(),
                    $crate::fields::HOLDINGS => self.0.holdings.len(),
                    _ => self.0.identity.len(),
                }
            }

            #[inline]
            fn number(&self, list: u8, item: usize, field: u8) -> f64 {
                let number = match list {
                    $crate::fields::CHAINS => self.0.chains.get(item).map(|chain| of_chain(chain, field)),
                    $crate::fields::MARKETS => self.0.markets.get(item).map(|market| of_market(market, field)),
                    $crate::fields::HOLDINGS => self.0.holdings.get(item).map(|holding| of_holding(holding, field)),
                    _ => self.0.identity.get(item).map(|one| of_attestation(one, field)),
                };
                number.unwrap_or(f64::NAN)
            }

            fn text(&self, list: u8, item: usize, field: u8) -> &str {
                let market = || self.0.markets.get(item);
                let text = match (list, field) {
                    ($crate::fields::MARKETS, 13) => market().map(|market| market.protocol.as_str()),
                    ($crate::fields::MARKETS, _) => market().and_then(|market| market.market.as_deref()),
                    _ => self.0.identity.get(item).map(|one| one.provider.as_str()),
                };
                text.unwrap_or_default()
            }
        }

        fn some(number: Option<u64>) -> f64 {
            number.map_or(f64::NAN, |number| number as f64)
        }

        fn few(number: Option<u32>) -> f64 {
            number.map_or(f64::NAN, f64::from)
        }

        fn of_chain(chain: &ChainFeatures, field: u8) -> f64 {
            match field {
                0 => chain.chain_id as f64,
                1 => coverage(chain.coverage),
                2 => some(chain.first_transaction),
                3 => some(chain.last_transaction),
                4 => chain.transactions as f64,
                5 => some(chain.transfers),
                6 => few(chain.counterparties),
                7 => few(chain.active_days),
                8 => few(chain.active_hours),
                9 => some(chain.median_gap),
                10 => chain.assets_usd,
                11 => chain.supplied_usd,
                12 => chain.borrowed_usd,
                _ => f64::NAN,
            }
        }

        fn of_market(market: &MarketFeatures, field: u8) -> f64 {
            match field {
                0 => market.chain_id as f64,
                1 => coverage(market.coverage),
                2 => f64::from(u8::from(market.feeds_score)),
                3 => some(market.supply),
                4 => some(market.withdraw),
                5 => some(market.borrow),
                6 => some(market.repay),
                7 => some(market.liquidation),
                8 => some(market.first_event),
                9 => some(market.last_event),
                10 => some(market.last_liquidation),
                11 => market.supplied_usd,
                12 => market.borrowed_usd,
                _ => f64::NAN,
            }
        }

        fn of_holding(holding: &Holding, field: u8) -> f64 {
            match field {
                0 => class(holding.class),
                1 => holding.usd,
                2 => f64::from(holding.assets),
                _ => f64::NAN,
            }
        }

        fn of_attestation(one: &Attestation, field: u8) -> f64 {
            match field {
                0 => some(one.issued),
                1 => some(one.expires),
                2 => one.score.unwrap_or(f64::NAN),
                _ => f64::NAN,
            }
        }
    };
}
