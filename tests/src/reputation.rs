//! The parts of a submission: a small chain with stubs of the agent registries, an account that sends feedback, a mock
//! of an IPFS node, and a server's configuration.

#![expect(clippy::too_many_arguments, reason = "what is generated of an event with eleven fields")]

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use alloy::primitives::{Address, B256, Bytes, U256, keccak256};
use alloy::signers::local::PrivateKeySigner;
use alloy::sol;
use alloy::sol_types::{SolEvent, SolValue};
use futures::future::join_all;
use serde_json::{Value, json};
use tokio::{sync::Mutex, task::JoinHandle};

use crate::devnet::{Rpc, actors};
use crate::ipfs::Ipfs;
use crate::lenders::{Small, stubs};
use crate::node::Order;
use crate::service::{plugins, sandbox_config};

sol! {
    interface Identity {
        function register(string uri) external returns (uint256 agentId);
    }
    #[derive(Debug)]
    interface Reputation {
        event NewFeedback(uint256 indexed agentId, address indexed clientAddress, uint64 feedbackIndex, int128 value,
            uint8 valueDecimals, string indexed indexedTag1, string tag1, string tag2, string endpoint,
            string feedbackURI, bytes32 feedbackHash);
    }
}

/// Time between blocks.
const BLOCK: Duration = Duration::from_millis(150);
pub const CHAIN: u64 = 8_453;
/// Addresses with a balance, which can therefore be scored.
const SUBJECTS: usize = 300;

/// One feedback on the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    pub agent_id: u64,
    pub client: Address,
    pub value: i128,
    pub decimals: u8,
    pub tag1: String,
    pub tag2: String,
    pub uri: String,
    pub hash: B256,
    pub transaction: B256,
    pub block: u64,
}

/// Returns the address with number `n`, to be scored. The first 300 have a balance.
pub fn subject(n: usize) -> Address {
    Address::from_word(keccak256(format!("subject {n}")))
}

/// Everything except the server.
pub struct World {
    pub chain: Small,
    pub ipfs: Ipfs,
    pub identity: Address,
    pub reputation: Address,
    pub signer: PrivateKeySigner,
    mining: Arc<Mutex<bool>>,
    sending: Mutex<()>,
    miner: JoinHandle<()>,
}

impl World {
    /// Starts a chain with three agents, ids 0 to 2, of which the signer owns the last. Blocks are mined regularly.
    ///
    /// # Panics
    /// If a part does not start.
    pub async fn start() -> Self {
        // Transactions with a higher gas price go before the signer's, as on a public chain.
        let started = Small::start_in(Order::Price, CHAIN).await;
        let mut chain = started.unwrap_or_else(|e| panic!("the chain starts: {e}"));
        let code = stubs("Agents.sol").await.unwrap_or_else(|e| panic!("the stubs compile: {e}"));
        let identity = chain.create(code["IdentityStub"].clone(), "identity");
        let reputation = chain.create([code["ReputationStub"].as_ref(), &identity.abi_encode()].concat(), "reputation");
        chain.mine().await.unwrap_or_else(|e| panic!("the stubs are deployed: {e}"));
        let signer = PrivateKeySigner::random();
        for owner in [actors::address("owner"), actors::address("owner"), signer.address()] {
            let register = Identity::registerCall { uri: String::new() };
            chain.call(owner, identity, &register).await.unwrap_or_else(|e| panic!("an agent is registered: {e}"));
        }
        let mut world = Self {
            ipfs: Ipfs::start().await,
            mining: Arc::new(Mutex::new(true)),
            sending: Mutex::default(),
            miner: tokio::spawn(async {}),
            chain,
            identity,
            reputation,
            signer,
        };
        world.fund(U256::from(10).pow(U256::from(20))).await;
        world.fund_subjects().await;
        // From here on, the node's clock is near the real time, and registrations are confirmed.
        let now =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map(|d| d.as_secs()).unwrap_or_default();
        world.rpc("evm_setNextBlockTimestamp", json!([now - 600])).await;
        world.rpc("anvil_mine", json!(["0x8"])).await;
        let (mining, rpc) = (world.mining.clone(), world.chain.rpc.clone());
        world.miner = tokio::spawn(async move {
            loop {
                tokio::time::sleep(BLOCK).await;
                // Hold the lock until the block is mined, so no block follows a stop.
                let mining = mining.lock().await;
                if *mining {
                    let _: Result<Value, _> = rpc.request("evm_mine", json!([])).await;
                }
            }
        });
        world
    }

