// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

/// A stub of the ERC-8004 identity registry, in place of the real one, which no package carries compiled: ids, reverts, events
/// and the storage slot of the count are the real ones. Anybody may write any URI of an agent of theirs; metadata and agent
/// wallets are left out.
contract IdentityStub {
    error ERC721NonexistentToken(uint256 tokenId);
    error ERC721IncorrectOwner(address sender, uint256 tokenId, address owner);

    event Registered(uint256 indexed agentId, string agentURI, address indexed owner);
    event URIUpdated(uint256 indexed agentId, string newURI, address indexed updatedBy);
    event Transfer(address indexed from, address indexed to, uint256 indexed tokenId);

    /// ERC-7201 namespace of the real registry; its first field is the next id.
    struct Counted {
        uint256 next;
    }

    mapping(uint256 => address) private owners;
    mapping(uint256 => string) private uris;
    mapping(address => mapping(address => bool)) public isApprovedForAll;

    function counted() private pure returns (Counted storage at) {
        assembly {
            at.slot := 0xa040f782729de4970518741823ec1276cbcd41a0c7493f62d173341566a04e00
        }
    }

    function register(string memory uri) public returns (uint256 agentId) {
        agentId = counted().next++;
        owners[agentId] = msg.sender;
        uris[agentId] = uri;
        emit Transfer(address(0), msg.sender, agentId);
        emit Registered(agentId, uri, msg.sender);
    }

    function register() external returns (uint256) {
        return register("");
    }

    /// Of the stub alone: many agents in one transaction.
    function registerAll(string[] calldata all) external {
        for (uint256 i = 0; i < all.length; i++) {
            register(all[i]);
        }
    }

    function setAgentURI(uint256 agentId, string calldata uri) external {
        require(isAuthorizedOrOwner(msg.sender, agentId), "Not authorized");
        uris[agentId] = uri;
        emit URIUpdated(agentId, uri, msg.sender);
    }

    function transferFrom(address from, address to, uint256 agentId) external {
        require(isAuthorizedOrOwner(msg.sender, agentId), "Not authorized");
        if (owners[agentId] != from) revert ERC721IncorrectOwner(from, agentId, owners[agentId]);
        owners[agentId] = to;
        emit Transfer(from, to, agentId);
    }

    function setApprovalForAll(address operator, bool approved) external {
        isApprovedForAll[msg.sender][operator] = approved;
    }

    /// Of the stub alone: the real registry cannot burn, but other implementations may.
    function burn(uint256 agentId) external {
        require(isAuthorizedOrOwner(msg.sender, agentId), "Not authorized");
        emit Transfer(owners[agentId], address(0), agentId);
        delete owners[agentId];
    }

    function isAuthorizedOrOwner(address spender, uint256 agentId) public view returns (bool) {
        address owner = ownerOf(agentId);
        return spender == owner || isApprovedForAll[owner][spender];
    }

    function ownerOf(uint256 agentId) public view returns (address owner) {
        owner = owners[agentId];
        if (owner == address(0)) revert ERC721NonexistentToken(agentId);
    }

    function tokenURI(uint256 agentId) external view returns (string memory) {
        ownerOf(agentId);
        return uris[agentId];
    }

    function getVersion() external pure returns (string memory) {
        return "2.0.0";
    }
}

/// A stub of the ERC-8004 reputation registry: one feedback a call, numbered from 1 for each agent and client, refused for the
/// agent's own people. Responses are left out.
contract ReputationStub {
    event NewFeedback(
        uint256 indexed agentId,
        address indexed clientAddress,
        uint64 feedbackIndex,
        int128 value,
        uint8 valueDecimals,
        string indexed indexedTag1,
        string tag1,
        string tag2,
        string endpoint,
        string feedbackURI,
        bytes32 feedbackHash
    );
    event FeedbackRevoked(uint256 indexed agentId, address indexed clientAddress, uint64 indexed feedbackIndex);

    struct Feedback {
        int128 value;
        uint8 valueDecimals;
        string tag1;
        string tag2;
        bool isRevoked;
    }

    IdentityStub private immutable identity;
    mapping(uint256 => mapping(address => Feedback[])) private given;
    mapping(uint256 => address[]) private clients;

    constructor(address registry) {
        identity = IdentityStub(registry);
    }

    function getIdentityRegistry() external view returns (address) {
        return address(identity);
    }

    function giveFeedback(
        uint256 agentId,
        int128 value,
        uint8 valueDecimals,
        string memory tag1,
        string memory tag2,
        string memory endpoint,
        string memory feedbackURI,
        bytes32 feedbackHash
    ) external {
        uint64 index = keep(agentId, Feedback(value, valueDecimals, tag1, tag2, false));
        emit NewFeedback(agentId, msg.sender, index, value, valueDecimals, tag1, tag1, tag2, endpoint, feedbackURI, feedbackHash);
    }

    function keep(uint256 agentId, Feedback memory feedback) private returns (uint64) {
        require(feedback.valueDecimals <= 18, "too many decimals");
        require(feedback.value <= 1e38 && feedback.value >= -1e38, "value too large");
        require(!identity.isAuthorizedOrOwner(msg.sender, agentId), "Self-feedback not allowed");
        Feedback[] storage all = given[agentId][msg.sender];
        if (all.length == 0) clients[agentId].push(msg.sender);
        all.push(feedback);
        return uint64(all.length);
    }

    function revokeFeedback(uint256 agentId, uint64 index) external {
        Feedback[] storage all = given[agentId][msg.sender];
        require(index > 0 && index <= all.length, "index out of bounds");
        require(!all[index - 1].isRevoked, "Already revoked");
        all[index - 1].isRevoked = true;
        emit FeedbackRevoked(agentId, msg.sender, index);
    }

    function getClients(uint256 agentId) external view returns (address[] memory) {
        return clients[agentId];
    }

    function getLastIndex(uint256 agentId, address client) external view returns (uint64) {
        return uint64(given[agentId][client].length);
    }

    function readFeedback(uint256 agentId, address client, uint64 index)
        external
        view
        returns (int128, uint8, string memory, string memory, bool)
    {
        require(index > 0 && index <= given[agentId][client].length, "index out of bounds");
        Feedback storage one = given[agentId][client][index - 1];
        return (one.value, one.valueDecimals, one.tag1, one.tag2, one.isRevoked);
    }

    /// The truncated mean of what these clients gave under a tag, all with the decimals of the first. An empty tag is any.
    function getSummary(uint256 agentId, address[] calldata from, string calldata tag1, string calldata tag2)
        external
        view
        returns (uint64 count, int128 value, uint8 decimals)
    {
        require(from.length > 0, "clientAddresses required");
        int256 sum;
        for (uint256 i = 0; i < from.length; i++) {
            Feedback[] storage all = given[agentId][from[i]];
            for (uint256 j = 0; j < all.length; j++) {
                if (all[j].isRevoked || !matches(all[j].tag1, tag1) || !matches(all[j].tag2, tag2)) continue;
                if (count == 0) decimals = all[j].valueDecimals;
                count++;
                sum += all[j].value;
            }
        }
        if (count > 0) value = int128(sum / int256(uint256(count)));
    }

    function matches(string storage has, string calldata wanted) private pure returns (bool) {
        return bytes(wanted).length == 0 || keccak256(bytes(has)) == keccak256(bytes(wanted));
    }
}
