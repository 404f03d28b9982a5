//! Credit 1.4 as native code: its scale, the order of wallets, and wallets that a lender meets.

mod gaming;
mod lender;
mod order;
mod properties;
mod wallets;
