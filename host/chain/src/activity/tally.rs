//! Counts listed rows, in bounded memory: an address with a million rows takes no more than one with thousands.

use super::{
    gaps, others,
    records::{ActivityProgress, NftRecord},
};
use crate::{
    explorer::{ExplorerList, ExplorerRow},
    limits,
};
use assay_domain::{Activity, Address, Seen, time_from_unix};

const DAY: u64 = 86_400;
const HOUR: u64 = 3_600;

/// First block of `list` that is not settled.
pub(super) fn from(progress: &mut ActivityProgress, list: ExplorerList) -> &mut u64 {
    match list {
        ExplorerList::Transactions => &mut progress.transactions_from,
        ExplorerList::Transfers => &mut progress.transfers_from,
        ExplorerList::Collectibles => &mut progress.collectibles_from,
        ExplorerList::Multi => &mut progress.multi_from,
    }
}

/// Adds `row`, which is later than the rows of its list before it.
pub(super) fn add(progress: &mut ActivityProgress, wallet: Address, row: &ExplorerRow) {
    match row.list {
        ExplorerList::Transactions => transaction(progress, wallet, row),
        // Some explorers repeat non-fungible transfers here.
        ExplorerList::Transfers if row.token.is_some() => {}
        ExplorerList::Transfers => {
            progress.transfers = progress.transfers.saturating_add(1);
            token(progress, row);
        }
        ExplorerList::Collectibles | ExplorerList::Multi => {
            progress.transfers = progress.transfers.saturating_add(1);
            nft(progress, wallet, row);
        }
    }
}

fn transaction(progress: &mut ActivityProgress, wallet: Address, row: &ExplorerRow) {
    let is_sent = row.from == wallet;
    let other = if is_sent { row.to } else { Some(row.from) };
    if let Some(other) = other.filter(|other| *other != wallet) {
        progress.others_left_out |= others::count(&mut progress.others, other);
    }
    if !is_sent {
        return;
    }
    if let Some(last) = progress.last_sent {
        let last = u64::try_from(last.time.timestamp()).unwrap_or(0);
        gaps::count(&mut progress.gaps, row.time.saturating_sub(last));
    }
    let seen = Seen { block: row.block, time: time_from_unix(row.time) };
    progress.sent = progress.sent.saturating_add(1);
    progress.first_sent = progress.first_sent.or(Some(seen));
    progress.last_sent = Some(seen);
    progress.days.insert(u32::try_from(row.time / DAY).unwrap_or(u32::MAX));
    progress.hours |= 1 << (row.time % DAY / HOUR);
}

fn token(progress: &mut ActivityProgress, row: &ExplorerRow) {
    let Some(contract) = row.contract else { return };
    progress.tokens.insert(contract, row.block);
    if progress.tokens.len() > limits::LISTED_TOKENS
        && let Some(oldest) = progress.tokens.iter().min_by_key(|(_, block)| **block).map(|(contract, _)| *contract)
    {
        progress.tokens.remove(&oldest);
        progress.tokens_left_out = true;
    }
}

fn nft(progress: &mut ActivityProgress, wallet: Address, row: &ExplorerRow) {
    let (Some(contract), Some(id)) = (row.contract, row.token) else { return };
    let multi = row.list == ExplorerList::Multi;
    let received = row.to == Some(wallet);
    // After some units of an ERC-1155 token are sent, others may be left: the contract is asked later.
    if received || !multi {
        progress.nfts.retain(|nft| (nft.contract, nft.id) != (contract, id));
    }
    if received {
        progress.nfts.push(NftRecord { contract, id, multi });
        if progress.nfts.len() > limits::LISTED_NFTS {
            progress.nfts.remove(0);
        }
    }
}

/// `activity` of the node with what the lists add. Incomplete lists cover a part.
pub(super) fn complete(activity: Activity, listed: &ActivityProgress) -> Activity {
    Activity {
        first_transaction: activity.first_transaction.or(listed.first_sent),
        last_transaction: activity.last_transaction.or(listed.last_sent),
        by_day: activity.by_day,
        transactions: activity.transactions,
        transfers: Some(listed.transfers),
        counterparties: Some(others::number(&listed.others, listed.others_left_out)),
        active_days: Some(u32::try_from(listed.days.len()).unwrap_or(u32::MAX)),
        active_hours: Some(listed.hours.count_ones()),
        median_gap_seconds: gaps::median(&listed.gaps),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_domain::{B256, U256};

    const WALLET: Address = Address::repeat_byte(0xaa);

    fn row(list: ExplorerList, block: u64, from: u8, to: u8) -> ExplorerRow {
        ExplorerRow {
            list,
            block,
            time: 1_700_000_000 + block * DAY,
            hash: B256::with_last_byte(block as u8),
            from: Address::repeat_byte(from),
            to: Some(Address::repeat_byte(to)),
            contract: Some(Address::left_padding_from(&block.to_be_bytes())),
            value: U256::ZERO,
            token: None,
            index: None,
        }
    }

    #[test]
    fn only_what_was_sent_tells_when_somebody_acted() {
        let mut progress = ActivityProgress::default();
        for row in [
            row(ExplorerList::Transactions, 1, 1, 0xaa),
            row(ExplorerList::Transactions, 2, 0xaa, 2),
            row(ExplorerList::Transactions, 4, 0xaa, 0xaa),
        ] {
            add(&mut progress, WALLET, &row);
        }
        let activity = complete(Activity::default(), &progress);
        assert_eq!(
            (progress.sent, activity.active_days, activity.active_hours, activity.counterparties),
            (2, Some(2), Some(1), Some(2))
        );
        assert_eq!(activity.first_transaction.map(|seen| seen.block), Some(2));
        assert!(activity.median_gap_seconds.unwrap().abs_diff(2 * DAY) <= 2 * DAY / 32);
    }

    #[test]
    fn the_tokens_seen_last_are_kept() {
        let mut progress = ActivityProgress::default();
        for block in 1..=limits::LISTED_TOKENS as u64 + 5 {
            add(&mut progress, WALLET, &row(ExplorerList::Transfers, block, 1, 0xaa));
        }
        assert!(progress.tokens_left_out && progress.tokens.len() == limits::LISTED_TOKENS);
        assert_eq!(progress.tokens.values().min(), Some(&6));
    }

    #[test]
    fn what_went_away_is_no_longer_there() {
        let mut progress = ActivityProgress::default();
        let nft = |block, from, to, list| ExplorerRow {
            contract: Some(Address::repeat_byte(9)),
            token: Some(U256::from(7)),
            ..row(list, block, from, to)
        };
        add(&mut progress, WALLET, &nft(1, 1, 0xaa, ExplorerList::Collectibles));
        add(&mut progress, WALLET, &nft(2, 0xaa, 1, ExplorerList::Collectibles));
        assert_eq!((progress.nfts.len(), progress.transfers), (0, 2));
        add(&mut progress, WALLET, &nft(3, 1, 0xaa, ExplorerList::Multi));
        add(&mut progress, WALLET, &nft(4, 0xaa, 1, ExplorerList::Multi));
        assert_eq!(progress.nfts.len(), 1);
    }
}
