//! The chains, tokens and markets that mock wallets use. Ids, symbols and addresses are real, so that a client's own
//! tables know them.

/// A chain, as of the sandbox's last day.
pub struct Chain {
    pub id: u64,
    /// Indices into [`TOKENS`], the chain's native currency first.
    pub tokens: &'static [usize],
    pub markets: &'static [Market],
    /// The newest block.
    pub head: u64,
}

pub struct Market {
    pub protocol: &'static str,
    pub address: &'static str,
    pub name: Option<&'static str>,
    /// Unix time from which it can have events: the first of the month after it opened.
    pub opened: u64,
}

/// A token whose balances are multiples of a step, so that a balance times its price is a whole number of quarter
/// dollars, which sums exactly.
pub struct Kind {
    pub symbol: &'static str,
    pub name: &'static str,
    /// In ten-thousandths of a token.
    pub step: u64,
    /// What a step is worth.
    pub quarters: u64,
}

pub static TOKENS: [Kind; 7] = [
    // 3,000 dollars.
    Kind { symbol: "ETH", name: "Ether", step: 10, quarters: 12 },
    // Half a dollar.
    Kind { symbol: "POL", name: "Polygon Ecosystem Token", step: 5_000, quarters: 1 },
    Kind { symbol: "USDC", name: "USD Coin", step: 2_500, quarters: 1 },
    Kind { symbol: "DAI", name: "Dai Stablecoin", step: 2_500, quarters: 1 },
    // 60,000 dollars.
    Kind { symbol: "WBTC", name: "Wrapped BTC", step: 1, quarters: 24 },
    // 16 dollars.
    Kind { symbol: "LINK", name: "ChainLink Token", step: 2_500, quarters: 16 },
    // 8 dollars.
    Kind { symbol: "UNI", name: "Uniswap", step: 2_500, quarters: 8 },
];

const ETH: usize = 0;
const POL: usize = 1;
const USDC: usize = 2;
const DAI: usize = 3;
const WBTC: usize = 4;
const LINK: usize = 5;
const UNI: usize = 6;

pub static CHAINS: [Chain; 5] = [
    Chain {
        id: 1,
        tokens: &[ETH, USDC, DAI, WBTC, LINK, UNI],
        markets: &[
            Market {
                protocol: "lenderA_v3",
                address: "0x87870Bca3F3fD6335C3F4ce8392D69350B4fA4E2",
                name: Some("Core"),
                opened: 1_675_209_600,
            },
            Market {
                protocol: "lenderB_v3",
                address: "0xc3d688B66703497DAA19211EEdff47f25384cdc3",
                name: Some("cUSDCv3"),
                opened: 1_661_990_400,
            },
        ],
        head: 24_136_000,
    },
    Chain {
        id: 8453,
        tokens: &[ETH, USDC, DAI],
        markets: &[Market {
            protocol: "lenderA_v3",
            address: "0xA238Dd80C259a72e81d7e4664a9801593F98d1c5",
            name: Some("Core"),
            opened: 1_693_526_400,
        }],
        head: 40_218_000,
    },
    Chain {
        id: 42161,
        tokens: &[ETH, USDC, WBTC, LINK, UNI],
        markets: &[
            Market {
                protocol: "lenderA_v3",
                address: "0x794a61358D6845594F94dc1DB02A252b5b4814aD",
                name: Some("Core"),
                opened: 1_648_771_200,
            },
            Market {
                protocol: "lenderB_v3",
                address: "0x9c4ec768c28520B50860ea7a15bd7213a9fF58bf",
                name: Some("cUSDCv3"),
                opened: 1_693_526_400,
            },
        ],
        head: 416_500_000,
    },
    Chain {
        id: 10,
        tokens: &[ETH, USDC, DAI, LINK],
        markets: &[Market {
            protocol: "lenderA_v3",
            address: "0x794a61358D6845594F94dc1DB02A252b5b4814aD",
            name: Some("Core"),
            opened: 1_648_771_200,
        }],
        head: 145_790_000,
    },
    Chain {
        id: 137,
        tokens: &[POL, USDC, DAI, WBTC, LINK],
        markets: &[Market {
            protocol: "lenderA_v3",
            address: "0x794a61358D6845594F94dc1DB02A252b5b4814aD",
            name: Some("Core"),
            opened: 1_648_771_200,
        }],
        head: 81_000_000,
    },
];

/// Collections that a mock wallet may hold a piece of, all on chain 1.
pub const COLLECTIONS: [&str; 4] = ["Bored Ape Yacht Club", "Pudgy Penguins", "Azuki", "Moonbirds"];
