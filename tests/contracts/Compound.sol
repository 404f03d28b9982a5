// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

/// A token that anybody may make, and that any market may take.
contract TokenStub {
    event Transfer(address indexed from, address indexed to, uint256 amount);

    uint8 public immutable decimals;
    mapping(address => uint256) public balanceOf;

    constructor(uint8 places) {
        decimals = places;
    }

    function give(address to, uint256 amount) external {
        balanceOf[to] += amount;
        emit Transfer(address(0), to, amount);
    }

    function transfer(address to, uint256 amount) external {
        move(msg.sender, to, amount);
    }

    function move(address from, address to, uint256 amount) public {
        balanceOf[from] -= amount;
        balanceOf[to] += amount;
        emit Transfer(from, to, amount);
    }
}

/// Prices as the real oracle gives them, set by anyone.
contract OracleStub {
    mapping(address => uint256) public getUnderlyingPrice;

    function setPrice(address market, uint256 price) external {
        getUnderlyingPrice[market] = price;
    }
}

/// A stub of the Comptroller: it allows everything, and distributes nothing but events, from when it is told to. Who borrows enters
/// the market and stays in it, and for whom it distributes it keeps an index, as the real one does.
abstract contract ControllerStub {
    address public immutable oracle;
    bool public distributing;
    mapping(address => mapping(address => bool)) public checkMembership;
    mapping(address => CTokenStub[]) entered;

    constructor(address prices) {
        oracle = prices;
    }

    function enter(address borrower) external {
        join(borrower, msg.sender);
    }

    function enterMarkets(address[] calldata cTokens) external {
        for (uint256 i = 0; i < cTokens.length; i++) join(msg.sender, cTokens[i]);
    }

    function join(address account, address market) private {
        if (checkMembership[account][market]) return;
        checkMembership[account][market] = true;
        entered[account].push(CTokenStub(market));
    }

    function getAssetsIn(address account) external view returns (CTokenStub[] memory) {
        return entered[account];
    }

    /// Whether it is listed, the collateral factor, and whether it pays rewards.
    function markets(address) public pure returns (bool, uint256, bool) {
        return (true, 0.75e18, true);
    }

    /// As in the real one, over the markets that the account entered.
    function getAccountLiquidity(address account) external view returns (uint256, uint256, uint256) {
        uint256 collateral;
        uint256 owed;
        for (uint256 i = 0; i < entered[account].length; i++) {
            CTokenStub market = entered[account][i];
            (, uint256 tokens, uint256 debt, uint256 rate) = market.getAccountSnapshot(account);
            uint256 price = OracleStub(oracle).getUnderlyingPrice(address(market));
            uint256 value = 0.75e18 * rate / 1e18 * price / 1e18;
            collateral += value * tokens / 1e18;
            owed += price * debt / 1e18;
        }
        if (collateral > owed) return (0, collateral - owed, 0);
        return (0, 0, owed - collateral);
    }

    /// Anybody may claim for anybody, in markets that these never used.
    function claimComp(address holder, address market) external {
        distributed(market, holder);
    }

    function distribute() external {
        distributing = true;
    }

    function supplierActs(address supplier) external {
        if (distributing) supplied(msg.sender, supplier);
    }

    function borrowerActs(address borrower) external {
        if (distributing) distributed(msg.sender, borrower);
    }

    function supplied(address market, address supplier) internal virtual {}

    function distributed(address market, address borrower) internal virtual;
}

contract ComptrollerStub is ControllerStub {
    event DistributedSupplierComp(address indexed cToken, address indexed supplier, uint256 compDelta, uint256 compSupplyIndex);
    event DistributedBorrowerComp(address indexed cToken, address indexed borrower, uint256 compDelta, uint256 compBorrowIndex);

    mapping(address => mapping(address => uint256)) public compBorrowerIndex;

    constructor(address prices) ControllerStub(prices) {}

    function supplied(address market, address supplier) internal override {
        emit DistributedSupplierComp(market, supplier, 0, 1);
    }

    function distributed(address market, address borrower) internal override {
        compBorrowerIndex[market][borrower] = 1e36;
        emit DistributedBorrowerComp(market, borrower, 0, 1e36);
    }
}

