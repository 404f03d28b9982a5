//! The memory and the file descriptors of this process, read from `/proc` at each call.

use std::fs;

/// Resident memory in bytes; `None` if the system has no `/proc`.
pub(super) fn resident_memory() -> Option<u64> {
    parse_resident(&fs::read_to_string("/proc/self/status").ok()?)
}

/// Open file descriptors, without the one that this call opens.
pub(super) fn open_files() -> Option<u64> {
    let open = fs::read_dir("/proc/self/fd").ok()?.count();
    u64::try_from(open.saturating_sub(1)).ok()
}

fn parse_resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_memory_is_in_bytes() {
        assert_eq!(parse_resident("Name:\tassay\nVmRSS:\t   1234 kB\n"), Some(1234 * 1024));
        assert_eq!(parse_resident("Name:\tassay\n"), None);
    }
}
