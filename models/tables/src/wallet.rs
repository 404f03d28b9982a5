//! The features of a wallet as the source of expressions. The component reads them in the types of the contract, the
//! packer in those of the host: the fields have the same names in both.

/// Defines `Wallet`, which gives an expression the number or text at a place of the lists in [`fields`](crate::fields).
///
/// The module around it has `Features`, `ChainFeatures`, `MarketFeatures`, `Dollars`, `LendingEvent`, `Position`,
/// `Exposure`, `Holding` and `Attestation`, and the functions `coverage`, `class`, `kind` and `exposed`, which give the place
/// of a word in its WIT enum.
#[macro_export]
macro_rules! wallet {
    () => {
        pub struct Wallet<'a> {
            features: &'a Features,
            /// The market at which the last item of a list of all markets was found, and the items of the markets before.
            /// Expressions go through a list in its order, so the next item is there or behind it.
            found: core::cell::Cell<(u8, usize, usize)>,
        }

        impl<'a> Wallet<'a> {
            pub fn new(features: &'a Features) -> Self {
                Self { features, found: core::cell::Cell::new((0, 0, 0)) }
            }

            /// The item of a list of all markets, with its market. `of` gives the part of one market.
            #[inline]
            fn nested<T>(
                &self,
                list: u8,
                item: usize,
                of: impl Fn(&'a MarketFeatures) -> &'a [T],
            ) -> Option<(&'a MarketFeatures, &'a T)> {
                let (known, market, before) = self.found.get();
                let start = if known == list && before <= item { (market, before) } else { (0, 0) };
                let (first, mut before) = start;
                for (place, market) in self.features.markets.iter().enumerate().skip(first) {
                    let items = of(market);
                    if let Some(one) = items.get(item - before) {
                        self.found.set((list, place, before));
                        return Some((market, one));
                    }
                    before += items.len();
                }
                None
            }
        }

        impl $crate::Source for Wallet<'_> {
            fn as_of(&self) -> f64 {
                self.features.as_of as f64
            }

            fn count(&self, list: u8) -> usize {
                let features = self.features;
                match list {
                    $crate::fields::CHAINS => features.chains.len(),
                    $crate::fields::MARKETS => features.markets.len(),
                    $crate::fields::HOLDINGS => features.holdings.len(),
                    $crate::fields::IDENTITY => features.identity.len(),
                    $crate::fields::EVENTS => features.markets.iter().map(|market| market.events.len()).sum(),
                    $crate::fields::COLLATERAL => features.markets.iter().map(|market| collateral(market).len()).sum(),
                    _ => features.markets.iter().map(|market| debt(market).len()).sum(),
                }
            }

            #[inline]
            fn number(&self, list: u8, item: usize, field: u8) -> f64 {
                let features = self.features;
                let number = match list {
                    $crate::fields::CHAINS => features.chains.get(item).map(|chain| of_chain(chain, field)),
                    $crate::fields::MARKETS => features.markets.get(item).map(|market| of_market(market, field)),
                    $crate::fields::HOLDINGS => features.holdings.get(item).map(|holding| of_holding(holding, field)),
                    $crate::fields::IDENTITY => features.identity.get(item).map(|one| of_attestation(one, field)),
                    $crate::fields::EVENTS => self
                        .nested(list, item, |market| &market.events)
                        .map(|(market, event)| of_event(self.as_of(), market, event, field)),
                    $crate::fields::COLLATERAL => {
                        self.nested(list, item, collateral).map(|(market, part)| of_exposure(market, part, field))
                    }
                    _ => self.nested(list, item, debt).map(|(market, part)| of_exposure(market, part, field)),
                };
                number.unwrap_or(f64::NAN)
            }

            fn text(&self, list: u8, item: usize, field: u8) -> &str {
                let features = self.features;
                match list {
                    $crate::fields::MARKETS => features.markets.get(item).and_then(|market| match field {
                        13 => Some(market.protocol.as_str()),
                        _ => market.market.as_deref(),
                    }),
                    $crate::fields::IDENTITY => features.identity.get(item).map(|one| one.provider.as_str()),
                    $crate::fields::EVENTS => {
                        self.nested(list, item, |market| &market.events).map(|(market, _)| market.protocol.as_str())
                    }
                    $crate::fields::COLLATERAL => {
                        self.nested(list, item, collateral).map(|(market, _)| market.protocol.as_str())
                    }
                    _ => self.nested(list, item, debt).map(|(market, _)| market.protocol.as_str()),
                }
                .unwrap_or_default()
            }
        }

        fn collateral(market: &MarketFeatures) -> &[Exposure] {
            market.position.as_ref().map_or(&[], |position| &position.collateral)
        }

        fn debt(market: &MarketFeatures) -> &[Exposure] {
            market.position.as_ref().map_or(&[], |position| &position.debt)
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
                15 => coverage(market.events_coverage),
                16..=20 => of_dollars(&market.dollars, field),
                21 => few(market.liquidation_days),
                _ => market.position.as_ref().map_or(f64::NAN, |position| of_position(position, field)),
            }
        }

        fn of_dollars(dollars: &Dollars, field: u8) -> f64 {
            let figure = match field {
                16 => dollars.supply,
                17 => dollars.withdraw,
                18 => dollars.borrow,
                19 => dollars.repay,
                _ => dollars.liquidation,
            };
            figure.unwrap_or(f64::NAN)
        }

        fn of_position(position: &Position, field: u8) -> f64 {
            let figure = match field {
                22 => Some(coverage(position.coverage)),
                23 => position.health_factor,
                24 => position.liquidation_threshold,
                25 => position.utilisation,
                _ => None,
            };
            figure.unwrap_or(f64::NAN)
        }

        /// What an item of a list of all markets takes from its market.
        fn of_its_market(market: &MarketFeatures, field: u8) -> f64 {
            match field {
                0 => market.chain_id as f64,
                2 => f64::from(u8::from(market.feeds_score)),
                _ => f64::NAN,
            }
        }

        fn of_event(as_of: f64, market: &MarketFeatures, event: &LendingEvent, field: u8) -> f64 {
            match field {
                3 => coverage(market.events_coverage),
                4 => kind(event.kind),
                5 => $crate::days(as_of - event.time as f64),
                6 => event.usd.unwrap_or(f64::NAN),
                7 => event.class.map_or(f64::NAN, exposed),
                _ => of_its_market(market, field),
            }
        }

        fn of_exposure(market: &MarketFeatures, part: &Exposure, field: u8) -> f64 {
            match field {
                3 => market.position.as_ref().map_or(f64::NAN, |position| coverage(position.coverage)),
                4 => exposed(part.class),
                5 => part.usd,
                _ => of_its_market(market, field),
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
