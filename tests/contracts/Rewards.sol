// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

/// A stub of the controller that keeps the rewards of Aave v2, in place of the real one, which no package carries compiled. Each token
/// tells it of every change of a balance, and the index of that moment stays, as in the real one. It gives nothing.
contract RewardsStub {
    mapping(address => mapping(address => uint256)) indexes;

    function handleAction(address user, uint256, uint256) external {
        indexes[user][msg.sender] = block.timestamp;
    }

    function getUserAssetData(address user, address asset) external view returns (uint256) {
        return indexes[user][asset];
    }
}

/// The published implementation of an aToken, which is older than rewards, with the one function that later ones have more.
contract RewardedStub {
    address immutable published;
    address public immutable getIncentivesController;

    constructor(address implementation, address controller) {
        (published, getIncentivesController) = (implementation, controller);
    }

    fallback() external payable {
        (bool done, bytes memory answer) = published.delegatecall(msg.data);
        assembly {
            if iszero(done) { revert(add(answer, 32), mload(answer)) }
            return(add(answer, 32), mload(answer))
        }
    }
}
