// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

// Stubs of Fluid, whose contracts no package has. The logs, the views and the storage that is read are the real ones, as in
// Instadapp/fluid-contracts-public at a9949b48. Tokens are numbers: none is moved. Prices and rates are set by anyone, anybody
// may borrow anything, and a liquidation takes any share of the positions at a tick, or all of them.

contract FluidUnderlyingStub {
    uint8 public immutable decimals;
    mapping(address => uint256) public balanceOf;

    constructor(uint8 places) {
        decimals = places;
    }
}

contract FluidOracleStub {
    uint256 public rate;
    bool public immutable early;

    constructor(bool early_) {
        early = early_;
    }

    function setRate(uint256 rate_) external {
        rate = rate_;
    }

    function getExchangeRate() external view returns (uint256) {
        return rate;
    }

    function getExchangeRateOperate() external view returns (uint256) {
        require(!early);
        return rate;
    }

    /// Oracles of the first vaults do not have it.
    function getExchangeRateLiquidate() external view returns (uint256) {
        require(!early);
        return rate;
    }
}

/// Creates the oracles of vaults that keep only their number.
contract FluidDeployerStub {
    address[] public oracles;

    function deploy() external {
        oracles.push(address(new FluidOracleStub(false)));
    }
}

/// Ratios of ticks, as in the library of the original.
library FluidTicks {
    uint256 internal constant ONE = 1 << 96;

    function factor(uint256 bit) private pure returns (uint256) {
        uint128[15] memory all = [
            0xff9dd7de423466c20352b1246ce4856f,
            0xff3bd55f4488ad277531fa1c725a66d0,
            0xfe78410fd6498b73cb96a6917f853259,
            0xfcf2d9987c9be178ad5bfeffaa123273,
            0xf9ef02c4529258b057769680fc6601b3,
            0xf402d288133a85a17784a411f7aba082,
            0xe895615b5beb6386553757b0352bda90,
            0xd34f17a00ffa00a8309940a15930391a,
            0xae6b7961714e20548d88ea5123f9a0ff,
            0x76d6461f27082d74e0feed3b388c0ca1,
            0x372a3bfe0745d8b6b19d985d9a8b85bb,
            0x0be32cbee48979763cf7247dd7bb539d,
            0x008d4f70c9ff4924dac37612d1e2921e,
            0x00004e009ae5519380809a02ca7aec77,
            0x0000000017c45e641b6e95dee056ff10
        ];
        return all[bit];
    }

    function ratio(int256 tick) internal pure returns (uint256) {
        uint256 steps = tick < 0 ? uint256(-tick) : uint256(tick);
        require(steps <= 32767);
        uint256 product = 1 << 128;
        for (uint256 bit = 0; bit < 15; bit++) {
            if ((steps >> bit) & 1 == 1) product = bit == 0 ? factor(0) : (product * factor(bit)) >> 128;
        }
        if (tick < 0) return product >> 32;
        product = type(uint256).max / product;
        return (product >> 32) + (product % (1 << 32) > 0 ? 1 : 0);
    }

    /// The highest tick whose ratio is at most this one.
    function tickAt(uint256 wanted) internal pure returns (int256) {
        int256 low = -32767;
        int256 high = 32767;
        while (low < high) {
            int256 middle = (low + high + 1) >> 1;
            if (ratio(middle) <= wanted) low = middle;
            else high = middle - 1;
        }
        return low;
    }

    /// 56 bits and an exponent of 8.
    function packed(uint256 number) internal pure returns (uint256) {
        uint256 exponent = 0;
        while (number >> exponent >= 1 << 56) exponent++;
        return ((number >> exponent) << 8) | exponent;
    }

    function unpacked(uint256 word, uint256 at) internal pure returns (uint256) {
        uint256 number = (word >> at) & type(uint64).max;
        return (number >> 8) << (number & 0xff);
    }
}

