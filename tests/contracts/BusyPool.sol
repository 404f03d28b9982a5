// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

/// A stub of an Aave v3 pool and of all that belongs to one: it emits the documented events, as many as it is told to, and keeps
/// no accounts. Whoever it names supplies, borrows, repays and withdraws the same amount in each round, so that nothing is left.
contract BusyPoolStub {
    event Supply(address indexed reserve, address user, address indexed onBehalfOf, uint256 amount, uint16 indexed referralCode);
    event Withdraw(address indexed reserve, address indexed user, address indexed to, uint256 amount);
    event Borrow(
        address indexed reserve, address user, address indexed onBehalfOf, uint256 amount, uint8 interestRateMode, uint256 borrowRate,
        uint16 indexed referralCode
    );
    event Repay(address indexed reserve, address indexed user, address indexed repayer, uint256 amount, bool useATokens);

    struct TokenData {
        string symbol;
        address tokenAddress;
    }

    uint8 public constant decimals = 6;
    address public constant BASE_CURRENCY = address(0);
    uint256 public constant BASE_CURRENCY_UNIT = 1e8;

    function live(address user, uint256 rounds) external {
        for (uint256 round = 1; round <= rounds; round++) {
            emit Supply(address(this), user, user, round * 1e6, 0);
            emit Borrow(address(this), user, user, round * 1e5, 2, 1e25, 0);
            emit Repay(address(this), user, user, round * 1e5, false);
            emit Withdraw(address(this), user, user, round * 1e6);
        }
    }

    function ADDRESSES_PROVIDER() external view returns (address) {
        return address(this);
    }

    function getPool() external view returns (address) {
        return address(this);
    }

    function getPoolDataProvider() external view returns (address) {
        return address(this);
    }

    function getPriceOracle() external view returns (address) {
        return address(this);
    }

    function getAllReservesTokens() external view returns (TokenData[] memory tokens) {
        tokens = new TokenData[](1);
        tokens[0] = TokenData("USD", address(this));
    }

    /// One token for all: it was never minted and never moved.
    function getReserveTokensAddresses(address) external view returns (address, address, address) {
        return (address(this), address(0), address(this));
    }

    function getReserveData(address) external view returns (uint256[9] memory figures, uint256 supply, uint256 debt, uint40 touched) {
        return (figures, 1e27, 1e27, uint40(block.timestamp));
    }

    function getUserReserveData(address, address) external pure returns (uint256[7] memory nothing, uint40 touched, bool collateral) {}

    function getPreviousIndex(address) external pure returns (uint256) {
        return 0;
    }

    function getAssetsPrices(address[] calldata assets) external pure returns (uint256[] memory prices) {
        prices = new uint256[](assets.length);
        for (uint256 i = 0; i < assets.length; i++) {
            prices[i] = 1e8;
        }
    }
}
