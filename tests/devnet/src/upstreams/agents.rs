//! The agents of the devnet: documents inline and on IPFS, names in several scripts, one agent without a document, one
//! with a document that cannot be read, one burned agent.

use alloy::primitives::U256;
use serde_json::{Value, json};

use crate::agents::{self, Agents, Identity};
use crate::devnet::Error;
use crate::devnet::actors::address as wallet;
use crate::ipfs::Ipfs;
use crate::lenders::Small;

/// The number of agents in the registry. Callers never see the burned agent and the agent with id 0.
const COUNT: u64 = 60;
/// The owner of all agents except one.
const OWNER: &str = "registrar";
/// The burned agent.
const BURNED: u64 = 13;
/// The agent with another owner.
const SOLD: u64 = 7;

/// Name and description of the first agents, from id 1 on. The other agents have generated ones.
const NAMED: [(&str, &str); 8] = [
    ("Lender", "Lends stablecoins to wallets with a score above 750"),
    ("Straße", "Findet Wege durch Märkte"),
    ("Привет", "Отвечает на вопросы о займах"),
    ("信用助手", "解释信用评分"),
    ("مساعد", "يشرح القروض"),
    ("Pay 🚀 Bot", "Pays invoices while you sleep"),
    ("Sold", "Belongs to somebody else now"),
    ("Zoë\u{301}\u{202e}", "A name with a mark and a sign of direction"),
];

/// Deploys the registries and registers all agents.
///
/// # Errors
/// When a stub cannot be compiled or a transaction fails.
pub async fn register(chain: &mut Small, ipfs: &Ipfs) -> Result<Agents, Error> {
    let agents = agents::deploy(chain).await?;
    let uris: Vec<String> = (0..COUNT).map(|id| uri(id, ipfs)).collect();
    agents.register(chain, OWNER, &uris).await?;
    let (from, to) = (wallet(OWNER), wallet("borrower"));
    chain.queue(from, agents.identity, &Identity::burnCall { agentId: U256::from(BURNED) });
    chain.queue(from, agents.identity, &Identity::transferFromCall { from, to, agentId: U256::from(SOLD) });
    chain.mine().await?;
    Ok(agents)
}

fn uri(id: u64, ipfs: &Ipfs) -> String {
    match id {
        10 => String::new(),
        11 => "ipfs://bafkreidoesnotexist".to_owned(),
        12 => "data:application/json,{not json".to_owned(),
        _ if id.is_multiple_of(3) => format!("ipfs://{}", ipfs.keep(document(id).to_string().into_bytes())),
        _ => format!("data:application/json,{}", document(id)),
    }
}

fn document(id: u64) -> Value {
    let named = id.checked_sub(1).and_then(|at| NAMED.get(usize::try_from(at).ok()?));
    let (name, description) = named.map_or_else(
        || (format!("Agent {id}"), format!("Answers questions about credit, as number {id} of the devnet")),
        |(name, description)| ((*name).to_owned(), (*description).to_owned()),
    );
    json!({ "name": name, "description": description, "image": format!("https://agents.example/{id}.png") })
}
