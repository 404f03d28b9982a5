// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

/// Checks signed statements of credit scores: off-chain attestations of EAS, version 2. No storage, no owner.
///
/// A statement is accepted on the chain for which it was signed. It says who the wallet is, what the score is and which
/// bytes of a model gave it; the library does not run the model.
library AssayScore {
    /// The fields of the attestation that differ between statements. The others are constant.
    struct Statement {
        address recipient;
        uint64 time;
        uint64 expirationTime;
        bytes data;
        bytes32 salt;
    }

    /// Whom and what a contract accepts.
    struct Policy {
        /// The EAS contract of this chain, for which the server signs.
        address eas;
        /// keccak256 of the version of that contract, such as keccak256("1.0.1").
        bytes32 easVersion;
        /// The account that signs, or a contract that answers by ERC-1271.
        address signer;
        /// 300 to 1000.
        uint16 minimumScore;
        /// Most seconds since the chains were read.
        uint64 maximumAge;
        /// SHA-256 of the model's bytes; zero accepts any model of the signer.
        bytes32 modelDigest;
    }

    error NotYet(uint64 time);
    error Expired(uint64 expirationTime);
    error WrongSigner();
    error Malformed();
    error Sandbox();
    error TooOld(uint256 asOf, uint64 maximumAge);
    error ScoreTooLow(uint256 score, uint16 minimum);
    error OtherModel(bytes32 modelDigest);

    /// keccak256 of the schema, without a resolver and not revocable: `schema.uid` of the server's list of signers.
    bytes32 internal constant SCHEMA = 0xfba11b53aee9baf63f6ce7ed6c0d68ca96bca4cf100bbf764e351cb073f1d783;

    bytes32 private constant DOMAIN_TYPE =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 private constant NAME = keccak256("EAS Attestation");
    bytes32 private constant ATTEST_TYPE = keccak256(
        "Attest(uint16 version,bytes32 schema,address recipient,uint64 time,uint64 expirationTime,bool revocable,bytes32 refUID,bytes data,bytes32 salt)"
    );
    /// The words of `data` before its texts.
    uint256 private constant HEAD = 15 * 32;

    /// The score of `statement.recipient`. Reverts if the statement is not one that `policy` accepts.
    function check(Statement calldata statement, bytes calldata signature, Policy memory policy)
        internal
        view
        returns (uint256 score)
    {
        if (block.timestamp < statement.time) revert NotYet(statement.time);
        if (block.timestamp >= statement.expirationTime) revert Expired(statement.expirationTime);
        bytes32 digest = hash(statement, policy.eas, policy.easVersion);
        if (!signed(digest, signature, policy.signer)) revert WrongSigner();
        bytes calldata data = head(statement);
        score = uint256(word(data, 0));
        if (word(data, 14) != 0) revert Sandbox();
        uint256 asOf = uint256(word(data, 2));
        if (block.timestamp > asOf + policy.maximumAge) revert TooOld(asOf, policy.maximumAge);
        if (score < policy.minimumScore) revert ScoreTooLow(score, policy.minimumScore);
        bytes32 model = word(data, 6);
        if (policy.modelDigest != 0 && model != policy.modelDigest) revert OtherModel(model);
    }

    /// The claimed rate of the outcome in parts per million and its horizon in days; both are zero without a claim.
    function claimed(Statement calldata statement) internal pure returns (uint256 perMillion, uint256 horizonDays) {
        bytes calldata data = head(statement);
        return (uint256(word(data, 10)), uint256(word(data, 11)));
    }

    /// The EIP-712 hash that the signer signs.
    function hash(Statement calldata statement, address eas, bytes32 easVersion) internal view returns (bytes32) {
        bytes32 domain = keccak256(abi.encode(DOMAIN_TYPE, NAME, easVersion, block.chainid, eas));
        bytes32 attest = keccak256(
            abi.encode(
                ATTEST_TYPE,
                uint16(2),
                SCHEMA,
                statement.recipient,
                statement.time,
                statement.expirationTime,
                false,
                bytes32(0),
                keccak256(statement.data),
                statement.salt
            )
        );
        return keccak256(abi.encodePacked("\x19\x01", domain, attest));
    }

    /// Whether an account signed, or a contract says so.
    function signed(bytes32 digest, bytes calldata signature, address signer) private view returns (bool) {
        (address recovered, ECDSA.RecoverError error,) = ECDSA.tryRecoverCalldata(digest, signature);
        if (error == ECDSA.RecoverError.NoError && recovered == signer) return true;
        return signer.code.length > 0 && SignatureChecker.isValidERC1271SignatureNow(signer, digest, signature);
    }

    function head(Statement calldata statement) private pure returns (bytes calldata data) {
        data = statement.data;
        if (data.length < HEAD) revert Malformed();
    }

    /// A word of the head, which is within `data`.
    function word(bytes calldata data, uint256 at) private pure returns (bytes32 found) {
        assembly ("memory-safe") {
            found := calldataload(add(data.offset, mul(at, 32)))
        }
    }
}
