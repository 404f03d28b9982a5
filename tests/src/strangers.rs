//! What contracts of strangers do: a table of deeds, for every place where the server calls a contract that somebody
//! else chose.

use alloy::primitives::{Address, B256, Bytes, FixedBytes, U256, keccak256};
use alloy::sol_types::SolValue;

use crate::devnet::Error;
use crate::lenders::{Small, stubs};

/// What a contract does when it is called, named as in `Strangers.sol`.
#[derive(Debug, Clone)]
pub struct Deed {
    pub name: &'static str,
    number: u8,
    words: Bytes,
}

/// Reasons of reverts, in the words with which providers refuse requests.
const PHRASES: [&str; 20] = [
    "rate limit exceeded",
    "too many requests",
    "header not found",
    "missing trie node 0x00 (path ) state is not available",
    "query returned more than 10000 results",
    "block range is too wide, limited to a 1 block range",
    "please specify an address in your request",
    "response size exceeded",
    "daily request count exceeded, request rate limited, try again in 60s",
    "limit exceeded",
    "method not supported",
    "unknown block",
    "exceeded maximum block range: 2",
    "eth_getLogs is limited to a 5 range",
    "batch size too large: at most 1 calls",
    "your app has exceeded its compute units per second capacity",
    "invalid api key",
    "state at block #1 is pruned",
    "query timeout exceeded",
    "execution aborted (timeout = 1s)",
];

/// All deeds.
pub fn deeds() -> Vec<Deed> {
    let text = |text: &str| Bytes::from(text.to_owned().abi_encode());
    let length = |bytes: u64| Bytes::from(U256::from(bytes).abi_encode());
    let deed = |name, number, words| Deed { name, number, words };
    let mut deeds: Vec<Deed> =
        PHRASES.iter().map(|phrase| deed(phrase, 0, Bytes::from(phrase.as_bytes().to_vec()))).collect();
    deeds.extend([
        deed("answers nothing", 1, Bytes::new()),
        deed("answers 2^256-1", 1, Bytes::from(U256::MAX.abi_encode())),
        deed("answers control and bidirectional characters", 1, text("\u{202e}\u{1b}[2JUS\u{0}DC\u{2066}\r\n")),
        deed("answers letters that cannot be seen", 1, text("US\u{200b}D\u{2060}C\u{ad}\u{feff}\u{e0041}")),
        deed("answers letters that look like others", 1, text("USD\u{421}")),
        deed("answers 2^255", 1, Bytes::from(U256::from(1).wrapping_shl(255).abi_encode())),
        deed("answers a length beyond its end", 1, Bytes::from([U256::from(32), U256::MAX].abi_encode())),
        deed("loops", 2, Bytes::new()),
        deed("invalid opcode", 3, Bytes::new()),
        // The first fits the gas of a token's call; the second took an endpoint 3.8 MB of JSON.
        deed("answers 300 kB", 4, length(300_000)),
        deed("answers 1.9 MB", 4, length(1_900_000)),
        deed("reverts with 300 kB", 5, length(300_000)),
        deed("reverts with 1.9 MB", 5, length(1_900_000)),
        deed("calls itself", 6, Bytes::new()),
        deed("writes", 7, Bytes::new()),
    ]);
    deeds
}

/// Functions of tokens, pools and collectibles that do the deed.
pub const PLACES: [&[&str]; 4] = [
    &["balanceOf(address)"],
    &["symbol()", "name()", "decimals()", "token0()", "token1()", "POOL()"],
    &["getReserves()", "totalSupply()"],
    &["ownerOf(uint256)"],
];

/// Creates contracts of strangers.
pub struct Strangers(Bytes);

impl Strangers {
    /// # Errors
    /// When they cannot be compiled.
    pub async fn compiled() -> Result<Self, Error> {
        let code = stubs("Strangers.sol").await?.remove("StrangerStub");
        code.map(Self).ok_or_else(|| Error::Unknown("the stub of a stranger".to_owned()))
    }

    /// Queues the deployment of a contract that misbehaves as `deed` in the functions `at`, immediately if `armed`. It
    /// claims to be a share of a pool of the two tokens `pool`; the first one is also the address that it resolves to.
    pub fn create(&self, chain: &mut Small, deed: &Deed, at: &[&str], pool: [Address; 2], armed: bool) -> Address {
        let selectors: Vec<FixedBytes<4>> = at.iter().map(|function| selector(function)).collect();
        let arguments = (U256::from(deed.number), deed.words.clone(), selectors, pool[0], pool[1], armed);
        chain.create([self.0.as_ref(), &arguments.abi_encode_params()].concat(), deed.name)
    }
}

fn selector(function: &str) -> FixedBytes<4> {
    let hash: B256 = keccak256(function);
    FixedBytes::from_slice(&hash[..4])
}
