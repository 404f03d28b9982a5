// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

/// A stub of an index of attestations, in place of Coinbase's and Human Passport's, which no package carries compiled. Anybody sets
/// what it says.
contract IndexStub {
    mapping(address => mapping(bytes32 => bytes32)) private uids;

    function set(address recipient, bytes32 schema, bytes32 uid) external {
        uids[recipient][schema] = uid;
    }

    function getAttestationUid(address recipient, bytes32 schema) external view returns (bytes32) {
        return uids[recipient][schema];
    }

    function getUserAttestation(address user, bytes32 schema) external view returns (bytes32) {
        return uids[user][schema];
    }
}

/// A stub of a resolver that answers for every name below its own (ENSIP-10) with one address.
contract WildcardStub {
    address private immutable owner;

    constructor(address owner_) {
        owner = owner_;
    }

    function supportsInterface(bytes4 id) external pure returns (bool) {
        return id == 0x9061b923 || id == 0x01ffc9a7;
    }

    /// Only for two labels below its own, `x.y.wild.eth`, so that the name on the wire matters.
    function resolve(bytes calldata name, bytes calldata data) external view returns (bytes memory) {
        require(bytes4(data) == bytes4(keccak256("addr(bytes32)")), "not addr");
        require(uint8(name[0]) == 1 && uint8(name[2]) == 1 && uint8(name[4]) == 4 && name[name.length - 1] == 0, "not on the wire");
        return abi.encode(owner);
    }
}

/// A stub of a resolver whose records are with a gateway (EIP-3668). It believes what the gateway says, and counts rounds in what the
/// client has to keep.
contract OffchainStub {
    error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData);

    string[] private urls;
    address private immutable sender;
    uint256 private immutable rounds;

    /// A `sender` of zero is itself.
    constructor(string[] memory urls_, address sender_, uint256 rounds_) {
        urls = urls_;
        sender = sender_ == address(0) ? address(this) : sender_;
        rounds = rounds_;
    }

    function supportsInterface(bytes4 id) external pure returns (bool) {
        return id == 0x9061b923 || id == 0x01ffc9a7;
    }

    function resolve(bytes calldata, bytes calldata data) external view returns (bytes memory) {
        refer(1, data);
    }

    function answered(bytes calldata said, bytes calldata extra) external view returns (bytes memory) {
        (uint256 round, bytes32 kept, bytes memory data) = abi.decode(extra, (uint256, bytes32, bytes));
        require(kept == keccak256("kept"), "not what was to be kept");
        if (round < rounds) {
            refer(round + 1, data);
        }
        return said;
    }

    function refer(uint256 round, bytes memory data) private view {
        revert OffchainLookup(sender, urls, data, this.answered.selector, abi.encode(round, keccak256("kept"), data));
    }
}

/// A stub of a resolver that answers nothing, and says why.
contract RefusingStub {
    fallback() external {
        revert("no records here");
    }
}

/// A stub of a resolver that has one address for every name.
contract AddressStub {
    address private immutable owner;

    constructor(address owner_) {
        owner = owner_;
    }

    function addr(bytes32) external view returns (address) {
        return owner;
    }
}
