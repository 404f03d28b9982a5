// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

// Stubs of the contracts of Maker that are not in the snapshot of its test chain: written after the public interface, they
// do what a vault sees of the real ones. The Vat, the manager and all others are the real contracts.

interface Vat {
    function urns(bytes32 ilk, address urn) external view returns (uint256 ink, uint256 art);
    function ilks(bytes32 ilk)
        external
        view
        returns (uint256 art, uint256 rate, uint256 spot, uint256 line, uint256 dust);
    function grab(bytes32 ilk, address u, address v, address w, int256 dink, int256 dart) external;
}

/// The collateral goes to the Dog instead of an auction.
contract DogStub {
    event Bark(
        bytes32 indexed ilk, address indexed urn, uint256 ink, uint256 art, uint256 due, address clip, uint256 indexed id
    );

    Vat public immutable vat;
    uint256 public kicks;

    constructor(Vat vat_) {
        vat = vat_;
    }

    /// Takes a part of the vault, as where an auction's size is limited.
    function bark(bytes32 ilk, address urn, uint256 percent) external {
        (uint256 ink, uint256 art) = vat.urns(ilk, urn);
        (, uint256 rate, uint256 spot,,) = vat.ilks(ilk);
        require(ink * spot < art * rate, "Dog/not-unsafe");
        (ink, art) = (ink * percent / 100, art * percent / 100);
        vat.grab(ilk, urn, address(this), address(this), -int256(ink), -int256(art));
        emit Bark(ilk, urn, ink, art, art * rate, address(this), ++kicks);
    }
}

/// Anyone sets the addresses.
contract ChainLogStub {
    mapping(bytes32 => address) private addresses;

    function setAddress(bytes32 key, address to) external {
        addresses[key] = to;
    }

    function getAddress(bytes32 key) external view returns (address) {
        require(addresses[key] != address(0), "dss-chain-log/invalid-key");
        return addresses[key];
    }
}
