//! The files of the console, as the binary contains them.

/// A file that a page of the console names.
pub(crate) struct File {
    /// Below `assets`.
    pub path: &'static str,
    pub bytes: &'static [u8],
}

impl File {
    /// Its content type.
    pub(crate) fn kind(&self) -> &'static str {
        match self.path.rsplit('.').next() {
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            _ => "text/plain; charset=utf-8",
        }
    }
}

macro_rules! files {
    ($($path:literal)*) => {
        pub(crate) const FILES: &[File] = &[$(
            File { path: $path, bytes: include_bytes!(concat!("assets/", $path)) }
        ),*];
    };
}

files! {
    "api.js"
    "app.js"
    "charts/bars.js"
    "charts/course.js"
    "charts/scale.js"
    "charts/timeline.js"
    "docs.js"
    "docs/attempt.js"
    "docs/operation.js"
    "docs/schema.js"
    "dom.js"
    "events.js"
    "icon.svg"
    "markdown.js"
    "parts.js"
    "route.js"
    "session.js"
    "style.css"
    "vendor/hooks.js"
    "vendor/htm.js"
    "vendor/preact.js"
    "views/agents.js"
    "views/audit.js"
    "views/card.js"
    "views/check.js"
    "views/compare.js"
    "views/course.js"
    "views/decision.js"
    "views/evidence.js"
    "views/factors.js"
    "views/further.js"
    "views/history.js"
    "views/holdings.js"
    "views/identity.js"
    "views/keys.js"
    "views/look_up.js"
    "views/models.js"
    "views/outcomes.js"
    "views/pair.js"
    "views/position_assets.js"
    "views/promotion.js"
    "views/roles.js"
    "views/several.js"
    "views/shelf.js"
    "views/sign_in.js"
    "views/status.js"
    "views/submission.js"
    "views/submissions.js"
    "words.js"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page at `/docs` loads its own files, and some of these.
    #[test]
    fn what_a_browser_loads_for_the_console_is_small() {
        let of_console = FILES.iter().filter(|file| !file.path.starts_with("docs"));
        let bytes: usize = of_console.map(|file| file.bytes.len()).sum();
        assert!(bytes < 200 * 1024, "{bytes}");
    }
}
