//! The answers of the made-up markets' contracts: its helpers and its reserves. No wallet has a position.

use alloy::{
    primitives::{Address, Bytes, U256},
    sol,
    sol_types::{SolCall, SolValue},
};

use super::market::{ASSETS, asset, debt_token, of_pool, pool_of, token};

sol! {
    struct TokenData { string symbol; address tokenAddress; }
    struct Call3 { address target; bool allowFailure; bytes callData; }
    struct Returned { bool success; bytes returnData; }
    function aggregate3(Call3[] calls) external payable returns (Returned[] returned);
    function getEthBalance(address account) external view returns (uint256 balance);
    function ADDRESSES_PROVIDER() external view returns (address provider);
    function getPoolDataProvider() external view returns (address provider);
    function getPriceOracle() external view returns (address oracle);
    function getAllReservesTokens() external view returns (TokenData[] tokens);
    function BASE_CURRENCY() external view returns (address asset);
    function BASE_CURRENCY_UNIT() external view returns (uint256 unit);
    function decimals() external view returns (uint8 places);
    function getReserveTokensAddresses(address asset) external view returns (address aToken, address stableDebt,
        address variableDebt);
    function getReserveData(address asset) external view returns (uint256 first);
}

const HELPER: u8 = 0xd0;

/// Returns the answer of `target` to a call, or `None` if the call reverts.
pub(super) fn answer(target: Address, data: &[u8]) -> Option<Bytes> {
    let selector: [u8; 4] = data.get(..4)?.try_into().ok()?;
    let answer = match selector {
        aggregate3Call::SELECTOR => {
            let asked = aggregate3Call::abi_decode(data).ok()?;
            let answers = asked.calls.iter().map(|call| {
                let returned = answer(call.target, &call.callData);
                Returned { success: returned.is_some(), returnData: returned.unwrap_or_default() }
            });
            aggregate3Call::abi_encode_returns(&answers.collect())
        }
        ADDRESSES_PROVIDERCall::SELECTOR | getPoolDataProviderCall::SELECTOR | getPriceOracleCall::SELECTOR => {
            of_pool(HELPER, pool_of(target)).abi_encode()
        }
        getAllReservesTokensCall::SELECTOR => {
            let token = |index| TokenData { symbol: format!("T{index}"), tokenAddress: asset(index) };
            getAllReservesTokensCall::abi_encode_returns(&(0..ASSETS).map(token).collect())
        }
        BASE_CURRENCYCall::SELECTOR => Address::ZERO.abi_encode(),
        BASE_CURRENCY_UNITCall::SELECTOR => U256::from(100_000_000).abi_encode(),
        decimalsCall::SELECTOR => U256::from(18).abi_encode(),
        getReserveTokensAddressesCall::SELECTOR => {
            let of = getReserveTokensAddressesCall::abi_decode(data).ok()?.asset;
            let index = (0..ASSETS).find(|index| asset(*index) == of)?;
            (token(pool_of(target), index), Address::ZERO, debt_token(pool_of(target), index)).abi_encode_params()
        }
        getReserveDataCall::SELECTOR => {
            let ray = U256::from(10).pow(U256::from(27));
            let mut words = vec![U256::ZERO; 9];
            words.extend([ray, ray, U256::from(1)]);
            words.iter().flat_map(U256::to_be_bytes::<32>).collect()
        }
        getEthBalanceCall::SELECTOR => U256::ZERO.abi_encode(),
        _ => return None,
    };
    Some(answer.into())
}
