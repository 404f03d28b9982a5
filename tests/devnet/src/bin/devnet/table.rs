//! The wallets as a table.

use assay_devnet::devnet::Devnet;

pub fn wallets(devnet: &Devnet) -> String {
    let width = devnet.wallets.iter().map(|wallet| wallet.name.len()).max().unwrap_or(0);
    devnet
        .wallets
        .iter()
        .map(|wallet| format!("{:width$}  {}  {}\n", wallet.name, wallet.address, wallet.description))
        .collect()
}
