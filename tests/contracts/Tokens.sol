// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {ERC1155} from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";

/// OpenZeppelin's token, of which anybody may mint.
contract Coin is ERC20 {
    uint8 immutable places;

    constructor(string memory name, string memory symbol, uint8 decimals_) ERC20(name, symbol) {
        places = decimals_;
    }

    function decimals() public view override returns (uint8) {
        return places;
    }

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }
}

/// OpenZeppelin's collection, of which anybody may mint.
contract Pictures is ERC721("Pictures of\xE2\x80\xAE Cats", "CATS") {
    function mint(address to, uint256 id) external {
        _mint(to, id);
    }
}

/// OpenZeppelin's collection of many, without a name.
contract Things is ERC1155("") {
    function mint(address to, uint256[] calldata ids, uint256[] calldata amounts) external {
        _mintBatch(to, ids, amounts, "");
    }
}

/// A stub of the tokens of old: symbol and name in 32 bytes, and all gas gone where a function is missing.
contract OldCoinStub {
    event Transfer(address indexed from, address indexed to, uint256 amount);

    bytes32 public constant symbol = "OLD";
    bytes32 public constant name = "Old Coin";
    uint8 public constant decimals = 18;
    mapping(address => uint256) public balanceOf;

    function mint(address to, uint256 amount) external {
        balanceOf[to] += amount;
        emit Transfer(address(0), to, amount);
    }

    fallback() external {
        assembly {
            invalid()
        }
    }
}

/// A stub that says nothing but how much somebody has of it.
contract MuteStub {
    event Transfer(address indexed from, address indexed to, uint256 amount);

    mapping(address => uint256) public balanceOf;

    function mint(address to, uint256 amount) external {
        balanceOf[to] += amount;
        emit Transfer(address(0), to, amount);
    }
}

/// A stub that tells of transfers, and uses up all gas when it is asked for balances.
contract BombStub {
    event Transfer(address indexed from, address indexed to, uint256 amount);

    function mint(address to, uint256 amount) external {
        emit Transfer(address(0), to, amount);
    }

    fallback() external {
        assembly {
            invalid()
        }
    }
}
