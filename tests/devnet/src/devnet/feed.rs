//! The price feed of the devnet: a contract of a few instructions that answers both as the Aave oracle's source
//! (`latestAnswer`) and as a Chainlink aggregator (`latestRoundData`, `decimals`), and whose price anyone may set. The
//! aggregators in the Aave package have neither rounds nor a way to change the price.

use alloy::primitives::{Bytes, I256};
use alloy::sol;
use alloy::sol_types::SolCall;

sol! {
    interface Feed {
        function latestAnswer() external view returns (int256);
        function latestRoundData() external view returns (uint80 round, int256 answer, uint256 startedAt,
            uint256 updatedAt, uint80 answeredInRound);
        function decimals() external view returns (uint8);
        /// Sets the price. `updatedAt` 0 means that every reading is fresh.
        function set(int256 answer, uint256 updatedAt) external;
    }
}

/// Decimals of every answer: dollars times 10^8.
pub const DECIMALS: u32 = 8;

/// Dollars as an answer.
pub fn answer(dollars: f64) -> I256 {
    I256::try_from((dollars * 1e8).round() as i64).unwrap_or(I256::ZERO)
}

pub fn set(dollars: f64, updated_at: u64) -> Bytes {
    Feed::setCall { answer: answer(dollars), updatedAt: alloy::primitives::U256::from(updated_at) }.abi_encode().into()
}

/// Creation code. Slot 0 holds the answer, slot 1 when it was updated.
pub fn creation_code() -> Bytes {
    let mut arms: Vec<([u8; 4], Vec<u8>)> = Vec::new();
    // return(sload(0)): PUSH0 SLOAD PUSH0 MSTORE PUSH1 32 PUSH0 RETURN
    arms.push((Feed::latestAnswerCall::SELECTOR, vec![0x5f, 0x54, 0x5f, 0x52, 0x60, 0x20, 0x5f, 0xf3]));
    // return(8)
    arms.push((Feed::decimalsCall::SELECTOR, vec![0x60, DECIMALS as u8, 0x5f, 0x52, 0x60, 0x20, 0x5f, 0xf3]));
    // sstore(0, calldata[4..36]); sstore(1, calldata[36..68]); stop
    arms.push((Feed::setCall::SELECTOR, vec![0x60, 0x04, 0x35, 0x5f, 0x55, 0x60, 0x24, 0x35, 0x60, 0x01, 0x55, 0x00]));
    // updated := sload(1) + timestamp * iszero(sload(1)); return(1, sload(0), updated, updated, 1)
    let mut round = vec![0x60, 0x01, 0x5f, 0x52, 0x5f, 0x54, 0x60, 0x20, 0x52];
    round.extend([0x60, 0x01, 0x54, 0x80, 0x15, 0x42, 0x02, 0x01, 0x80, 0x60, 0x40, 0x52, 0x60, 0x60, 0x52]);
    round.extend([0x60, 0x01, 0x60, 0x80, 0x52, 0x60, 0xa0, 0x5f, 0xf3]);
    arms.push((Feed::latestRoundDataCall::SELECTOR, round));

    // selector := calldata[0..4]; for each arm: DUP1 PUSH4 selector EQ PUSH1 target JUMPI; then revert(0, 0)
    let head = vec![0x5f, 0x35, 0x60, 0xe0, 0x1c];
    let mut target = head.len() + arms.len() * 10 + 3;
    let (mut dispatch, mut bodies) = (head, Vec::new());
    for (selector, body) in arms {
        dispatch.extend([0x80, 0x63]);
        dispatch.extend(selector);
        dispatch.extend([0x14, 0x60, target as u8, 0x57]);
        bodies.push(0x5b);
        target += 1 + body.len();
        bodies.extend(body);
    }
    dispatch.extend([0x5f, 0x5f, 0xfd]);
    dispatch.extend(bodies);

    // codecopy(0, 9, length); return(0, length)
    let length = dispatch.len() as u8;
    let mut creation = vec![0x60, length, 0x80, 0x60, 0x09, 0x5f, 0x39, 0x5f, 0xf3];
    creation.extend(dispatch);
    creation.into()
}
