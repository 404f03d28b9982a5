// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

/// Stubs of contracts that anybody can deploy, and that answer like something else.

/// A stub that answers like a pool of which everybody owns everything.
contract PoolStub {
    event Transfer(address indexed from, address indexed to, uint256 amount);

    string public constant name = "Uniswap V2";
    string public constant symbol = "UNI-V2";
    uint8 public constant decimals = 18;
    uint256 public constant totalSupply = 1 ether;
    address public immutable token0;
    address public immutable token1;
    address public immutable factory;

    constructor(address token0_, address token1_, address factory_) {
        (token0, token1, factory) = (token0_, token1_, factory_);
    }

    function balanceOf(address) external pure returns (uint256) {
        return totalSupply;
    }

    function getReserves() external pure returns (uint112, uint112, uint32) {
        return (10 ether, 10 ether, 0);
    }

    function mint(address to, uint256) external {
        emit Transfer(address(0), to, totalSupply);
    }
}

/// A stub of a factory with several pools of the same tokens, which lists its pools.
contract PoolListStub {
    mapping(address => bool) public isPool;

    function add(address pool) external {
        isPool[pool] = true;
    }
}

/// A stub of a token that wraps an aToken: it names the lending pool and the asset, and is none of the pool's tokens.
contract WrappedStub {
    event Transfer(address indexed from, address indexed to, uint256 amount);

    string public constant name = "Wrapped Aave USDC";
    string public constant symbol = "waUSDC";
    uint8 public constant decimals = 6;
    mapping(address => uint256) public balanceOf;
    address public immutable POOL;
    address public immutable UNDERLYING_ASSET_ADDRESS;

    constructor(address pool, address asset) {
        (POOL, UNDERLYING_ASSET_ADDRESS) = (pool, asset);
    }

    function mint(address to, uint256 amount) external {
        balanceOf[to] += amount;
        emit Transfer(address(0), to, amount);
    }
}

/// A stub of a contract that shows the native balance as that of a token, as on Polygon.
contract MirrorStub {
    event Transfer(address indexed from, address indexed to, uint256 amount);

    string public constant name = "Ether";
    string public constant symbol = "NATIVE";
    uint8 public constant decimals = 18;

    function balanceOf(address owner) external view returns (uint256) {
        return owner.balance;
    }

    function mint(address to, uint256 amount) external {
        emit Transfer(address(0), to, amount);
    }
}
