// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

// Stubs of Euler v2, in place of the real contracts, which no package carries compiled. Logs, views and the slots of
// accounts are the real ones, in the real order. Anybody sets prices and the interest, tokens move without an
// allowance, no account is checked after a call, and a vault is no proxy.

uint256 constant RAY = 1e27;
// Debts are kept with this many bits after the point.
uint256 constant DEBT_SHIFT = 31;
// What a vault owns from the beginning, so that no one chooses the price of a share.
uint256 constant VIRTUAL = 1e6;

/// A token that anybody may mint and move.
contract EulerToken {
    event Transfer(address indexed from, address indexed to, uint256 value);

    uint8 public immutable decimals;
    mapping(address => uint256) public balanceOf;

    constructor(uint8 places) {
        decimals = places;
    }

    function mint(address to, uint256 amount) external {
        balanceOf[to] += amount;
        emit Transfer(address(0), to, amount);
    }

    function move(address from, address to, uint256 amount) external {
        balanceOf[from] -= amount;
        balanceOf[to] += amount;
        emit Transfer(from, to, amount);
    }
}

/// The connector: who owns an account, who may act for it, and for which account a vault is called.
contract EulerConnector {
    event OwnerRegistered(bytes19 indexed addressPrefix, address indexed owner);
    event OperatorStatus(bytes19 indexed addressPrefix, address indexed operator, uint256 accountOperatorAuthorized);
    event CollateralStatus(address indexed account, address indexed collateral, bool enabled);
    event ControllerStatus(address indexed account, address indexed controller, bool enabled);
    event CallWithContext(
        address indexed caller,
        bytes19 indexed onBehalfOfAddressPrefix,
        address onBehalfOfAccount,
        address indexed targetContract,
        bytes4 selector
    );

    struct BatchItem {
        address targetContract;
        address onBehalfOfAccount;
        uint256 value;
        bytes data;
    }

    mapping(bytes19 => address) owners;
    mapping(address => mapping(address => bool)) operators;
    mapping(address => address[]) collaterals;
    mapping(address => address[]) controllers;
    address onBehalf;

    function getAccountOwner(address account) external view returns (address) {
        return owners[prefix(account)];
    }

    function getCollaterals(address account) external view returns (address[] memory) {
        return collaterals[account];
    }

    function getControllers(address account) external view returns (address[] memory) {
        return controllers[account];
    }

    function getCurrentOnBehalfOfAccount(address controller) external view returns (address, bool) {
        return (onBehalf, controller != address(0) && has(controllers[onBehalf], controller));
    }

    function setAccountOperator(address account, address operator, bool authorized) external {
        authenticate(account, false);
        operators[account][operator] = authorized;
        emit OperatorStatus(prefix(account), operator, authorized ? 1 << (uint8(uint160(account))) : 0);
    }

    function enableCollateral(address account, address vault) external {
        authenticate(account, true);
        if (!has(collaterals[account], vault)) {
            collaterals[account].push(vault);
            emit CollateralStatus(account, vault, true);
        }
    }

    function disableCollateral(address account, address vault) external {
        authenticate(account, true);
        drop(collaterals[account], vault);
        emit CollateralStatus(account, vault, false);
    }

    function enableController(address account, address vault) external {
        authenticate(account, true);
        require(controllers[account].length == 0 || has(controllers[account], vault), "another controller");
        if (!has(controllers[account], vault)) {
            controllers[account].push(vault);
            emit ControllerStatus(account, vault, true);
        }
    }

    /// Called by the controller.
    function disableController(address account) external {
        drop(controllers[account], msg.sender);
        emit ControllerStatus(account, msg.sender, false);
    }

    function call(address target, address account, uint256 value, bytes calldata data)
        external
        payable
        returns (bytes memory)
    {
        return forward(target, account, value, data);
    }

    function batch(BatchItem[] calldata items) external payable {
        for (uint256 i = 0; i < items.length; i++) {
            forward(items[i].targetContract, items[i].onBehalfOfAccount, items[i].value, items[i].data);
        }
    }

    /// Called by the controller of an account.
    function controlCollateral(address collateral, address account, uint256 value, bytes calldata data)
        external
        payable
        returns (bytes memory)
    {
        require(has(controllers[account], msg.sender) && has(collaterals[account], collateral), "not authorized");
        return withContext(collateral, account, value, data);
    }

    function forward(address target, address account, uint256 value, bytes calldata data)
        internal
        returns (bytes memory)
    {
        if (target == address(this)) {
            (bool done, bytes memory result) = address(this).delegatecall(data);
            return returned(done, result);
        }
        // A vault that was called directly calls itself for its caller.
        if (target != msg.sender) authenticate(account, true);
        return withContext(target, account, value, data);
    }

    function withContext(address target, address account, uint256 value, bytes calldata data)
        internal
        returns (bytes memory)
    {
        address before = onBehalf;
        onBehalf = account;
        emit CallWithContext(msg.sender, prefix(account), account, target, bytes4(data));
        (bool done, bytes memory result) = target.call{value: value}(data);
        onBehalf = before;
        return returned(done, result);
    }

    function returned(bool done, bytes memory result) internal pure returns (bytes memory) {
        if (!done) {
            assembly {
                revert(add(result, 32), mload(result))
            }
        }
        return result;
    }

    /// The first call of an owner registers it.
    function authenticate(address account, bool operator) internal {
        bytes19 owned = prefix(account);
        if (prefix(msg.sender) == owned && owners[owned] == address(0)) {
            owners[owned] = msg.sender;
            emit OwnerRegistered(owned, msg.sender);
        }
        require(owners[owned] == msg.sender || (operator && operators[account][msg.sender]), "not authorized");
    }

    function prefix(address account) internal pure returns (bytes19) {
        return bytes19(uint152(uint160(account) >> 8));
    }

    function has(address[] storage list, address item) internal view returns (bool) {
        for (uint256 i = 0; i < list.length; i++) {
            if (list[i] == item) return true;
        }
        return false;
    }

    function drop(address[] storage list, address item) internal {
        for (uint256 i = 0; i < list.length; i++) {
            if (list[i] == item) {
                list[i] = list[list.length - 1];
                list.pop();
                return;
            }
        }
    }
}

