// SPDX-License-Identifier: MIT
pragma solidity 0.8.19;

import {Morpho} from "@morpho-org/morpho-blue/src/Morpho.sol";
import {IMorpho, MarketParams} from "@morpho-org/morpho-blue/src/interfaces/IMorpho.sol";
import {MorphoBalancesLib} from "@morpho-org/morpho-blue/src/libraries/periphery/MorphoBalancesLib.sol";
import {ERC20Mock} from "@morpho-org/morpho-blue/src/mocks/ERC20Mock.sol";
import {IrmMock} from "@morpho-org/morpho-blue/src/mocks/IrmMock.sol";
import {OracleMock} from "@morpho-org/morpho-blue/src/mocks/OracleMock.sol";

/// The package's token, with decimals.
contract MorphoToken is ERC20Mock {
    uint8 public immutable decimals;

    constructor(uint8 places) {
        decimals = places;
    }
}

/// A token, an oracle and a rate model that use up all gas.
contract Hostile {
    fallback() external {
        while (true) {}
    }
}

/// What a wallet has with interest, by the package's own library.
contract MorphoViews {
    using MorphoBalancesLib for IMorpho;

    function supplied(IMorpho morpho, MarketParams memory params, address user) external view returns (uint256) {
        return morpho.expectedSupplyAssets(params, user);
    }

    function borrowed(IMorpho morpho, MarketParams memory params, address user) external view returns (uint256) {
        return morpho.expectedBorrowAssets(params, user);
    }
}
