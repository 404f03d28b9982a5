//! Made-up Aave v3 markets with one event per block, each in one of them. Everything is a function of the block number,
//! so ten million events need no memory.

use std::io::Write;

use alloy::primitives::{Address, B256, Bloom, BloomInput, U256, b256};

/// The first block with an event.
pub const FROM: u64 = 1_000;
/// Blocks without events at the end, none of them final.
pub const FINALITY: u64 = 64;
/// 2026-01-01, before the time of any block.
const START: u64 = 1_767_225_600;

/// Number of assets, which all pools have.
pub const ASSETS: u8 = 4;

/// Logs of each block: one of the pool and two of its token.
pub const LOGS: u64 = 3;

const TRANSFER: B256 = b256!("0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");
const MINT: B256 = b256!("0x458f5fa412d0f69b08dd84872b0215675cc67bc1d5b6fd93300a1c3878b86196");
const BURN: B256 = b256!("0x4cf25bc1d991c17529c25213d3cc0cda295eeaad5f13f361969b12ea48015f90");
const SUPPLY: B256 = b256!("0x2b627736bca15cd5381dcf80b0bf11fd197d01a037c52b927a881a10fb73ba61");
const WITHDRAW: B256 = b256!("0x3115d1449a7b732c986cba18244e897a450f61e1bb8d589cd2e69e6c8924f9f7");
const BORROW: B256 = b256!("0xb3d084820fb1a9decffb176436bd02558d15fac9b0ddfed8c465bc7359d7dce0");
const REPAY: B256 = b256!("0xa534c8dbe71f871f9f3530e97a74601fea17b426cae02e1c5aee42c96c784051");

/// The size of the markets together.
#[derive(Debug, Clone, Copy)]
pub struct Market {
    pub events: u64,
    pub wallets: u64,
    pub pools: u8,
}

/// One log.
pub struct Log {
    pub address: Address,
    pub topics: [B256; 4],
    /// Number of topics.
    pub count: usize,
    data: [U256; 4],
    words: usize,
    index: u8,
}

pub fn asset(index: u8) -> Address {
    Address::repeat_byte(0xb0 + index)
}

/// Returns the pool with this number.
pub fn pool(number: u8) -> Address {
    of_pool(0xa0, number)
}

/// Returns a pool's token for supplies of an asset.
pub fn token(pool: u8, index: u8) -> Address {
    of_pool(0xc0 + index, pool)
}

/// Returns a pool's token for debts of an asset.
pub fn debt_token(pool: u8, index: u8) -> Address {
    of_pool(0xe0 + index, pool)
}

/// Returns a contract of a pool, whose number is in the last byte.
pub(super) fn of_pool(kind: u8, pool: u8) -> Address {
    let mut address = Address::repeat_byte(kind);
    address.0[19] ^= pool;
    address
}

/// Returns the number of the pool whose contract this is.
pub(super) fn pool_of(contract: Address) -> u8 {
    contract.0[19] ^ contract.0[0]
}

/// Returns the wallet with this number.
pub fn wallet(number: u64) -> Address {
    Address::from_slice(&word(number, 7)[12..])
}

