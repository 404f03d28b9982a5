// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

// A stub of Maker, in place of the real contracts, which no package carries as source. State, calls, rounding and logs
// are those of the real ones as far as a vault needs them. Collateral and DAI are numbers that anyone has, prices and fees
// are set by anyone, and there are no auctions.

/// Logs a call: its selector and three arguments as topics, and the call itself as data.
abstract contract Noting {
    event LogNote(bytes4 indexed sig, bytes32 indexed a, bytes32 indexed b, bytes32 indexed c, bytes data) anonymous;

    modifier note() {
        _;
        bytes memory whole = new bytes(224);
        bytes32 a;
        bytes32 b;
        bytes32 c;
        assembly {
            calldatacopy(add(whole, 32), 0, 224)
            a := calldataload(4)
            b := calldataload(36)
            c := calldataload(68)
        }
        emit LogNote(msg.sig, a, b, c, whole);
    }
}

contract VatStub is Noting {
    struct Ilk {
        uint256 Art;
        uint256 rate;
        uint256 spot;
        uint256 line;
        uint256 dust;
    }

    struct Urn {
        uint256 ink;
        uint256 art;
    }

    mapping(bytes32 => Ilk) public ilks;
    mapping(bytes32 => mapping(address => Urn)) public urns;
    mapping(address => int256) public dai;

    function init(bytes32 ilk, uint256 dust) external note {
        ilks[ilk] = Ilk(0, 10 ** 27, 0, type(uint128).max, dust);
    }

    function file(bytes32 ilk, bytes32 what, uint256 data) external note {
        require(what == "spot", "Vat/file-unrecognized-param");
        ilks[ilk].spot = data;
    }

    function fold(bytes32 i, address u, int256 rate) external note {
        ilks[i].rate = uint256(int256(ilks[i].rate) + rate);
        dai[u] += int256(ilks[i].Art) * rate;
    }

    function frob(bytes32 i, address u, address, address w, int256 dink, int256 dart) external note {
        (Urn storage urn, Ilk storage ilk) = (urns[i][u], ilks[i]);
        change(urn, ilk, dink, dart);
        dai[w] += int256(ilk.rate) * dart;
        bool calmer = dart <= 0 && dink >= 0;
        require(calmer || ilk.rate * urn.art <= urn.ink * ilk.spot, "Vat/not-safe");
        require(urn.art == 0 || ilk.rate * urn.art >= ilk.dust, "Vat/dust");
    }

    function grab(bytes32 i, address u, address, address, int256 dink, int256 dart) external note {
        change(urns[i][u], ilks[i], dink, dart);
    }

    function fork(bytes32 ilk, address src, address dst, int256 dink, int256 dart) external note {
        change(urns[ilk][src], ilks[ilk], -dink, -dart);
        change(urns[ilk][dst], ilks[ilk], dink, dart);
    }

    function change(Urn storage urn, Ilk storage ilk, int256 dink, int256 dart) private {
        urn.ink = add(urn.ink, dink);
        urn.art = add(urn.art, dart);
        ilk.Art = add(ilk.Art, dart);
    }

    function add(uint256 x, int256 y) private pure returns (uint256) {
        int256 sum = int256(x) + y;
        require(sum >= 0, "Vat/underflow");
        return uint256(sum);
    }
}

contract UrnStub {}

contract ManagerStub is Noting {
    event NewCdp(address indexed usr, address indexed own, uint256 indexed cdp);

    VatStub public immutable vat;
    uint256 public cdpi;
    mapping(uint256 => address) public urns;
    mapping(uint256 => address) public owns;
    mapping(uint256 => bytes32) public ilks;

    constructor(VatStub vat_) {
        vat = vat_;
    }

    function open(bytes32 ilk, address usr) external returns (uint256) {
        cdpi++;
        (urns[cdpi], owns[cdpi], ilks[cdpi]) = (address(new UrnStub()), usr, ilk);
        emit NewCdp(msg.sender, usr, cdpi);
        return cdpi;
    }

    function give(uint256 cdp, address dst) external note {
        require(owns[cdp] == msg.sender, "cdp-not-allowed");
        owns[cdp] = dst;
    }

    function frob(uint256 cdp, int256 dink, int256 dart) external note {
        require(owns[cdp] == msg.sender, "cdp-not-allowed");
        vat.frob(ilks[cdp], urns[cdp], urns[cdp], urns[cdp], dink, dart);
    }

    function quit(uint256 cdp, address dst) external note {
        (uint256 ink, uint256 art) = vat.urns(ilks[cdp], urns[cdp]);
        vat.fork(ilks[cdp], urns[cdp], dst, int256(ink), int256(art));
    }

    function shift(uint256 cdpSrc, uint256 cdpDst) external note {
        (uint256 ink, uint256 art) = vat.urns(ilks[cdpSrc], urns[cdpSrc]);
        vat.fork(ilks[cdpSrc], urns[cdpSrc], urns[cdpDst], int256(ink), int256(art));
    }
}

