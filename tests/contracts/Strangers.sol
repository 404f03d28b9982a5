// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

/// A stub of what a stranger may put on a chain: a token, a share of a pool, a collectible, an oracle and a resolver in
/// one. Once armed, the chosen functions do the chosen deed; all others answer as an honest contract does.
contract StrangerStub {
    enum Deed {
        Reverts,
        Answers,
        Loops,
        Invalid,
        AnswersAtLength,
        RevertsAtLength,
        Reenters,
        Writes
    }

    event Transfer(address indexed from, address indexed to, uint256 amount);

    Deed private immutable deed;
    address private immutable first;
    address private immutable second;
    bytes private words;
    bool private armed;
    mapping(bytes4 => bool) private chosen;

    /// `words` are the reason of a revert, a whole answer, or its length.
    constructor(Deed deed_, bytes memory words_, bytes4[] memory at, address first_, address second_, bool armed_) {
        (deed, words, first, second, armed) = (deed_, words_, first_, second_, armed_);
        for (uint256 i = 0; i < at.length; i++) {
            chosen[at[i]] = true;
        }
    }

    function mint(address to, uint256 amount) external {
        emit Transfer(address(0), to, amount);
    }

    /// The event of a collectible, whose id is a topic.
    function picture(address to, uint256 id) external {
        bytes32 topic = Transfer.selector;
        assembly {
            log4(0, 0, topic, 0, to, id)
        }
    }

    function arm() external {
        armed = true;
    }

    fallback() external {
        if (armed && chosen[msg.sig]) {
            act();
        }
        bytes4 asked = msg.sig;
        if (asked == bytes4(keccak256("balanceOf(address)"))) answer(abi.encode(5 ether));
        if (asked == bytes4(keccak256("ownerOf(uint256)"))) answer(abi.encode(address(0xa1)));
        if (asked == bytes4(keccak256("symbol()"))) answer(abi.encode("GIFT"));
        if (asked == bytes4(keccak256("name()"))) answer(abi.encode("A gift"));
        if (asked == bytes4(keccak256("decimals()"))) answer(abi.encode(18));
        if (asked == bytes4(keccak256("token0()")) && first != address(0)) answer(abi.encode(first));
        if (asked == bytes4(keccak256("token1()")) && second != address(0)) answer(abi.encode(second));
        if (asked == bytes4(keccak256("getReserves()"))) answer(abi.encode(1 ether, 1 ether, 0));
        if (asked == bytes4(keccak256("totalSupply()"))) answer(abi.encode(100 ether));
        if (asked == bytes4(keccak256("price()"))) answer(abi.encode(2_000 * 10 ** 24));
        if (asked == bytes4(keccak256("supportsInterface(bytes4)"))) answer(abi.encode(false));
        if (asked == bytes4(keccak256("addr(bytes32)"))) answer(abi.encode(first));
        revert();
    }

    function act() private {
        if (deed == Deed.Reverts) revert(string(words));
        if (deed == Deed.Answers) answer(words);
        if (deed == Deed.Loops) while (true) {}
        if (deed == Deed.Writes) words.push(0x01);
        if (deed == Deed.Reenters) {
            (bool done,) = address(this).staticcall(msg.data);
            require(done);
        }
        uint256 length = words.length > 0 ? abi.decode(words, (uint256)) : 0;
        if (deed == Deed.AnswersAtLength) {
            assembly {
                return(0, length)
            }
        }
        if (deed == Deed.RevertsAtLength) {
            assembly {
                revert(0, length)
            }
        }
        assembly {
            invalid()
        }
    }

    function answer(bytes memory all) private pure {
        assembly {
            return(add(all, 32), mload(all))
        }
    }
}
