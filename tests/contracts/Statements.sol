// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {AssayScore} from "AssayScore.sol";
import {CreditLine} from "CreditLine.sol";

/// What the check of a statement costs beside a bare `ecrecover` of the same struct.
contract Gas {
    using AssayScore for AssayScore.Statement;

    function checked(AssayScore.Statement calldata statement, bytes calldata signature, AssayScore.Policy memory policy)
        external
        view
        returns (uint256)
    {
        uint256 before = gasleft();
        statement.check(signature, policy);
        return before - gasleft();
    }

    function bare(AssayScore.Statement calldata statement, bytes calldata signature, AssayScore.Policy memory policy)
        external
        view
        returns (uint256)
    {
        uint256 before = gasleft();
        bytes32 digest = statement.hash(policy.eas, policy.easVersion);
        bytes32 r = bytes32(signature[:32]);
        bytes32 s = bytes32(signature[32:64]);
        require(ecrecover(digest, uint8(signature[64]), r, s) == policy.signer);
        return before - gasleft();
    }
}

/// A signer that is a contract: what its owner signs, it signs.
contract Office {
    address private immutable OWNER;

    constructor(address owner) {
        OWNER = owner;
    }

    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
        bytes32 r = bytes32(signature[:32]);
        bytes32 s = bytes32(signature[32:64]);
        return ecrecover(digest, uint8(signature[64]), r, s) == OWNER ? this.isValidSignature.selector : bytes4(0);
    }
}
