//! Values that name an environment variable which is not set.

/// The variable that `text` names, if it is not set.
pub(super) fn variable(text: &str) -> Option<&str> {
    let is_name =
        |name: &&str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    text.strip_prefix('$').filter(is_name).filter(|name| std::env::var(name).is_err())
}

pub(super) fn words(text: &str) -> String {
    format!("environment variable {} is not set; set it, or write the value", text.trim_start_matches('$'))
}