/// A vault of any type. Its storage begins as that of the original.
contract FluidVaultStub {
    event LogOperate(address user_, uint256 nftId_, int256 colAmt_, int256 debtAmt_, address to_);
    event LogLiquidate(address liquidator_, uint256 colAmt_, uint256 debtAmt_, address to_);
    event LogAbsorb(uint256 colAbsorbedRaw_, uint256 debtAbsorbedRaw_);

    struct Pair {
        address token0;
        address token1;
    }

    uint256 internal vaultVariables;
    uint256 internal vaultVariables2;
    uint256 internal absorbedLiquidity;
    mapping(uint256 => uint256) internal positionData;
    mapping(int256 => uint256) internal tickHasDebt;
    mapping(int256 => uint256) internal tickData;
    mapping(int256 => mapping(uint256 => uint256)) internal tickId;
    mapping(uint256 => uint256) internal branchData;
    uint256 internal rates;

    /// The shares, in billionths, that each liquidation of a tick left of the debt and of the collateral. Instead of debt
    /// factors and branches, which only the vault reads.
    mapping(int256 => mapping(uint256 => uint256)) internal debtLeft;
    mapping(int256 => mapping(uint256 => uint256)) internal collateralLeft;

    FluidVaultFactoryStub public immutable VAULT_FACTORY;
    uint256 public immutable VAULT_ID;
    uint256 private immutable kind;
    address private immutable supply;
    address private immutable borrow;
    address private immutable deployer;

    /// `oracle` is an address for a vault with tokens on both sides, and the number of one of the deployer for others.
    constructor(uint256 id, uint256 kind_, address supply_, address borrow_, address deployer_, uint256 oracle, uint256 threshold) {
        (VAULT_FACTORY, VAULT_ID) = (FluidVaultFactoryStub(msg.sender), id);
        (kind, supply, borrow, deployer) = (kind_, supply_, borrow_, deployer_);
        vaultVariables2 = 10000 | (10000 << 16) | (threshold << 42) | (oracle << (kind_ == 10000 ? 96 : 92));
        rates = 1e12 | (1e12 << 64) | (1e12 << 128) | (1e12 << 192);
    }

    /// As a vault of type 1 answers: thirteen words; others eighteen.
    function constantsView() external view {
        bytes memory answer;
        address factory = address(VAULT_FACTORY);
        if (kind == 10000) {
            answer = abi.encode(address(1), factory, address(2), address(3), supply, borrow, uint8(0), uint8(0), VAULT_ID);
            answer = bytes.concat(answer, abi.encode(bytes32(0), bytes32(0), bytes32(0), bytes32(0)));
        } else {
            bool isPoolSupply = kind == 20000 || kind == 40000;
            bool isPoolBorrow = kind == 30000 || kind == 40000;
            Pair memory supplied = Pair(isPoolSupply ? address(8) : supply, isPoolSupply ? address(9) : address(0));
            Pair memory borrowed = Pair(isPoolBorrow ? address(8) : borrow, isPoolBorrow ? address(9) : address(0));
            answer = abi.encode(address(1), factory, address(2), address(3), address(4), deployer, supply, borrow);
            answer = bytes.concat(answer, abi.encode(supplied, borrowed, VAULT_ID, kind));
            answer = bytes.concat(answer, abi.encode(bytes32(0), bytes32(0), bytes32(0), bytes32(0)));
        }
        assembly {
            return(add(answer, 32), mload(answer))
        }
    }

    function TYPE() external view returns (uint256) {
        // The first vaults do not have it.
        require(kind != 10000);
        return kind;
    }

    function readFromStorage(bytes32 slot) external view returns (uint256 word) {
        assembly {
            word := sload(slot)
        }
    }

    function setPrices(uint256 supplyPrice, uint256 borrowPrice) external {
        rates = 1e12 | (1e12 << 64) | (supplyPrice << 128) | (borrowPrice << 192);
    }

    function updateExchangePrices(uint256) public view returns (uint256, uint256, uint256, uint256) {
        return (1e12, 1e12, (rates >> 128) & type(uint64).max, rates >> 192);
    }

    function operate(uint256 id, int256 newCol, int256 newDebt, address to) external returns (uint256) {
        require(newCol != 0 || newDebt != 0);
        uint256 collateral;
        uint256 debt;
        if (id == 0) {
            id = VAULT_FACTORY.mint(VAULT_ID, msg.sender);
        } else {
            // Anybody may repay and deposit for a position.
            if (newCol < 0 || newDebt > 0) require(VAULT_FACTORY.ownerOf(id) == msg.sender);
            require(positionData[id] != 0);
            (collateral, debt,) = rawPosition(id);
        }
        (,, uint256 supplyPrice, uint256 borrowPrice) = updateExchangePrices(0);
        if (newCol > 0) collateral += uint256(newCol) * 1e12 / supplyPrice;
        if (newCol < 0) {
            if (newCol == type(int256).min) {
                newCol = -int256(collateral * supplyPrice / 1e12) + 1;
                collateral = 0;
            } else {
                collateral -= uint256(-newCol) * 1e12 / supplyPrice + 1;
            }
        }
        if (newDebt > 0) debt += uint256(newDebt) * 1e12 / borrowPrice + 1;
        if (newDebt < 0) {
            if (newDebt == type(int256).min) {
                newDebt = -int256(debt * borrowPrice / 1e12) - 1;
                debt = 0;
            } else {
                debt -= uint256(-newDebt) * 1e12 / borrowPrice - 1;
            }
        }
        keep(id, collateral, debt);
        emit LogOperate(msg.sender, id, newCol, newDebt, to == address(0) && (newCol < 0 || newDebt > 0) ? msg.sender : to);
        return id;
    }

    function keep(uint256 id, uint256 collateral, uint256 debt) private {
        if (debt == 0) {
            positionData[id] = 1 | (FluidTicks.packed(collateral) << 45);
            return;
        }
        debt = debt * 1000000001 / 1000000000 + 1;
        // The contract rounds the collateral down before it counts the debt by it.
        collateral = FluidTicks.unpacked(FluidTicks.packed(collateral), 0);
        int256 tick = FluidTicks.tickAt(debt * FluidTicks.ONE / collateral) + 1;
        uint256 dust = (FluidTicks.ratio(tick) * collateral >> 96) - debt;
        uint256 word = tickData[tick];
        uint256 generation = (word >> 1) & 0xffffff;
        // A liquidated tick goes on with another generation.
        if (generation == 0 || word & 1 == 1) generation++;
        tickData[tick] = generation << 1;
        uint256 place = tick < 0 ? uint256(-tick) << 1 : (uint256(tick) << 1) | 1;
        positionData[id] =
            (place << 1) | (generation << 21) | (FluidTicks.packed(collateral) << 45) | (FluidTicks.packed(dust) << 109);
    }

    /// Liquidates the positions at the tick of one: `debt` and `collateral` are the billionths that are left. With nothing left
    /// they are absorbed.
    function liquidate(uint256 id, uint256 debt, uint256 collateral) external {
        uint256 data = positionData[id];
        require(data & 1 == 0);
        int256 tick = tickOf(data);
        uint256 generation = (data >> 21) & 0xffffff;
        uint256 word = tickData[tick];
        require((word >> 1) & 0xffffff == generation);
        if (word & 1 == 0) (debtLeft[tick][generation], collateralLeft[tick][generation]) = (1e9, 1e9);
        debtLeft[tick][generation] = debtLeft[tick][generation] * debt / 1e9;
        collateralLeft[tick][generation] = collateralLeft[tick][generation] * collateral / 1e9;
        tickData[tick] = 1 | (generation << 1) | (debt == 0 ? 1 << 25 : 0) | (1 << 26);
        if (debt == 0) emit LogAbsorb(1, 1);
        emit LogLiquidate(msg.sender, 1, 1, msg.sender);
    }

    function tickOf(uint256 data) private pure returns (int256) {
        int256 steps = int256((data >> 2) & 0x7ffff);
        return data & 2 == 2 ? steps : -steps;
    }

    function fetchLatestPosition(int256 tick, uint256 generation, uint256 rawDebt, uint256)
        public
        view
        returns (int256, uint256, uint256, uint256, uint256)
    {
        uint256 debt = rawDebt * debtLeft[tick][generation] / 1e9;
        if (debt == 0) return (type(int256).min, 0, 0, 1, 0);
        uint256 collateral = rawDebt * FluidTicks.ONE / FluidTicks.ratio(tick) * collateralLeft[tick][generation] / 1e9;
        return (tick, debt, collateral, 1, 0);
    }

    /// Collateral, debt without dust, and whether it was liquidated since it was used, in raw amounts: the steps of the resolver.
    function rawPosition(uint256 id) public view returns (uint256 collateral, uint256 debt, bool isLiquidated) {
        uint256 word = positionData[id];
        collateral = FluidTicks.unpacked(word, 45);
        if (word & 1 == 1 || word == 0) return (collateral, 0, false);
        int256 tick = tickOf(word);
        uint256 generation = (word >> 21) & 0xffffff;
        debt = FluidTicks.ratio(tick) * collateral >> 96;
        uint256 data = tickData[tick];
        isLiquidated = data & 1 == 1 || (data >> 1) & 0xffffff > generation;
        if (isLiquidated) (, debt, collateral,,) = fetchLatestPosition(tick, generation, debt, data);
        uint256 dust = FluidTicks.unpacked(word, 109);
        debt = debt > dust ? debt - dust : 0;
    }

    /// Collateral and debt, as the resolver states them.
    function position(uint256 id) external view returns (uint256, uint256) {
        (uint256 collateral, uint256 debt,) = rawPosition(id);
        (,, uint256 supplyPrice, uint256 borrowPrice) = updateExchangePrices(0);
        return (collateral * supplyPrice / 1e12, debt * borrowPrice / 1e12);
    }
}

