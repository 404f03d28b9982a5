//! The table of providers' answers: each row is classified so that the one right reaction follows.

use std::collections::BTreeMap;

use alloy::rpc::json_rpc::ErrorPayload;
use serde_json::{Value, json};

use super::providers::{Form, Reaction, Row, rows};
use crate::fault::Fault;

/// The fault of a row that is a JSON-RPC error.
fn fault(row: &Row) -> Fault {
    let data = row.data.map(|data| serde_json::from_str::<Value>(data).unwrap());
    let error = json!({ "code": row.code, "message": row.wording, "data": data });
    Fault::from_payload(&serde_json::from_value::<ErrorPayload>(error).unwrap())
}

/// Whether the reaction follows from the fault.
fn leads_to(fault: &Fault, row: &Row) -> bool {
    match row.reaction {
        Reaction::Wait => matches!(fault, Fault::RateLimited { .. }),
        Reaction::Shorter => match fault {
            Fault::TooWide { limit } => row.limit.is_none() || *limit == row.limit,
            Fault::TooDense { .. } | Fault::TimedOut(_) => row.limit.is_none(),
            _ => false,
        },
        // A batch is halved after any refusal.
        Reaction::Smaller => !fault.is_for_next_endpoint() || matches!(fault, Fault::RateLimited { .. }),
        Reaction::Address => *fault == Fault::Unscoped,
        Reaction::Elsewhere => fault.is_for_next_endpoint() || matches!(fault, Fault::NoState) || row.code == -32_601,
        Reaction::Again => *fault == Fault::UnknownBlock,
        Reaction::Final => crate::call::reverted(fault),
        // The outbox decides.
        _ => true,
    }
}

#[test]
fn every_row_is_classified_by_its_reaction() {
    let rows = rows();
    let errors = rows.iter().filter(|row| {
        matches!(row.form, Form::Object | Form::Single | Form::NullResult | Form::Bare | Form::List)
            // Decided by the status.
            && row.status != 429
    });
    let wrong: Vec<String> = errors
        .map(|row| (row, fault(row)))
        .filter(|(row, fault)| !leads_to(fault, row))
        .map(|(row, fault)| format!("{}: {:?}, {}: {fault:?}", row.line, row.reaction, row.wording))
        .collect();
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn no_answer_has_two_reactions() {
    let mut seen = BTreeMap::new();
    for row in rows() {
        let said = (row.method, row.code, row.status, row.wording.to_lowercase(), row.data, format!("{:?}", row.form));
        let before: Option<Row> = seen.insert(said, row);
        assert!(before.is_none_or(|before| before.reaction == row.reaction), "{before:?} and {row:?}");
    }
}
