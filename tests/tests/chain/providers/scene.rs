//! A provider that refuses as a row of the table says, under the conditions in which such a provider refuses.

use assay_domain::Address;
use assay_tests::devnet::Devnet;
use assay_tests::proxy::{self, Call, Refusal, Reply};
use serde_json::{Value, json};

use super::Setting;
use super::table::{ErrorForm, Reaction, Row};

/// The widest span of blocks that a provider with a limit answers.
const WIDTH: u64 = 64;
/// The most calls per batch of a provider with a limit.
const BATCH: usize = 10;
/// Requests that a provider with a limit of rate refuses.
const REFUSED: u64 = 2;
/// Newest blocks that every second node behind a load balancer does not have.
const LATE: u64 = 3;

/// What a provider sees of the devnet.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    head: u64,
    hash: String,
    /// The contract whose calls fail in rows about contracts.
    pub(super) contract: Address,
}

impl Scene {
    pub(super) async fn of(devnet: &Devnet) -> Self {
        let (head, _) = devnet.ethereum.head().await.unwrap();
        let asked = json!([format!("{head:#x}"), false]);
        let block: Value = devnet.ethereum.rpc.request("eth_getBlockByNumber", asked).await.unwrap();
        let contract = devnet.ethereum.market.tokens.iter().find(|token| !token.asset.reserve).unwrap().address;
        Self { head, hash: block["hash"].as_str().unwrap().to_owned(), contract }
    }

    /// The rule of a provider that refuses as `row` says.
    pub(super) fn rule(&self, row: &Row, setting: Setting) -> impl FnMut(&Call) -> Reply + Send + 'static {
        self.rule_of(row, refusal(row), setting == Setting::Two)
    }

    /// The rule of a provider that sends `refusal` in the conditions of `row`; with `always`, it never recovers.
    pub(super) fn rule_of(
        &self,
        row: &Row,
        refusal: Refusal,
        always: bool,
    ) -> impl FnMut(&Call) -> Reply + Send + 'static {
        let (scene, row) = (self.clone(), *row);
        let (mut last, mut met) = (None, 0);
        move |call| {
            if !scene.concerns(&row, call) {
                return Reply::Pass;
            }
            if last != Some(call.request) {
                (last, met) = (Some(call.request), met + 1);
            }
            let refuses = match row.reaction {
                Reaction::Wait => always || met <= REFUSED,
                Reaction::Again => met % 2 == 1,
                _ => true,
            };
            if refuses { Reply::Refuse(refusal.clone()) } else { Reply::Pass }
        }
    }

    /// Whether a provider that refuses as `row` says might refuse `call`.
    fn concerns(&self, row: &Row, call: &Call) -> bool {
        let is_first = call.method == "eth_chainId" || (call.method == "eth_getBlockByNumber" && self.is_latest(call));
        let is_meant = match row.method {
            "any" | "batch" => !is_first,
            "state" => {
                let is_old = self.block(call).is_some_and(|block| block < self.head);
                call.method != "eth_getLogs" && !is_first && (row.reaction != Reaction::Elsewhere || is_old)
            }
            method => call.method == method,
        };
        is_meant
            && match row.reaction {
                Reaction::Shorter => call.span().is_some_and(|(from, to)| to - from >= WIDTH),
                Reaction::Smaller => call.calls > BATCH,
                Reaction::Address => call.method == "eth_getLogs" && call.params[0]["address"].is_null(),
                Reaction::Again => self.block(call).is_some_and(|block| block + LATE > self.head),
                Reaction::Final => {
                    call.params[0]["to"].as_str().is_some_and(|to| to.eq_ignore_ascii_case(&self.contract.to_string()))
                }
                _ => true,
            }
    }

    fn is_latest(&self, call: &Call) -> bool {
        call.params[0] == "latest"
    }

    /// The last block that a call needs, if it names one.
    fn block(&self, call: &Call) -> Option<u64> {
        if let Some((_, to)) = call.span() {
            return Some(to);
        }
        let at = if call.method == "eth_getBlockByNumber" { &call.params[0] } else { &call.params[1] };
        if at["blockHash"] == self.hash.as_str() {
            return Some(self.head);
        }
        u64::from_str_radix(at.as_str()?.strip_prefix("0x")?, 16).ok()
    }
}

/// The refusal of a row. A number of blocks in its words becomes the provider's.
pub(super) fn refusal(row: &Row) -> Refusal {
    let wording = worded(row).replace("\\n", "\n");
    let form = match row.form {
        ErrorForm::Object => proxy::Form::Object,
        ErrorForm::Single => proxy::Form::Single,
        ErrorForm::NullError => proxy::Form::NullError,
        ErrorForm::NullResult => proxy::Form::NullResult,
        ErrorForm::Bare => proxy::Form::Bare,
        ErrorForm::List => proxy::Form::List,
        ErrorForm::Html => proxy::Form::Html,
        ErrorForm::Text => proxy::Form::Text,
    };
    let error = match row.form {
        ErrorForm::Html | ErrorForm::Text => json!(wording),
        _ => {
            let mut error = json!({ "code": row.code, "message": wording });
            if let Some(data) = row.data {
                error["data"] = serde_json::from_str(&scaled(data, row.limit)).unwrap();
            }
            error
        }
    };
    Refusal { status: row.status, error, form }
}

fn worded(row: &Row) -> String {
    scaled(row.wording, row.limit)
}

/// `text` with the provider's limit instead of `limit`.
fn scaled(text: &str, limit: Option<u64>) -> String {
    let Some(limit) = limit else { return text.to_owned() };
    let mut forms = vec![limit.to_string()];
    if limit >= 1_000 {
        forms.push(format!("{},{:03}", limit / 1_000, limit % 1_000));
    }
    if limit.is_multiple_of(1_000) {
        forms.extend([format!("{}k", limit / 1_000), format!("{}K", limit / 1_000)]);
    }
    forms
        .iter()
        .find(|form| text.contains(form.as_str()))
        .map_or_else(|| text.to_owned(), |form| text.replacen(form.as_str(), &WIDTH.to_string(), usize::MAX))
}