contract ListsStub {
    function getCdpsAsc(ManagerStub manager, address guy)
        external
        view
        returns (uint256[] memory ids, address[] memory urns, bytes32[] memory ilks)
    {
        uint256 count;
        for (uint256 i = 1; i <= manager.cdpi(); i++) {
            if (manager.owns(i) == guy) count++;
        }
        (ids, urns, ilks) = (new uint256[](count), new address[](count), new bytes32[](count));
        count = 0;
        for (uint256 i = 1; i <= manager.cdpi(); i++) {
            if (manager.owns(i) != guy) continue;
            (ids[count], urns[count], ilks[count]) = (i, manager.urns(i), manager.ilks(i));
            count++;
        }
    }
}

contract ProxyStub {
    address public owner;

    constructor(address owner_) {
        owner = owner_;
    }

    function setOwner(address owner_) external {
        require(msg.sender == owner, "ds-auth-unauthorized");
        owner = owner_;
    }

    /// The real one runs the code of another contract in its own name.
    function run(address[] calldata targets, bytes[] calldata calls) external {
        require(msg.sender == owner, "ds-auth-unauthorized");
        for (uint256 i = 0; i < calls.length; i++) {
            (bool done,) = targets[i].call(calls[i]);
            require(done, "a call failed");
        }
    }
}

contract RegistryStub {
    mapping(address => address) public proxies;

    function build(address owner) external {
        proxies[owner] = address(new ProxyStub(owner));
    }
}

contract JugStub {
    struct Ilk {
        uint256 duty;
        uint256 rho;
    }

    VatStub public immutable vat;
    mapping(bytes32 => Ilk) public ilks;
    uint256 public base;

    constructor(VatStub vat_) {
        vat = vat_;
    }

    function set(bytes32 ilk, uint256 duty) external {
        ilks[ilk] = Ilk(duty, block.timestamp);
    }

    function setBase(uint256 base_) external {
        base = base_;
    }

    function drip(bytes32 ilk) external {
        (, uint256 before,,,) = vat.ilks(ilk);
        uint256 rate = rateAt(ilk, block.timestamp);
        ilks[ilk].rho = block.timestamp;
        vat.fold(ilk, address(this), int256(rate) - int256(before));
    }

    /// The rate that a drip at this time would set.
    function rateAt(bytes32 ilk, uint256 time) public view returns (uint256) {
        (, uint256 rate,,,) = vat.ilks(ilk);
        return rpow(base + ilks[ilk].duty, time - ilks[ilk].rho, 10 ** 27) * rate / 10 ** 27;
    }

    function rpow(uint256 x, uint256 n, uint256 b) private pure returns (uint256 z) {
        z = n % 2 != 0 ? x : b;
        for (n /= 2; n != 0; n /= 2) {
            x = (x * x + b / 2) / b;
            if (n % 2 != 0) z = (z * x + b / 2) / b;
        }
    }
}

contract SpotterStub {
    struct Ilk {
        address pip;
        uint256 mat;
    }

    VatStub public immutable vat;
    mapping(bytes32 => Ilk) public ilks;
    uint256 public par = 10 ** 27;

    constructor(VatStub vat_) {
        vat = vat_;
    }

    /// `price` is in wad.
    function poke(bytes32 ilk, uint256 price, uint256 mat) external {
        ilks[ilk] = Ilk(address(this), mat);
        vat.file(ilk, "spot", price * 10 ** 9 * 10 ** 27 / par * 10 ** 27 / mat);
    }
}

contract DogStub {
    event Bark(
        bytes32 indexed ilk, address indexed urn, uint256 ink, uint256 art, uint256 due, address clip, uint256 indexed id
    );

    VatStub public immutable vat;
    uint256 public kicks;

    constructor(VatStub vat_) {
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

contract KindsStub {
    mapping(bytes32 => address) public gem;

    function set(bytes32 ilk, address token) external {
        gem[ilk] = token;
    }
}

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
