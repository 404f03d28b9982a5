// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {AssayScore} from "./AssayScore.sol";

/// An example: a lender that opens a line of credit for a wallet that shows a statement of its score.
contract CreditLine {
    using AssayScore for AssayScore.Statement;

    error NotYours(address recipient);

    event Opened(address indexed borrower, uint256 score, uint256 limit);

    address private immutable EAS;
    bytes32 private immutable EAS_VERSION;
    address private immutable SIGNER;
    bytes32 private immutable MODEL;

    uint16 private immutable MINIMUM;
    uint64 public constant MAXIMUM_AGE = 1 days;
    mapping(address borrower => uint256) public limits;

    constructor(address eas, string memory easVersion, address signer, uint16 minimum, bytes32 model) {
        EAS = eas;
        EAS_VERSION = keccak256(bytes(easVersion));
        SIGNER = signer;
        MINIMUM = minimum;
        MODEL = model;
    }

    /// Opens a line for the sender: a hundred dollars for each point above the minimum, with six decimals.
    function open(AssayScore.Statement calldata statement, bytes calldata signature) external returns (uint256 limit) {
        if (statement.recipient != msg.sender) revert NotYours(statement.recipient);
        uint256 score = statement.check(signature, AssayScore.Policy(EAS, EAS_VERSION, SIGNER, MINIMUM, MAXIMUM_AGE, MODEL));
        limit = (score - MINIMUM) * 100e6;
        limits[msg.sender] = limit;
        emit Opened(msg.sender, score, limit);
    }
}
