// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

/// A stub of an aToken or a debt token of v3: it logs what its pool tells it, at an index of one, and keeps no balances.
contract BusyTokenStub {
    event Transfer(address indexed from, address indexed to, uint256 value);
    event Mint(address indexed caller, address indexed onBehalfOf, uint256 value, uint256 balanceIncrease, uint256 index);
    event Burn(address indexed from, address indexed target, uint256 value, uint256 balanceIncrease, uint256 index);

    uint8 public constant decimals = 6;

    function mint(address user, uint256 amount) external {
        emit Transfer(address(0), user, amount);
        emit Mint(user, user, amount, 0, 1e27);
    }

    function burn(address user, uint256 amount) external {
        emit Transfer(user, address(0), amount);
        emit Burn(user, user, amount, 0, 1e27);
    }

    function scaledBalanceOf(address) external pure returns (uint256) {
        return 0;
    }

    function getPreviousIndex(address) external pure returns (uint256) {
        return 0;
    }
}

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
    BusyTokenStub private immutable aToken = new BusyTokenStub();
    BusyTokenStub private immutable debtToken = new BusyTokenStub();

    function live(address user, uint256 rounds) external {
        for (uint256 round = 1; round <= rounds; round++) {
            aToken.mint(user, round * 1e6);
            emit Supply(address(this), user, user, round * 1e6, 0);
            debtToken.mint(user, round * 1e5);
            emit Borrow(address(this), user, user, round * 1e5, 2, 1e25, 0);
            debtToken.burn(user, round * 1e5);
            emit Repay(address(this), user, user, round * 1e5, false);
            aToken.burn(user, round * 1e6);
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

    function getReserveTokensAddresses(address) external view returns (address, address, address) {
        return (address(aToken), address(0), address(debtToken));
    }

    function getReserveData(address) external view returns (uint256[9] memory figures, uint256 supply, uint256 debt, uint40 touched) {
        return (figures, 1e27, 1e27, uint40(block.timestamp));
    }

    function getUserReserveData(address, address) external pure returns (uint256[7] memory nothing, uint40 touched, bool collateral) {}

    function getAssetsPrices(address[] calldata assets) external pure returns (uint256[] memory prices) {
        prices = new uint256[](assets.length);
        for (uint256 i = 0; i < assets.length; i++) {
            prices[i] = 1e8;
        }
    }
}
