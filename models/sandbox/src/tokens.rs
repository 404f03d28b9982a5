//! The tokens and collectibles of a mock wallet.

use crate::{
    Nft, Token,
    dice::Dice,
    places::{COLLECTIONS, Chain, Kind, TOKENS},
    wallet::{Wallet, topic},
};

/// Tokens on every chain of the wallet, always some of its native currency. A balance times its price is the value.
pub fn tokens(address: &[u8], wallet: &Wallet) -> Vec<Token> {
    let mut dice = Dice::new(address, topic::TOKENS);
    let mut picked: Vec<(&Chain, &Kind, u64)> = Vec::new();
    for chain in &wallet.chains {
        for (at, token) in chain.tokens.iter().filter_map(|at| TOKENS.get(*at)).enumerate() {
            let weight = dice.within(1..=100);
            if at == 0 || dice.chance(45) {
                picked.push((chain, token, weight));
            }
        }
    }
    let weights: u64 = picked.iter().map(|(_, _, weight)| weight).sum();
    picked.into_iter().map(|(chain, kind, w)| token(chain, kind, wallet.dollars * 4 * w / weights.max(1))).collect()
}

/// As many steps as fit in `quarters` of a dollar, at least one.
fn token(chain: &Chain, kind: &Kind, quarters: u64) -> Token {
    let steps = (quarters / kind.quarters).max(1);
    Token {
        symbol: kind.symbol.into(),
        name: kind.name.into(),
        balance: ten_thousandths(steps * kind.step),
        value_usd: (steps * kind.quarters) as f64 / 4.0,
        chain_id: chain.id,
    }
}

/// `n` ten-thousandths as decimal text without trailing zeros.
fn ten_thousandths(n: u64) -> String {
    let (whole, mut fraction, mut width) = (n / 10_000, n % 10_000, 4);
    if fraction == 0 {
        return whole.to_string();
    }
    while fraction % 10 == 0 {
        fraction /= 10;
        width -= 1;
    }
    format!("{whole}.{fraction:0width$}")
}

/// Up to three collectibles, all on chain 1; none where the wallet is not on it.
pub fn nfts(address: &[u8], wallet: &Wallet) -> Vec<Nft> {
    let mut dice = Dice::new(address, topic::NFTS);
    if !wallet.chains.iter().any(|chain| chain.id == 1) || !dice.chance(40) {
        return Vec::new();
    }
    let count = usize::try_from(dice.within(1..=3)).unwrap_or(1);
    let picked = dice.choose(count, COLLECTIONS.len());
    let collections = picked.into_iter().filter_map(|at| COLLECTIONS.get(at));
    collections
        .map(|collection| Nft {
            name: format!("#{}", dice.within(1..=8_888)),
            collection: (*collection).into(),
            chain_id: 1,
        })
        .collect()
}