/// Two rewards, and no event of a borrower for whom it has no index yet.
contract BenqiStub is ControllerStub {
    event DistributedBorrowerReward(
        uint8 indexed tokenType, address indexed qiToken, address indexed borrower, uint256 qiDelta, uint256 qiBorrowIndex
    );

    mapping(uint8 => mapping(address => mapping(address => uint256))) public rewardBorrowerIndex;

    constructor(address prices) ControllerStub(prices) {}

    function distributed(address market, address borrower) internal override {
        for (uint8 kind = 0; kind <= 1; kind++) {
            uint256 before = rewardBorrowerIndex[kind][market][borrower];
            rewardBorrowerIndex[kind][market][borrower] = 1e36;
            if (before > 0) emit DistributedBorrowerReward(kind, market, borrower, 0, 1e36);
        }
    }
}

/// Rewards come from another contract.
contract MoonwellStub is ControllerStub {
    DistributorStub public immutable rewardDistributor = new DistributorStub();

    constructor(address prices) ControllerStub(prices) {}

    function distributed(address market, address borrower) internal override {
        rewardDistributor.disburse(market, borrower);
    }
}

contract DistributorStub {
    event DisbursedBorrowerRewards(
        address indexed mToken, address indexed borrower, address indexed emissionToken, uint256 totalAccrued
    );

    function disburse(address market, address borrower) external {
        emit DisbursedBorrowerRewards(market, borrower, address(1), 0);
        emit DisbursedBorrowerRewards(market, borrower, address(2), 0);
    }
}

/// A stub of a cToken, in place of the real one, which no package carries compiled. Balances, debts and their indexes are kept as
/// and where the real one keeps them, and the events are the real ones in the real order. Rates are set by anyone, and anybody may
/// borrow anything and be liquidated at any time.
abstract contract CTokenStub {
    event Mint(address minter, uint256 mintAmount, uint256 mintTokens);
    event Redeem(address redeemer, uint256 redeemAmount, uint256 redeemTokens);
    event Borrow(address borrower, uint256 borrowAmount, uint256 accountBorrows, uint256 totalBorrows);
    event RepayBorrow(address payer, address borrower, uint256 repayAmount, uint256 accountBorrows, uint256 totalBorrows);
    event LiquidateBorrow(address liquidator, address borrower, uint256 repayAmount, address cTokenCollateral, uint256 seizeTokens);
    event Transfer(address indexed from, address indexed to, uint256 amount);

    struct BorrowSnapshot {
        uint256 principal;
        uint256 interestIndex;
    }

    bool public constant isCToken = true;
    // The order of the real storage, places 0 to 16.
    bool notEntered;
    string public name;
    string public symbol;
    address admin;
    address pendingAdmin;
    ControllerStub public comptroller;
    address interestRateModel;
    uint256 initialExchangeRateMantissa;
    uint256 reserveFactorMantissa;
    uint256 accrualBlockNumber;
    uint256 public borrowIndex = 1e18;
    uint256 public totalBorrows;
    uint256 totalReserves;
    uint256 totalSupply;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) transferAllowances;
    mapping(address => BorrowSnapshot) accountBorrows;
    uint256 public exchangeRateStored;

    constructor(string memory label, address controller, uint256 rate) {
        (symbol, comptroller, exchangeRateStored) = (label, ControllerStub(controller), rate);
    }

    function accrue(uint256 rate, uint256 index) external {
        (exchangeRateStored, borrowIndex) = (rate, index);
    }

    function borrowBalanceStored(address account) public view returns (uint256) {
        BorrowSnapshot memory debt = accountBorrows[account];
        return debt.principal == 0 ? 0 : debt.principal * borrowIndex / debt.interestIndex;
    }

    function getAccountSnapshot(address account) external view returns (uint256, uint256, uint256, uint256) {
        return (0, balanceOf[account], borrowBalanceStored(account), exchangeRateStored);
    }

    function transfer(address to, uint256 tokens) external {
        comptroller.supplierActs(msg.sender);
        moved(msg.sender, to, tokens);
    }

    function redeem(uint256 tokens) external {
        comptroller.supplierActs(msg.sender);
        uint256 amount = tokens * exchangeRateStored / 1e18;
        payOut(msg.sender, amount);
        balanceOf[msg.sender] -= tokens;
        emit Transfer(msg.sender, address(this), tokens);
        emit Redeem(msg.sender, amount, tokens);
    }

    function borrow(uint256 amount) external {
        comptroller.enter(msg.sender);
        comptroller.borrowerActs(msg.sender);
        payOut(msg.sender, amount);
        owes(msg.sender, borrowBalanceStored(msg.sender) + amount);
        totalBorrows += amount;
        emit Borrow(msg.sender, amount, accountBorrows[msg.sender].principal, totalBorrows);
    }

    /// Called by the market in which a debt of `borrower` is liquidated.
    function seize(address liquidator, address borrower, uint256 tokens) external {
        comptroller.supplierActs(borrower);
        moved(borrower, liquidator, tokens);
    }

    function minted(uint256 amount) internal {
        comptroller.supplierActs(msg.sender);
        payIn(msg.sender, amount);
        uint256 tokens = amount * 1e18 / exchangeRateStored;
        balanceOf[msg.sender] += tokens;
        emit Mint(msg.sender, amount, tokens);
        emit Transfer(address(this), msg.sender, tokens);
    }

    function repaid(address borrower, uint256 amount) internal {
        comptroller.borrowerActs(borrower);
        uint256 debt = borrowBalanceStored(borrower);
        if (amount == type(uint256).max) amount = debt;
        payIn(msg.sender, amount);
        owes(borrower, debt - amount);
        totalBorrows = totalBorrows > amount ? totalBorrows - amount : 0;
        emit RepayBorrow(msg.sender, borrower, amount, debt - amount, totalBorrows);
    }

    /// One cToken of the collateral is seized for each unit repaid: prices are nobody's concern here.
    function liquidated(address borrower, uint256 amount, CTokenStub collateral) internal {
        repaid(borrower, amount);
        collateral.seize(msg.sender, borrower, amount);
        emit LiquidateBorrow(msg.sender, borrower, amount, address(collateral), amount);
    }

    function owes(address borrower, uint256 debt) internal {
        accountBorrows[borrower] = BorrowSnapshot(debt, borrowIndex);
    }

    function moved(address from, address to, uint256 tokens) internal {
        balanceOf[from] -= tokens;
        balanceOf[to] += tokens;
        emit Transfer(from, to, tokens);
    }

    function payIn(address from, uint256 amount) internal virtual;
    function payOut(address to, uint256 amount) internal virtual;
}

