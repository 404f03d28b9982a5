//! A dollar token with payment by signature, at the address of USDC on Base.

use alloy::primitives::{Address, address};
use alloy::sol;

sol! {
    #[derive(Debug)]
    interface Dollar {
        event Transfer(address indexed from, address indexed to, uint256 value);
        function balanceOf(address account) external view returns (uint256 balance);
        function mint(address to, uint256 value) external;
        function transfer(address to, uint256 value) external returns (bool done);
        function cancelAuthorization(bytes32 nonce) external;
        function authorizationState(address authorizer, bytes32 nonce) external view returns (bool used);
        function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter,
            uint256 validBefore, bytes32 nonce, bytes signature) external;
    }
}

/// The only asset that clients pay with by default.
pub const USDC: Address = address!("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");
/// Price of a submission.
pub const PRICE: u64 = 100_000;