/// Positions as tokens, with the owner and the vault of each where the original keeps them.
contract FluidVaultFactoryStub {
    event Transfer(address indexed from, address indexed to, uint256 indexed id);
    event NewPositionMinted(address indexed vault, address indexed user, uint256 indexed tokenId);
    event VaultDeployed(address indexed vault, uint256 indexed vaultId);

    address public owner;
    string public name;
    string public symbol;
    mapping(uint256 => uint256) internal _tokenConfig;
    mapping(address => mapping(uint256 => uint256)) internal _ownerConfig;
    uint256 public totalSupply;
    uint256 public totalVaults;
    mapping(address => uint256[]) internal listed;

    function deployVault(uint256 kind, address supply, address borrow, address deployer, uint256 oracle, uint256 threshold) external {
        uint256 id = ++totalVaults;
        address vault = address(new FluidVaultStub(id, kind, supply, borrow, deployer, oracle, threshold));
        emit VaultDeployed(vault, id);
    }

    function mint(uint256 vaultId, address user) external returns (uint256 id) {
        id = ++totalSupply;
        add(user, id, vaultId);
        emit NewPositionMinted(msg.sender, user, id);
        emit Transfer(address(0), user, id);
    }

    function add(address user, uint256 id, uint256 vaultId) private {
        listed[user].push(id);
        _tokenConfig[id] = uint160(user) | (listed[user].length << 160) | (vaultId << 192);
    }

    function transferFrom(address from, address to, uint256 id) external {
        uint256 word = _tokenConfig[id];
        require(from == address(uint160(word)) && from == msg.sender);
        if (from != to) {
            uint256[] storage list = listed[from];
            uint256 place = (word >> 160) & type(uint32).max;
            uint256 last = list[list.length - 1];
            list[place - 1] = last;
            list.pop();
            uint256 others = _tokenConfig[last] & ~(uint256(type(uint32).max) << 160);
            _tokenConfig[last] = others | (place << 160);
            add(to, id, (word >> 192) & type(uint32).max);
        }
        emit Transfer(from, to, id);
    }

    function ownerOf(uint256 id) public view returns (address) {
        return address(uint160(_tokenConfig[id]));
    }

    function balanceOf(address user) external view returns (uint256) {
        return listed[user].length;
    }

    function tokenOfOwnerByIndex(address user, uint256 index) external view returns (uint256) {
        return listed[user][index];
    }

    function readFromStorage(bytes32 slot) external view returns (uint256 word) {
        assembly {
            word := sload(slot)
        }
    }
}

