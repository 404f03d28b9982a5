//! The functions and events of the ERC-8004 registries that feedback needs.

#![expect(clippy::too_many_arguments, reason = "what is generated of an event with eleven fields")]

use alloy::sol;

sol! {
    #[derive(Debug)]
    interface IdentityRegistry {
        error ERC721NonexistentToken(uint256 tokenId);
        function ownerOf(uint256 agentId) external view returns (address owner);
        function isAuthorizedOrOwner(address spender, uint256 agentId) external view returns (bool allowed);
    }
    #[derive(Debug)]
    interface ReputationRegistry {
        function giveFeedback(uint256 agentId, int128 value, uint8 valueDecimals, string tag1, string tag2,
            string endpoint, string feedbackURI, bytes32 feedbackHash) external;
        function getLastIndex(uint256 agentId, address clientAddress) external view returns (uint64 index);
        event NewFeedback(uint256 indexed agentId, address indexed clientAddress, uint64 feedbackIndex, int128 value,
            uint8 valueDecimals, string indexed indexedTag1, string tag1, string tag2, string endpoint,
            string feedbackURI, bytes32 feedbackHash);
    }
}
