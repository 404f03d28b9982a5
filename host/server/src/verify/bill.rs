//! The cost of reading a wallet at providers that bill calls by method. The prices are those of their public tables.

use std::fmt;

use assay_chain::config::Spare;

/// Calls by method, as providers price them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Calls {
    /// `eth_getTransactionCount`, almost all at old blocks.
    pub nonces: u64,
    /// `eth_getBlockByNumber`.
    pub blocks: u64,
    /// `eth_getLogs`.
    pub logs: u64,
    /// `eth_call`.
    pub calls: u64,
    /// `eth_getCode` and others that cost as much.
    pub others: u64,
}

/// The prices of a provider, in its units.
struct UnitPrices {
    provider: &'static str,
    unit: &'static str,
    nonce: u64,
    block: u64,
    logs: u64,
    call: u64,
    other: u64,
}

/// Alchemy: "Compute Unit Costs", Infura: "Credit costs" of Ethereum, Moralis: "RPC Node Compute Units" with the
/// weights of archive requests for nonces and blocks.
const PROVIDERS: [UnitPrices; 3] = [
    UnitPrices { provider: "Alchemy", unit: "compute units", nonce: 20, block: 20, logs: 60, call: 26, other: 20 },
    UnitPrices { provider: "Infura", unit: "credits", nonce: 80, block: 80, logs: 255, call: 80, other: 80 },
    UnitPrices { provider: "Moralis", unit: "compute units", nonce: 8, block: 12, logs: 12, call: 3, other: 3 },
];

impl Calls {
    /// A later read, if each log query covers the new blocks: `logs` of them.
    pub fn known(logs: u64) -> Self {
        Self { nonces: 1, blocks: 3, logs, calls: 4, others: 1 }
    }

    /// At most, for a wallet that is new to a chain as high as Ethereum and has sent transactions there, with `logs`
    /// log queries.
    pub fn new(spare: Spare, logs: u64) -> Self {
        let (nonces, blocks) = match spare {
            Spare::Both => (62, 20),
            Spare::Rounds => (265, 55),
            Spare::Calls => (34, 16),
        };
        Self { nonces, blocks, calls: 6, ..Self::known(logs) }
    }

    /// On this number of chains.
    #[must_use]
    pub fn times(self, chains: u64) -> Self {
        let Self { nonces, blocks, logs, calls, others } = self;
        Self {
            nonces: nonces * chains,
            blocks: blocks * chains,
            logs: logs.saturating_mul(chains),
            calls: calls * chains,
            others: others * chains,
        }
    }

    /// All of them.
    pub fn sum(self) -> u64 {
        let Self { nonces, blocks, logs, calls, others } = self;
        (nonces + blocks + calls + others).saturating_add(logs)
    }

    fn units(self, prices: &UnitPrices) -> u64 {
        let logs = self.logs.saturating_mul(prices.logs);
        let rest = self.nonces * prices.nonce
            + self.blocks * prices.block
            + self.calls * prices.call
            + self.others * prices.other;
        logs.saturating_add(rest)
    }
}

impl fmt::Display for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} calls", self.sum())?;
        for (i, prices) in PROVIDERS.iter().enumerate() {
            let (before, units) = (if i == 0 { ": " } else { ", " }, self.units(prices));
            write!(f, "{before}{units} {} at {}", prices.unit, prices.provider)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_takes_at_most_a_hundred_calls() {
        let calls = Calls::new(Spare::Both, 4);
        assert!(calls.sum() <= 100, "{calls}");
        assert!(Calls::new(Spare::Calls, 4).sum() < calls.sum() && calls.sum() < Calls::new(Spare::Rounds, 4).sum());
        assert_eq!(
            calls.to_string(),
            "93 calls: 2056 compute units at Alchemy, 8140 credits at Infura, 805 compute units at Moralis"
        );
        assert_eq!(Calls::known(2).times(12).sum(), 12 * Calls::known(2).sum());
    }
}