/// Logs the changes of the debts of a vault.
contract EulerDebtToken {
    event Transfer(address indexed from, address indexed to, uint256 value);

    function emitTransfer(address from, address to, uint256 value) external {
        emit Transfer(from, to, value);
    }
}

/// Dollars with 18 places of a whole token.
contract EulerOracle {
    mapping(address => uint256) public priceOf;

    function setPrice(address token, uint256 price) external {
        priceOf[token] = price;
    }

    function getQuote(uint256 amount, address token, address) external view returns (uint256) {
        return amount * priceOf[token] / 10 ** EulerToken(token).decimals();
    }
}

contract EulerVault {
    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);
    event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares);
    event Withdraw(
        address indexed sender, address indexed receiver, address indexed owner, uint256 assets, uint256 shares
    );
    event Borrow(address indexed account, uint256 assets);
    event Repay(address indexed account, uint256 assets);
    event InterestAccrued(address indexed account, uint256 assets);
    event Liquidate(
        address indexed liquidator,
        address indexed violator,
        address collateral,
        uint256 repayAssets,
        uint256 yieldBalance
    );
    event PullDebt(address indexed from, address indexed to, uint256 assets);
    event DebtSocialized(address indexed account, uint256 assets);
    event BalanceForwarderStatus(address indexed account, bool status);

    struct User {
        /// A flag, 143 bits of debt and 112 bits of shares.
        uint256 data;
        uint256 accumulator;
        mapping(address => uint256) allowance;
    }

    // Slots 0 to 13 are those of the real vault.
    bool initialized = true;
    uint256 snapshot;
    uint48 lastUpdate;
    uint112 cash_;
    uint112 totalShares;
    uint144 totalOwed;
    uint112 accumulatedFees;
    uint256 accumulator = RAY;
    address interestRateModel;
    string public name;
    string public symbol;
    address creator;
    address governor;
    address feeReceiver;
    address hookTarget;
    mapping(address => User) users;
    mapping(address => uint16) ltv;

    EulerConnector immutable evc;
    address public immutable asset;
    EulerOracle public immutable oracle;
    EulerDebtToken public immutable dToken;

    constructor(EulerConnector connector, address token, EulerOracle prices) {
        (evc, asset, oracle, dToken) = (connector, token, prices, new EulerDebtToken());
    }

    modifier throughConnector() {
        if (msg.sender == address(evc)) {
            _;
        } else {
            bytes memory result = evc.call(address(this), msg.sender, 0, msg.data);
            assembly {
                return(add(result, 32), mload(result))
            }
        }
    }

    function EVC() external view returns (address) {
        return address(evc);
    }

    function unitOfAccount() external pure returns (address) {
        return address(840);
    }

    function decimals() external view returns (uint8) {
        return EulerToken(asset).decimals();
    }

    function balanceOf(address account) public view returns (uint256) {
        return uint112(users[account].data);
    }

    function debtOf(address account) public view returns (uint256) {
        return up(current(account));
    }

    function LTVLiquidation(address collateral) external view returns (uint16) {
        return ltv[collateral];
    }

    function LTVBorrow(address collateral) external view returns (uint16) {
        return ltv[collateral];
    }

    function convertToAssets(uint256 shares) public view returns (uint256) {
        return shares * (total() + VIRTUAL) / (totalShares + VIRTUAL);
    }

    function accountLiquidity(address account, bool) public view returns (uint256 collateralValue, uint256 liability) {
        address[] memory list = evc.getCollaterals(account);
        for (uint256 i = 0; i < list.length; i++) {
            EulerVault vault = EulerVault(list[i]);
            uint256 assets = vault.convertToAssets(vault.balanceOf(account));
            collateralValue += oracle.getQuote(assets, vault.asset(), address(840)) * ltv[list[i]] / 1e4;
        }
        liability = oracle.getQuote(debtOf(account), asset, address(840));
    }

    function setLTV(address collateral, uint16 value) external {
        ltv[collateral] = value;
    }

    /// Raises the debts to `percent` of what they are.
    function accrue(uint256 percent) external {
        accumulator = accumulator * percent / 100;
        totalOwed = uint144(totalOwed * percent / 100);
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        users[msg.sender].allowance[spender] = amount;
        emit Approval(msg.sender, spender, amount);
        return true;
    }

    /// Lets a contract of rewards hear of each change of the shares: the flag of an account.
    function enableBalanceForwarder() external {
        address account = directCaller();
        users[account].data |= 1 << 255;
        emit BalanceForwarderStatus(account, true);
    }

    function disableBalanceForwarder() external {
        address account = directCaller();
        users[account].data &= (1 << 255) - 1;
        emit BalanceForwarderStatus(account, false);
    }

    function transfer(address to, uint256 amount) external throughConnector returns (bool) {
        return moved(caller(), to, amount);
    }

    function transferFrom(address from, address to, uint256 amount) external throughConnector returns (bool) {
        spend(from, amount);
        return moved(from, to, amount);
    }

    function deposit(uint256 assets, address receiver) external throughConnector returns (uint256 shares) {
        shares = assets * (totalShares + VIRTUAL) / (total() + VIRTUAL);
        pull(caller(), assets);
        mint(receiver, caller(), shares, assets);
    }

    function withdraw(uint256 assets, address receiver, address owner)
        external
        throughConnector
        returns (uint256 shares)
    {
        shares = sharesUp(assets);
        spend(owner, shares);
        burn(owner, caller(), receiver, shares, assets);
        push(receiver, assets);
    }

    function redeem(uint256 shares, address receiver, address owner)
        external
        throughConnector
        returns (uint256 assets)
    {
        if (shares == type(uint256).max) shares = balanceOf(owner);
        assets = convertToAssets(shares);
        spend(owner, shares);
        burn(owner, caller(), receiver, shares, assets);
        push(receiver, assets);
    }

    function borrow(uint256 assets, address receiver) external throughConnector returns (uint256) {
        address account = controlled();
        (uint256 before, uint256 owed) = (stored(account), current(account) + (assets << DEBT_SHIFT));
        setOwed(account, owed);
        totalOwed += uint144(assets << DEBT_SHIFT);
        logBorrow(account, assets, up(before), up(owed));
        push(receiver, assets);
        return assets;
    }

    function repay(uint256 assets, address receiver) external throughConnector returns (uint256) {
        if (assets == type(uint256).max) assets = debtOf(receiver);
        if (assets == 0) return 0;
        pull(caller(), assets);
        decrease(receiver, assets);
        return assets;
    }

    function repayWithShares(uint256 assets, address receiver) external throughConnector returns (uint256, uint256) {
        if (assets > debtOf(receiver)) assets = debtOf(receiver);
        uint256 shares = sharesUp(assets);
        burn(caller(), caller(), caller(), shares, assets);
        decrease(receiver, assets);
        return (shares, assets);
    }

    function pullDebt(uint256 assets, address from) external throughConnector {
        address account = controlled();
        if (assets == type(uint256).max) assets = debtOf(from);
        if (assets == 0) return;
        shift(from, account, assets);
        emit PullDebt(from, account, assets);
    }

    function disableController() external {
        // As in the real one, not through the connector.
        (address account,) = evc.getCurrentOnBehalfOfAccount(address(0));
        account = msg.sender == address(evc) ? account : msg.sender;
        require(stored(account) == 0, "a debt");
        evc.disableController(account);
    }

    /// A tenth more than what is repaid, as long as there is collateral. What is left without any is written off. A
    /// healthy account stays as it is, and there is a log all the same.
    function liquidate(address violator, address collateral, uint256 assets, uint256) external throughConnector {
        address account = controlled();
        uint256 owed = debtOf(violator);
        (uint256 repaid, uint256 seized) = seizable(violator, collateral, assets > owed ? owed : assets);
        if (repaid > 0) shift(violator, account, repaid);
        if (seized > 0) {
            bytes memory data = abi.encodeCall(EulerVault.transfer, (account, seized));
            evc.controlCollateral(collateral, violator, 0, data);
        }
        if (seized > 0 && debtOf(violator) > 0 && isBare(violator)) {
            uint256 rest = debtOf(violator);
            decrease(violator, rest);
            emit Withdraw(account, address(0), address(0), rest, 0);
            emit DebtSocialized(violator, rest);
        }
        emit Liquidate(account, violator, collateral, repaid, seized);
    }

    function seizable(address violator, address collateral, uint256 assets) internal view returns (uint256, uint256) {
        (uint256 value, uint256 liability) = accountLiquidity(violator, true);
        if (value > liability || liability == 0) return (0, 0);
        EulerVault vault = EulerVault(collateral);
        uint256 balance = vault.balanceOf(violator);
        uint256 worth = oracle.getQuote(vault.convertToAssets(balance), vault.asset(), address(840));
        if (worth == 0) return (0, balance);
        uint256 wanted = oracle.getQuote(assets, asset, address(840)) * 110 / 100;
        if (wanted > worth) return (assets * worth / wanted, balance);
        return (assets, balance * wanted / worth);
    }

    function isBare(address account) internal view returns (bool) {
        address[] memory list = evc.getCollaterals(account);
        for (uint256 i = 0; i < list.length; i++) {
            if (EulerVault(list[i]).balanceOf(account) > 0) return false;
        }
        return true;
    }

    function caller() internal view returns (address account) {
        (account,) = evc.getCurrentOnBehalfOfAccount(address(0));
    }

    function directCaller() internal view returns (address) {
        return msg.sender == address(evc) ? caller() : msg.sender;
    }

    function controlled() internal view returns (address account) {
        bool enabled;
        (account, enabled) = evc.getCurrentOnBehalfOfAccount(address(this));
        require(enabled, "not the controller");
    }

    function total() internal view returns (uint256) {
        return cash_ + up(totalOwed);
    }

    function sharesUp(uint256 assets) internal view returns (uint256) {
        return (assets * (totalShares + VIRTUAL) + total() + VIRTUAL - 1) / (total() + VIRTUAL);
    }

    function up(uint256 owed) internal pure returns (uint256) {
        return (owed + (1 << DEBT_SHIFT) - 1) >> DEBT_SHIFT;
    }

    function stored(address account) internal view returns (uint256) {
        return uint144(users[account].data >> 112) & (2 ** 143 - 1);
    }

    /// The debt with its interest.
    function current(address account) internal view returns (uint256) {
        uint256 owed = stored(account);
        return owed == 0 ? 0 : owed * accumulator / users[account].accumulator;
    }

    function setOwed(address account, uint256 owed) internal {
        User storage user = users[account];
        user.data = (user.data >> 255 << 255) | (owed << 112) | uint112(user.data);
        user.accumulator = accumulator;
    }

    function decrease(address account, uint256 assets) internal {
        (uint256 before, uint256 owed) = (stored(account), debtOf(account));
        require(assets <= owed, "more than the debt");
        uint256 left = (owed - assets) << DEBT_SHIFT;
        totalOwed = uint144(totalOwed > current(account) ? totalOwed - current(account) + left : left);
        setOwed(account, left);
        logRepay(account, assets, up(before), owed - assets);
    }

    function shift(address from, address to, uint256 assets) internal {
        (uint256 amount, uint256 owed) = (assets << DEBT_SHIFT, current(from));
        uint256 gap = amount > owed ? amount - owed : owed - amount;
        if (gap < 1 << DEBT_SHIFT) amount = owed;
        (uint256 before, uint256 left) = (up(stored(from)), owed - amount);
        setOwed(from, left);
        (uint256 had, uint256 got) = (up(stored(to)), current(to) + amount);
        setOwed(to, got);
        logRepay(from, before > assets + up(left) ? before - up(left) : assets, before, up(left));
        logBorrow(to, assets + had > up(got) ? up(got) - had : assets, had, up(got));
    }

    function logBorrow(address account, uint256 assets, uint256 before, uint256 owed) internal {
        uint256 interest = owed - before - assets;
        if (interest > 0) emit InterestAccrued(account, interest);
        if (assets > 0) emit Borrow(account, assets);
        logDebt(account, before, owed);
    }

    function logRepay(address account, uint256 assets, uint256 before, uint256 owed) internal {
        uint256 interest = owed + assets - before;
        if (interest > 0) emit InterestAccrued(account, interest);
        if (assets > 0) emit Repay(account, assets);
        logDebt(account, before, owed);
    }

    function logDebt(address account, uint256 before, uint256 owed) internal {
        if (owed > before) dToken.emitTransfer(address(0), account, owed - before);
        else if (before > owed) dToken.emitTransfer(account, address(0), before - owed);
    }

    function moved(address from, address to, uint256 amount) internal returns (bool) {
        users[from].data -= checked(from, amount);
        users[to].data += amount;
        emit Transfer(from, to, amount);
        return true;
    }

    function mint(address account, address sender, uint256 shares, uint256 assets) internal {
        users[account].data += shares;
        totalShares += uint112(shares);
        emit Transfer(address(0), account, shares);
        emit Deposit(sender, account, assets, shares);
    }

    function burn(address account, address sender, address receiver, uint256 shares, uint256 assets) internal {
        users[account].data -= checked(account, shares);
        totalShares -= uint112(shares);
        emit Transfer(account, address(0), shares);
        emit Withdraw(sender, receiver, account, assets, shares);
    }

    function checked(address account, uint256 shares) internal view returns (uint256) {
        require(shares <= balanceOf(account), "more than there is");
        return shares;
    }

    function spend(address owner, uint256 shares) internal {
        if (owner != caller()) users[owner].allowance[caller()] -= shares;
    }

    function pull(address from, uint256 assets) internal {
        EulerToken(asset).move(from, address(this), assets);
        cash_ += uint112(assets);
    }

    function push(address to, uint256 assets) internal {
        cash_ -= uint112(assets);
        EulerToken(asset).move(address(this), to, assets);
    }
}

/// The list of all vaults.
contract EulerFactory {
    event ProxyCreated(address indexed proxy, bool upgradeable, address implementation, bytes trailingData);

    EulerConnector public immutable evc;
    address[] list;

    constructor(EulerConnector connector) {
        evc = connector;
    }

    function createVault(address asset, EulerOracle oracle) external returns (address vault) {
        vault = address(new EulerVault(evc, asset, oracle));
        list.push(vault);
        emit ProxyCreated(vault, true, address(this), abi.encodePacked(asset, oracle, address(840)));
    }

    function getProxyListLength() external view returns (uint256) {
        return list.length;
    }

    function getProxyListSlice(uint256 start, uint256 end) external view returns (address[] memory part) {
        if (end == type(uint256).max) end = list.length;
        require(start <= end && end <= list.length, "no such part");
        part = new address[](end - start);
        for (uint256 i = 0; i < part.length; i++) part[i] = list[start + i];
    }

    function isProxy(address vault) external view returns (bool) {
        for (uint256 i = 0; i < list.length; i++) {
            if (list[i] == vault) return true;
        }
        return false;
    }
}