/// A token that is a share of deposits (ERC-4626).
contract FluidShareStub {
    event Transfer(address indexed from, address indexed to, uint256 value);
    event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares);
    event Withdraw(address indexed sender, address indexed receiver, address indexed owner, uint256 assets, uint256 shares);

    address public immutable asset;
    uint256 public price = 1e12;
    mapping(address => uint256) public balanceOf;

    constructor(address asset_) {
        asset = asset_;
    }

    function setPrice(uint256 price_) external {
        price = price_;
    }

    function convertToAssets(uint256 shares) public view returns (uint256) {
        return shares * price / 1e12;
    }

    function deposit(uint256 assets, address receiver) external {
        uint256 shares = assets * 1e12 / price;
        balanceOf[receiver] += shares;
        emit Transfer(address(0), receiver, shares);
        emit Deposit(msg.sender, receiver, assets, shares);
    }

    function redeem(uint256 shares, address receiver, address owner) external {
        balanceOf[owner] -= shares;
        emit Transfer(owner, address(0), shares);
        emit Withdraw(msg.sender, receiver, owner, convertToAssets(shares), shares);
    }

    function transfer(address to, uint256 shares) external {
        balanceOf[msg.sender] -= shares;
        balanceOf[to] += shares;
        emit Transfer(msg.sender, to, shares);
    }
}

contract FluidLendingFactoryStub {
    address[] internal tokens;

    function create(address asset) external {
        tokens.push(address(new FluidShareStub(asset)));
    }

    function allTokens() external view returns (address[] memory) {
        return tokens;
    }
}
