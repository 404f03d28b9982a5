//! Logs from a node, decoded as logs of every protocol, token and registry.

pub fn run(input: &[u8]) {
    assay_chain::fuzz::logs(input);
    assay_agents::fuzz::logs(input);
}
