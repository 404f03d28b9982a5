//! Reads `providers.tsv`, the table of what nodes and providers answer. Only for tests; those of other crates include
//! this file by its path.

/// One answer, and the one right reaction to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Its line in the file.
    pub line: usize,
    pub reaction: Reaction,
    /// A method, `state` for methods with a block parameter, or `any`.
    pub method: &'static str,
    /// Of the error; -32000 if the source names none.
    pub code: i64,
    /// The HTTP status.
    pub status: u16,
    pub form: ErrorForm,
    /// The number of blocks that the words allow.
    pub limit: Option<u64>,
    pub wording: &'static str,
    /// JSON.
    pub data: Option<&'static str>,
    pub provider: &'static str,
    /// The page or issue that shows it.
    pub source: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reaction {
    /// The result counts.
    Result,
    /// A limit of rate: repeat more slowly.
    Wait,
    /// Ask for logs of fewer blocks.
    Shorter,
    /// Send fewer calls per batch.
    Smaller,
    /// Name the contracts in the query.
    Address,
    /// Use the next endpoint; the only one leaves the part unread.
    Elsewhere,
    /// The block is not there yet: repeat, or use the next endpoint.
    Again,
    /// The contract failed.
    Final,
    /// The transaction was received before.
    Known,
    /// Another transaction has used the nonce.
    Nonce,
    /// The transaction pays too little to replace one with its nonce.
    Replacement,
    Underpriced,
    Funds,
    /// Whether the transaction was received is unknown.
    Unknown,
}

/// How the error is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorForm {
    /// A JSON-RPC response for each call.
    Object,
    /// One JSON-RPC response to the whole request.
    Single,
    /// A good result beside `"error": null`.
    NullError,
    /// The error beside `"result": null`.
    NullResult,
    /// The error object without a JSON-RPC response around it.
    Bare,
    /// A list of one error without an id.
    List,
    /// The wording is the body, an HTML page.
    Html,
    /// The wording is the body.
    Text,
}

/// The rows of the table.
pub fn rows() -> Vec<Row> {
    let lines = include_str!("providers.tsv").lines().enumerate();
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).map(|(at, line)| row(at + 1, line)).collect()
}

fn row(line: usize, text: &'static str) -> Row {
    let columns: Vec<&'static str> = text.split('\t').collect();
    let [reaction, method, code, status, form, limit, wording, data, provider, source] = columns[..] else {
        panic!("providers.tsv:{line}: {} columns", columns.len())
    };
    let wrong = |what: &str| -> ! { panic!("providers.tsv:{line}: {what}") };
    Row {
        line,
        reaction: reaction_of(reaction).unwrap_or_else(|| wrong(reaction)),
        method,
        code: given(code).map_or(-32_000, |code| code.parse().unwrap_or_else(|_| wrong(code))),
        status: status.parse().unwrap_or_else(|_| wrong(status)),
        form: form_of(form).unwrap_or_else(|| wrong(form)),
        limit: given(limit).map(|limit| limit.parse().unwrap_or_else(|_| wrong(limit))),
        wording: given(wording).unwrap_or_default(),
        data: given(data),
        provider,
        source,
    }
}

fn given(column: &'static str) -> Option<&'static str> {
    Some(column).filter(|column| *column != "-")
}

fn reaction_of(name: &str) -> Option<Reaction> {
    Some(match name {
        "result" => Reaction::Result,
        "wait" => Reaction::Wait,
        "shorter" => Reaction::Shorter,
        "smaller" => Reaction::Smaller,
        "address" => Reaction::Address,
        "elsewhere" => Reaction::Elsewhere,
        "again" => Reaction::Again,
        "final" => Reaction::Final,
        "known" => Reaction::Known,
        "nonce" => Reaction::Nonce,
        "replacement" => Reaction::Replacement,
        "underpriced" => Reaction::Underpriced,
        "funds" => Reaction::Funds,
        "unknown" => Reaction::Unknown,
        _ => return None,
    })
}

fn form_of(name: &str) -> Option<ErrorForm> {
    Some(match name {
        "object" => ErrorForm::Object,
        "single" => ErrorForm::Single,
        "error:null" => ErrorForm::NullError,
        "result:null" => ErrorForm::NullResult,
        "bare" => ErrorForm::Bare,
        "list" => ErrorForm::List,
        "html" => ErrorForm::Html,
        "text" => ErrorForm::Text,
        _ => return None,
    })
}
