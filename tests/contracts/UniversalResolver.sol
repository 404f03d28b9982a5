// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

interface Resolvers {
    function resolver(bytes32 node) external view returns (address);
}

/// A stub of ENS's new registry, and of the list of batch gateways. Anybody sets a resolver, or the error of a name.
contract RootStub {
    mapping(bytes32 => address) public resolver;
    mapping(bytes32 => bytes) public failure;
    string[] private urls;

    constructor(string[] memory urls_) {
        urls = urls_;
    }

    function setResolver(bytes32 node, address resolver_) external {
        resolver[node] = resolver_;
    }

    function setFailure(bytes32 node, bytes calldata data) external {
        failure[node] = data;
    }

    function gateways() external view returns (string[] memory) {
        return urls;
    }
}

/// A stub of ENS's Universal Resolver, which no package carries compiled. It has the functions and errors of the standard for forward
/// resolution (ENSIP-23), looks a name up in the new registry and then in the old one, and makes off-chain lookups through a batch gateway
/// (ENSIP-21), or directly where there is none.
contract UniversalStub {
    error ResolverNotFound(bytes name);
    error ResolverNotContract(bytes name, address resolver);
    error UnsupportedResolverProfile(bytes4 selector);
    error ResolverError(bytes errorData);
    error InvalidBatchGatewayResponse();
    error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData);

    struct Request {
        address sender;
        string[] urls;
        bytes data;
    }

    /// A lookup that is under way.
    struct Lookup {
        address resolver;
        bool extended;
        bool batched;
        bytes4 callback;
        bytes extra;
    }

    RootStub private immutable root;
    Resolvers private immutable old;

    constructor(RootStub root_, Resolvers old_) {
        root = root_;
        old = old_;
    }

    function supportsInterface(bytes4 id) external pure returns (bool) {
        return id == 0xcd191b34 || id == 0x01ffc9a7;
    }

    function findResolver(bytes memory name) public view returns (address resolver, bytes32 node, uint256 offset) {
        node = namehash(name, 0);
        while (uint8(name[offset]) != 0) {
            bytes32 at = namehash(name, offset);
            resolver = root.resolver(at);
            if (resolver == address(0)) {
                resolver = old.resolver(at);
            }
            if (resolver != address(0)) {
                return (resolver, node, offset);
            }
            offset += 1 + uint8(name[offset]);
        }
    }

    function resolve(bytes calldata name, bytes calldata data) external view returns (bytes memory, address) {
        (address resolver, bytes32 node, uint256 offset) = findResolver(name);
        bytes memory failure = root.failure(node);
        if (failure.length > 0) {
            raise(failure);
        }
        bool extended = resolver.code.length > 0 && isExtended(resolver);
        if (resolver == address(0) || (offset > 0 && !extended)) {
            revert ResolverNotFound(name);
        }
        if (resolver.code.length == 0) {
            revert ResolverNotContract(name, resolver);
        }
        (bool ok, bytes memory said) = resolver.staticcall(extended ? abi.encodeWithSelector(0x9061b923, name, data) : data);
        return finish(ok, said, resolver, extended);
    }

    function answered(bytes calldata said, bytes calldata extra) external view returns (bytes memory, address) {
        Lookup memory lookup = abi.decode(extra, (Lookup));
        bytes memory response = said;
        if (lookup.batched) {
            (bool[] memory failures, bytes[] memory responses) = abi.decode(said, (bool[], bytes[]));
            if (failures.length != 1 || responses.length != 1) {
                revert InvalidBatchGatewayResponse();
            }
            if (failures[0]) {
                raise(responses[0]);
            }
            response = responses[0];
        }
        (bool ok, bytes memory answer) = lookup.resolver.staticcall(abi.encodeWithSelector(lookup.callback, response, lookup.extra));
        return finish(ok, answer, lookup.resolver, lookup.extended);
    }

    function finish(bool ok, bytes memory said, address resolver, bool extended) private view returns (bytes memory, address) {
        if (!ok) {
            if (bytes4(said) == OffchainLookup.selector) {
                refer(said, resolver, extended);
            }
            revert ResolverError(said);
        }
        if (said.length == 0) {
            revert UnsupportedResolverProfile(0x3b3b57de);
        }
        return (extended ? abi.decode(said, (bytes)) : said, resolver);
    }

    function refer(bytes memory said, address resolver, bool extended) private view {
        bytes memory arguments = new bytes(said.length - 4);
        for (uint256 at = 0; at < arguments.length; at++) {
            arguments[at] = said[at + 4];
        }
        (address sender, string[] memory urls, bytes memory data, bytes4 callback, bytes memory extra) =
            abi.decode(arguments, (address, string[], bytes, bytes4, bytes));
        if (sender != resolver) {
            revert ResolverError(said);
        }
        string[] memory gateways = root.gateways();
        bool batched = gateways.length > 0;
        if (batched) {
            Request[] memory requests = new Request[](1);
            requests[0] = Request(sender, urls, data);
            data = abi.encodeWithSelector(0xa780bab6, requests);
            urls = gateways;
        }
        bytes memory lookup = abi.encode(Lookup(resolver, extended, batched, callback, extra));
        revert OffchainLookup(address(this), urls, data, this.answered.selector, lookup);
    }

    function isExtended(address resolver) private view returns (bool) {
        (bool ok, bytes memory said) = resolver.staticcall{gas: 30000}(abi.encodeWithSelector(0x01ffc9a7, bytes4(0x9061b923)));
        return ok && said.length == 32 && abi.decode(said, (uint256)) == 1;
    }

    function namehash(bytes memory name, uint256 offset) private pure returns (bytes32) {
        uint256 length = uint8(name[offset]);
        if (length == 0) {
            return bytes32(0);
        }
        bytes memory label = new bytes(length);
        for (uint256 at = 0; at < length; at++) {
            label[at] = name[offset + 1 + at];
        }
        return keccak256(abi.encodePacked(namehash(name, offset + 1 + length), keccak256(label)));
    }

    function raise(bytes memory data) private pure {
        assembly {
            revert(add(data, 32), mload(data))
        }
    }
}