/// A market of a token.
contract CErc20Stub is CTokenStub {
    address public immutable underlying;

    constructor(string memory label, address controller, uint256 rate, address token) CTokenStub(label, controller, rate) {
        underlying = token;
    }

    function mint(uint256 amount) external {
        minted(amount);
    }

    function repayBorrow(uint256 amount) external {
        repaid(msg.sender, amount);
    }

    function repayBorrowBehalf(address borrower, uint256 amount) external {
        repaid(borrower, amount);
    }

    function liquidateBorrow(address borrower, uint256 amount, address collateral) external {
        liquidated(borrower, amount, CTokenStub(collateral));
    }

    function payIn(address from, uint256 amount) internal override {
        TokenStub(underlying).move(from, address(this), amount);
    }

    function payOut(address to, uint256 amount) internal override {
        TokenStub(underlying).transfer(to, amount);
    }
}

/// What the first markets keep before everything else, so that all of it stands one place later.
abstract contract EarlyStub {
    uint256 early = 1;
}

/// The market of the native currency, one of the first: it names no underlying, and moves no token.
contract CEtherStub is EarlyStub, CTokenStub {
    constructor(string memory label, address controller, uint256 rate) CTokenStub(label, controller, rate) {}

    receive() external payable {}

    function mint() external payable {
        minted(msg.value);
    }

    function repayBorrow() external payable {
        repaid(msg.sender, msg.value);
    }

    function repayBorrowBehalf(address borrower) external payable {
        repaid(borrower, msg.value);
    }

    function liquidateBorrow(address borrower, address collateral) external payable {
        liquidated(borrower, msg.value, CTokenStub(collateral));
    }

    function payIn(address, uint256) internal override {}

    function payOut(address to, uint256 amount) internal override {
        (bool done,) = to.call{value: amount}("");
        require(done, "not paid");
    }
}

/// Does several things in one transaction.
contract BundleStub {
    function run(address[] calldata targets, bytes[] calldata calls) external {
        for (uint256 i = 0; i < targets.length; i++) {
            (bool done,) = targets[i].call(calls[i]);
            require(done, "a part failed");
        }
    }
}
