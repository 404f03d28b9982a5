//! The scenarios of the sandbox.

use serde::Serialize;
use utoipa::ToSchema;

use assay_http::values::Checksummed;
use assay_registry::{MockSubject, Scenario};

/// An address or agent that behaves as production does in one condition.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Scenario, example = json!({
    "id": "failed-pool", "title": "A pool that could not be read",
    "address": "0x0000000000000000000000000000000000000103",
    "description": "The coverage of one pool is `failed`, its counts are null, and the score is provisional."
}))]
pub struct ScenarioBody {
    id: String,
    title: String,
    /// Absent if the scenario is about an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    address: Option<Checksummed>,
    /// Absent if the scenario is about an address.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    agent_id: Option<u64>,
    /// The condition that a client sees.
    description: String,
}

/// All scenarios of the generator that answers now.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Scenarios)]
pub struct ScenariosBody {
    scenarios: Vec<ScenarioBody>,
    count: usize,
}

impl From<Scenario> for ScenarioBody {
    fn from(Scenario { id, title, subject, description }: Scenario) -> Self {
        let (address, agent_id) = match subject {
            MockSubject::Address(address) => (Some(Checksummed(address)), None),
            MockSubject::Agent(id) => (None, Some(id)),
        };
        Self { id, title, address, agent_id, description }
    }
}

impl From<Vec<Scenario>> for ScenariosBody {
    fn from(all: Vec<Scenario>) -> Self {
        Self { count: all.len(), scenarios: all.into_iter().map(ScenarioBody::from).collect() }
    }
}
