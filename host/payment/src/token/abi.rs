//! The contract functions that payments by signature need: ERC-20, ERC-3009 and the EIP-712 separator.

use alloy::sol;

sol! {
    #[derive(Debug)]
    interface Asset {
        function balanceOf(address account) external view returns (uint256 balance);
        function decimals() external view returns (uint8 decimals);
        function DOMAIN_SEPARATOR() external view returns (bytes32 separator);
        function authorizationState(address authorizer, bytes32 nonce) external view returns (bool used);
        function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter,
            uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) external;
        function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter,
            uint256 validBefore, bytes32 nonce, bytes signature) external;
        /// Of a payer that is a contract (ERC-1271).
        function isValidSignature(bytes32 hash, bytes signature) external view returns (bytes4 magic);
        event Transfer(address indexed from, address indexed to, uint256 value);
        event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce);
        event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
    }
}
