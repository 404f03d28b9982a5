//! The table of providers' answers: each row is classified so that the one right reaction follows.

use std::collections::BTreeMap;

use alloy::rpc::json_rpc::ErrorPayload;
use serde_json::{Value, json};

use crate::{
    fault::{Fault, Rejection},
    logs::{self, reaction},
    span::Span,
    wording::providers::{ErrorForm, Reaction, Row, rows},
};

/// The methods to which a row's answer may be given.
fn methods(row: &Row) -> &'static [&'static str] {
    match row.method {
        "any" => &["eth_getTransactionCount", "eth_getLogs", "eth_call"],
        "state" => &["eth_getTransactionCount", "eth_call"],
        "eth_getLogs" => &["eth_getLogs"],
        "eth_call" => &["eth_call"],
        "eth_sendRawTransaction" => &["eth_sendRawTransaction"],
        "batch" => &["batch"],
        method => panic!("providers.tsv:{}: {method}", row.line),
    }
}

/// The fault of a row that is a JSON-RPC error.
fn fault(row: &Row, method: &str) -> Fault {
    let data = row.data.map(|data| serde_json::from_str::<Value>(data).unwrap());
    let error = json!({ "code": row.code, "message": row.wording, "data": data });
    Fault::of(method, &serde_json::from_value::<ErrorPayload>(error).unwrap())
}

/// Whether the reaction follows from the fault.
fn leads_to(fault: &Fault, row: &Row) -> bool {
    let rejection = |why| matches!(fault, Fault::Rejected { why: found, .. } if *found == why);
    match row.reaction {
        // The form decides, not the words.
        Reaction::Result => true,
        Reaction::Wait => matches!(fault, Fault::RateLimited { .. }),
        Reaction::Shorter => {
            let span = Span { from: 0, to: 1 << 40 };
            match (reaction(fault, span, 1_000, 0), row.limit) {
                (logs::Reaction::Ceiling(width), Some(limit)) => width == limit,
                // Narrower queries find it.
                (logs::Reaction::Split(_), _) => true,
                _ => false,
            }
        }
        Reaction::Smaller => {
            matches!(fault, Fault::TooManyCalls { .. } | Fault::TooDense { .. } | Fault::Refused { .. })
        }
        Reaction::Address => *fault == Fault::Unscoped,
        Reaction::Elsewhere => fault.is_no_answer() || fault.is_lesser(),
        // An unknown error is repeated too.
        Reaction::Again => matches!(fault, Fault::UnknownBlock | Fault::Refused { .. }),
        Reaction::Final => matches!(fault, Fault::Reverted { .. }),
        Reaction::Known => rejection(Rejection::Known),
        Reaction::Nonce => rejection(Rejection::NonceUsed),
        Reaction::Replacement => rejection(Rejection::ReplacementUnderpriced),
        Reaction::Underpriced => rejection(Rejection::Underpriced),
        Reaction::Funds => rejection(Rejection::InsufficientFunds),
        Reaction::Unknown => !matches!(fault, Fault::Rejected { .. }),
    }
}

#[test]
fn every_row_is_classified_by_its_reaction() {
    let rows = rows();
    let is_error = |row: &&Row| {
        matches!(
            row.form,
            ErrorForm::Object | ErrorForm::Single | ErrorForm::NullResult | ErrorForm::Bare | ErrorForm::List
        )
    };
    // The status 429 decides whatever the words are.
    let errors = rows.iter().filter(is_error).filter(|row| row.status != 429);
    let faults = errors.flat_map(|row| methods(row).iter().map(move |method| (row, *method, fault(row, method))));
    let wrong: Vec<String> = faults
        .filter(|(row, _, fault)| !leads_to(fault, row))
        .map(|(row, method, fault)| format!("{}: {method}, {:?}, {}: {fault:?}", row.line, row.reaction, row.wording))
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
