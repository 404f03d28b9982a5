//! What a node says was logged, read as every protocol, token and registry reads it.

pub fn run(input: &[u8]) {
    assay_chain::fuzz::logs(input);
}