    /// Starts or stops mining.
    pub async fn mining(&self, on: bool) {
        *self.mining.lock().await = on;
    }

    pub async fn fund(&self, wei: U256) {
        self.rpc("anvil_setBalance", json!([self.signer.address(), wei])).await;
    }

    async fn fund_subjects(&self) {
        let fund = |n| self.rpc("anvil_setBalance", json!([subject(n), U256::from(1)]));
        join_all((0..SUBJECTS).map(fund)).await;
    }

    /// # Panics
    /// If the node refuses.
    pub async fn rpc(&self, method: &'static str, params: Value) -> Value {
        // anvil gives two transactions of one account that come at the same moment the same nonce.
        let _alone = if method == "eth_sendTransaction" { Some(self.sending.lock().await) } else { None };
        self.chain.rpc.request(method, params).await.unwrap_or_else(|e| panic!("{method}: {e}"))
    }

    /// Returns a host's configuration with the endpoint `rpc`, which may be a proxy. `reputation` is added to its
    /// section.
    pub fn config(&self, rpc: &str, reputation: &str) -> String {
        let mut toml = sandbox_config(&plugins());
        let _ = writeln!(
            toml,
            "[[chains]]\nid = {CHAIN}\nname = \"Base\"\nrpc = [\"{rpc}\"]\nfinality = 4\nmax_head_age = 0\nmulticall = \
             \"none\""
        );
        let _ = writeln!(toml, "sequencer = \"none\"\nnative = {{ symbol = \"ETH\" }}\ntokens = []\nmarkets = []");
        let _ =
            writeln!(toml, "[scoring]\nincomplete_cache_ms = 300\n[names]\nregistries = []\n[identity]\nsources = []");
        let (identity, registry) = (self.identity, self.reputation);
        let _ = writeln!(
            toml,
            "[agents]\nchain = {CHAIN}\nidentity_registry = \"{identity}\"\nreputation_registry = \"{registry}\""
        );
        let _ = writeln!(toml, "[ipfs]\napi = \"{}\"", self.ipfs.url);
        let key = self.signer.to_bytes();
        let _ = writeln!(
            toml,
            "[reputation]\nsigner = \"{key}\"\nconfirmations = 1\npoll_ms = 50\nreplace_after_ms = 1500\n\
             gas = {{ native_usd = 1.0 }}\n{reputation}"
        );
        toml
    }

    /// Returns every feedback in the registry, in chain order.
    pub async fn held(&self) -> Vec<Held> {
        held(&self.chain.rpc, self.reputation).await
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.miner.abort();
    }
}

async fn held(rpc: &Rpc, registry: Address) -> Vec<Held> {
    let filter = json!({ "address": registry, "fromBlock": "0x0", "toBlock": "latest",
        "topics": [Reputation::NewFeedback::SIGNATURE_HASH] });
    let logs: Vec<Value> = rpc.request("eth_getLogs", json!([filter])).await.unwrap_or_else(|e| panic!("logs: {e}"));
    logs.iter().map(read).collect()
}

fn read(log: &Value) -> Held {
    let field = |name: &str| serde_json::from_value::<B256>(log[name].clone()).unwrap_or_default();
    let topics: Vec<B256> = serde_json::from_value(log["topics"].clone()).unwrap_or_default();
    let data: Bytes = serde_json::from_value(log["data"].clone()).unwrap_or_default();
    let event = Reputation::NewFeedback::decode_raw_log(topics, &data).unwrap_or_else(|e| panic!("{log}: {e}"));
    let block: U256 = serde_json::from_value(log["blockNumber"].clone()).unwrap_or_default();
    Held {
        agent_id: event.agentId.to(),
        client: event.clientAddress,
        value: event.value,
        decimals: event.valueDecimals,
        tag1: event.tag1,
        tag2: event.tag2,
        uri: event.feedbackURI,
        hash: event.feedbackHash,
        transaction: field("transactionHash"),
        block: block.to(),
    }
}
