// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

/// A token of which nobody has any.
contract TokenStub {
    uint8 public immutable decimals;
    mapping(address => uint256) public balanceOf;

    constructor(uint8 places) {
        decimals = places;
    }
}

/// Several calls in one transaction, from one account.
contract Together {
    function run(address target, bytes[] calldata calls) external {
        for (uint256 i = 0; i < calls.length; i++) {
            (bool done,) = target.call(calls[i]);
            require(done, "a call failed");
        }
    }
}

/// A stub of a Comet market, in place of the real one, which no package carries compiled. Balances are signed principals times
/// indexes, rounded as in the real one, and the events are the real ones in the real order. Tokens are numbers, indexes and
/// prices are set by anyone, and anybody may borrow anything and be absorbed at any time.
contract CometStub {
    event Supply(address indexed from, address indexed dst, uint256 amount);
    event Withdraw(address indexed src, address indexed to, uint256 amount);
    event Transfer(address indexed from, address indexed to, uint256 amount);
    event SupplyCollateral(address indexed from, address indexed dst, address indexed asset, uint256 amount);
    event WithdrawCollateral(address indexed src, address indexed to, address indexed asset, uint256 amount);
    event TransferCollateral(address indexed from, address indexed to, address indexed asset, uint256 amount);
    event AbsorbDebt(address indexed absorber, address indexed borrower, uint256 basePaidOut, uint256 usdValue);
    event AbsorbCollateral(
        address indexed absorber, address indexed borrower, address indexed asset, uint256 collateralAbsorbed, uint256 usdValue
    );

    struct AssetInfo {
        uint8 offset;
        address asset;
        address priceFeed;
        uint64 scale;
        uint64 borrowCollateralFactor;
        uint64 liquidateCollateralFactor;
        uint64 liquidationFactor;
        uint128 supplyCap;
    }

    struct TotalsBasic {
        uint64 baseSupplyIndex;
        uint64 baseBorrowIndex;
        uint64 trackingSupplyIndex;
        uint64 trackingBorrowIndex;
        uint104 totalSupplyBase;
        uint104 totalBorrowBase;
        uint40 lastAccrualTime;
        uint8 pauseFlags;
    }

    struct UserCollateral {
        uint128 balance;
        uint128 _reserved;
    }

    struct UserBasic {
        int104 principal;
        uint64 baseTrackingIndex;
        uint64 baseTrackingAccrued;
        uint16 assetsIn;
        uint8 _reserved;
    }

    uint256 constant INDEX_SCALE = 1e15;

    address public immutable baseToken;
    address public immutable baseTokenPriceFeed;
    uint256 public immutable baseScale;
    address[] assets;
    uint256 supplyIndex = INDEX_SCALE;
    uint256 borrowIndex = INDEX_SCALE;
    bool paysRewards = true;
    mapping(address => int256) principal;
    mapping(address => uint64) touched;
    mapping(address => mapping(address => UserCollateral)) public userCollateral;
    mapping(address => uint256) public getPrice;

    /// Every asset has 18 decimals and is its own feed.
    constructor(address base, uint256 scale, address[] memory collateral) {
        (baseToken, baseTokenPriceFeed, baseScale, assets) = (base, base, scale, collateral);
    }

    function setPrice(address feed, uint256 price) external {
        getPrice[feed] = price;
    }

    /// Rewards grow with the blocks.
    function payRewards(bool pays) external {
        paysRewards = pays;
    }

    function trackingIndex() internal view returns (uint64) {
        return paysRewards ? uint64(block.number) : 0;
    }

    /// As in the real one, anybody may call it for any account.
    function accrueAccount(address account) external {
        touched[account] = trackingIndex();
    }

    function accrue(uint256 supply_, uint256 borrow_) external {
        (supplyIndex, borrowIndex) = (supply_, borrow_);
    }

    function totalsBasic() external view returns (TotalsBasic memory) {
        return TotalsBasic(uint64(supplyIndex), uint64(borrowIndex), trackingIndex(), trackingIndex(), 0, 0, uint40(block.timestamp), 0);
    }

    function userBasic(address account) external view returns (UserBasic memory) {
        return UserBasic(int104(principal[account]), touched[account], 0, 0, 0);
    }

    function numAssets() external view returns (uint8) {
        return uint8(assets.length);
    }

    function getAssetInfo(uint8 i) external view returns (AssetInfo memory) {
        return AssetInfo(i, assets[i], assets[i], 1e18, 0.8e18, 0.85e18, 0.93e18, 0);
    }

    function balanceOf(address account) public view returns (uint256) {
        int256 balance = presentValue(principal[account]);
        return balance > 0 ? uint256(balance) : 0;
    }

    function borrowBalanceOf(address account) public view returns (uint256) {
        int256 balance = presentValue(principal[account]);
        return balance < 0 ? uint256(-balance) : 0;
    }

    /// As in the real one: the collateral at its factors no longer covers the debt.
    function isLiquidatable(address account) external view returns (bool) {
        int256 owed = presentValue(principal[account]);
        if (owed >= 0) return false;
        int256 liquidity = owed * int256(getPrice[baseToken]) / int256(baseScale);
        for (uint256 i = 0; i < assets.length; i++) {
            uint256 worth = uint256(userCollateral[account][assets[i]].balance) * getPrice[assets[i]] / 1e18;
            liquidity += int256(worth * 0.85e18 / 1e18);
        }
        return liquidity < 0;
    }

    function supplyTo(address dst, address asset, uint256 amount) external {
        if (asset != baseToken) {
            userCollateral[dst][asset].balance += uint128(amount);
            emit SupplyCollateral(msg.sender, dst, asset, amount);
            return;
        }
        if (amount == type(uint256).max) amount = borrowBalanceOf(dst);
        uint256 supplied = moved(dst, int256(amount));
        emit Supply(msg.sender, dst, amount);
        if (supplied > 0) emit Transfer(address(0), dst, presentSupply(supplied));
    }

    function withdrawTo(address to, address asset, uint256 amount) external {
        if (asset != baseToken) {
            userCollateral[msg.sender][asset].balance -= uint128(amount);
            emit WithdrawCollateral(msg.sender, to, asset, amount);
            return;
        }
        if (amount == type(uint256).max) amount = balanceOf(msg.sender);
        uint256 withdrawn = moved(msg.sender, -int256(amount));
        emit Withdraw(msg.sender, to, amount);
        if (withdrawn > 0) emit Transfer(msg.sender, address(0), presentSupply(withdrawn));
    }

    function transferAsset(address dst, address asset, uint256 amount) external {
        require(dst != msg.sender, "to oneself");
        if (asset != baseToken) {
            userCollateral[msg.sender][asset].balance -= uint128(amount);
            userCollateral[dst][asset].balance += uint128(amount);
            emit TransferCollateral(msg.sender, dst, asset, amount);
            return;
        }
        uint256 withdrawn = moved(msg.sender, -int256(amount));
        uint256 supplied = moved(dst, int256(amount));
        if (withdrawn > 0) emit Transfer(msg.sender, address(0), presentSupply(withdrawn));
        if (supplied > 0) emit Transfer(address(0), dst, presentSupply(supplied));
    }

    /// Seizes all collateral of `account` and pays its debt; what is left becomes supply.
    function absorb(address account) external {
        int256 old = presentValue(principal[account]);
        require(old < 0, "owes nothing");
        uint256 seized;
        for (uint256 i = 0; i < assets.length; i++) {
            uint256 amount = userCollateral[account][assets[i]].balance;
            if (amount == 0) continue;
            delete userCollateral[account][assets[i]];
            uint256 value = amount * getPrice[assets[i]] / 1e18;
            seized += value;
            emit AbsorbCollateral(msg.sender, account, assets[i], amount, value);
        }
        int256 balance = old + int256(seized * baseScale / getPrice[baseToken]);
        if (balance < 0) balance = 0;
        principal[account] = principalValue(balance);
        touched[account] = trackingIndex();
        uint256 paid = uint256(balance - old);
        emit AbsorbDebt(msg.sender, account, paid, paid * getPrice[baseToken] / baseScale);
        if (principal[account] > 0) emit Transfer(address(0), account, presentSupply(uint256(principal[account])));
    }

    /// Changes a balance. Returns the principal of supply that appeared or disappeared; the rest was debt.
    function moved(address account, int256 amount) internal returns (uint256) {
        int256 old = principal[account];
        int256 now_ = principalValue(presentValue(old) + amount);
        principal[account] = now_;
        touched[account] = trackingIndex();
        int256 before = old > 0 ? old : int256(0);
        int256 later = now_ > 0 ? now_ : int256(0);
        return uint256(amount > 0 ? (later > before ? later - before : int256(0)) : (before > later ? before - later : int256(0)));
    }

    function presentSupply(uint256 amount) internal view returns (uint256) {
        return amount * supplyIndex / INDEX_SCALE;
    }

    function presentValue(int256 value) internal view returns (int256) {
        if (value >= 0) return int256(presentSupply(uint256(value)));
        return -int256(uint256(-value) * borrowIndex / INDEX_SCALE);
    }

    /// Rounds against the account, as the real one does.
    function principalValue(int256 value) internal view returns (int256) {
        if (value >= 0) return int256(uint256(value) * INDEX_SCALE / supplyIndex);
        return -int256((uint256(-value) * INDEX_SCALE + borrowIndex - 1) / borrowIndex);
    }
}