fn mix(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn word(seed: u64, salt: u64) -> B256 {
    let parts = [1, 2, 3, 4].map(|part| mix(seed ^ (salt << 56) ^ (part << 48)));
    let mut word = [0; 32];
    for (bytes, part) in word.chunks_exact_mut(8).zip(parts) {
        bytes.copy_from_slice(&part.to_be_bytes());
    }
    B256::from(word)
}

impl Market {
    pub fn head(self) -> u64 {
        FROM + self.events + FINALITY
    }

    pub fn hash(self, block: u64) -> B256 {
        word(block, 1)
    }

    pub fn time(self, block: u64) -> u64 {
        START + 12 * block
    }

    /// Returns the logs of one block in its order: two of a token, and the pool's. They are those of Aave v3, at an
    /// index of one.
    pub fn logs(self, block: u64) -> Option<[Log; LOGS as usize]> {
        if !(FROM..FROM + self.events).contains(&block) {
            return None;
        }
        let seed = mix(block);
        let (owner, index) = (wallet(seed % self.wallets).into_word(), (seed >> 40) as u8 % ASSETS);
        let (reserve, amount) = (asset(index).into_word(), U256::from(mix(seed) >> 8));
        let by = U256::from_be_bytes(owner.0);
        let ray = U256::from(10).pow(U256::from(27));
        let minted = |token| {
            let data = [amount, U256::ZERO, ray];
            [
                Log::new(token, [TRANSFER, B256::ZERO, owner], &[amount], 0),
                Log::new(token, [MINT, owner, owner], &data, 1),
            ]
        };
        let burnt = |token| {
            let data = [amount, U256::ZERO, ray];
            [
                Log::new(token, [TRANSFER, owner, B256::ZERO], &[amount], 0),
                Log::new(token, [BURN, owner, owner], &data, 1),
            ]
        };
        let number = (seed >> 48) as u8 % self.pools;
        let (token, debt_token) = (token(number, index), debt_token(number, index));
        let pool = |topics: [B256; 4], data: &[U256]| Log::new(pool(number), topics, data, 2);
        let ([first, second], last) = match (seed >> 32) % 20 {
            0..7 => (minted(token), pool([SUPPLY, reserve, owner, B256::ZERO], &[by, amount])),
            7..10 => (burnt(token), pool([WITHDRAW, reserve, owner, owner], &[amount])),
            10..15 => {
                let data = [by, amount, U256::from(2), U256::from(seed)];
                (minted(debt_token), pool([BORROW, reserve, owner, B256::ZERO], &data))
            }
            _ => (burnt(debt_token), pool([REPAY, reserve, owner, owner], &[amount, U256::ZERO])),
        };
        Some([first, second, last])
    }

    /// Returns the bloom filter in a block's header.
    pub fn bloom(self, block: u64) -> Bloom {
        let mut bloom = Bloom::ZERO;
        for log in self.logs(block).iter().flatten() {
            bloom.accrue(BloomInput::Raw(log.address.as_slice()));
            log.topics().iter().for_each(|topic| bloom.accrue(BloomInput::Raw(topic.as_slice())));
        }
        bloom
    }
}

impl Log {
    fn new<const N: usize>(address: Address, topics: [B256; N], data: &[U256], index: u8) -> Self {
        let mut log =
            Self { address, topics: [B256::ZERO; 4], count: N, data: [U256::ZERO; 4], words: data.len(), index };
        log.topics[..N].copy_from_slice(&topics);
        log.data[..data.len()].copy_from_slice(data);
        log
    }

    pub fn topics(&self) -> &[B256] {
        &self.topics[..self.count]
    }

    /// Writes the log as a node does.
    pub fn write(&self, market: Market, block: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"address\":\"0x");
        digits(self.address.as_slice(), out);
        out.extend_from_slice(b"\",\"topics\":[\"0x");
        for (place, topic) in self.topics().iter().enumerate() {
            if place > 0 {
                out.extend_from_slice(b"\",\"0x");
            }
            digits(topic.as_slice(), out);
        }
        out.extend_from_slice(b"\"],\"data\":\"0x");
        for word in &self.data[..self.words] {
            digits(&word.to_be_bytes::<32>(), out);
        }
        out.extend_from_slice(b"\",\"blockHash\":\"0x");
        digits(market.hash(block).as_slice(), out);
        out.extend_from_slice(b"\",\"transactionHash\":\"0x");
        digits(word(block, 2).as_slice(), out);
        let (time, index) = (market.time(block), self.index);
        let _ = write!(
            out,
            "\",\"blockNumber\":\"{block:#x}\",\"blockTimestamp\":\"{time:#x}\",\"transactionIndex\":\"0x0\",\
             \"logIndex\":\"{index:#x}\",\"removed\":false}}"
        );
    }
}

fn digits(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend(bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]));
}
