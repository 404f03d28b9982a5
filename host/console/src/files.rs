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
    "charts/trend.js"
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
    "search.js"
    "session.js"
    "style.css"
    "vendor/hooks.js"
    "vendor/htm.js"
    "vendor/preact.js"
    "views/agents.js"
    "views/audit.js"
    "views/card.js"
    "views/chains.js"
    "views/changes.js"
    "views/check.js"
    "views/compare.js"
    "views/course.js"
    "views/decision.js"
    "views/drift.js"
    "views/evidence.js"
    "views/factors.js"
    "views/further.js"
    "views/history.js"
    "views/holdings.js"
    "views/identity.js"
    "views/keys.js"
    "views/look_up.js"
    "views/models.js"
    "views/new_watch.js"
    "views/outcomes.js"
    "views/pair.js"
    "views/position_assets.js"
    "views/positions.js"
    "views/promotion.js"
    "views/rates.js"
    "views/roles.js"
    "views/batch.js"
    "views/several.js"
    "views/shelf.js"
    "views/sign_in.js"
    "views/split.js"
    "views/statement.js"
    "views/status.js"
    "views/subject.js"
    "views/submission.js"
    "views/submissions.js"
    "views/trigger.js"
    "views/watch.js"
    "views/watches.js"
    "views/what_if.js"
    "wallets.js"
    "words.js"
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeMap,
        path::{Component, Path, PathBuf},
    };

    use super::*;

    /// The files that `file` imports when it is loaded, and those that they import.
    fn imported(file: &str, seen: &mut BTreeMap<String, usize>) {
        let Some(found) = FILES.iter().find(|one| one.path == file) else { panic!("there is no {file}") };
        if seen.insert(file.to_owned(), found.bytes.len()).is_some() {
            return;
        }
        let text = String::from_utf8_lossy(found.bytes);
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        for (_, rest) in
            text.match_indices(" from \"./").chain(text.match_indices(" from \"../")).map(|(at, _)| text.split_at(at))
        {
            let name = rest.split('"').nth(1).expect("a name");
            let path = folder.join(name).components().fold(PathBuf::new(), |mut path, part| {
                match part {
                    Component::ParentDir => drop(path.pop()),
                    Component::CurDir => {}
                    part => path.push(part),
                }
                path
            });
            imported(&path.display().to_string(), seen);
        }
    }

    #[test]
    fn what_a_browser_loads_before_the_first_view_is_small() {
        let mut seen = BTreeMap::new();
        imported("app.js", &mut seen);
        let style = FILES.iter().find(|file| file.path == "style.css").map_or(0, |file| file.bytes.len());
        let bytes = seen.values().sum::<usize>() + style;
        assert!(bytes < 200 * 1024, "{bytes}: {seen:?}");
        assert!(seen.contains_key("views/look_up.js") && !seen.contains_key("views/models.js"), "{seen:?}");
    }

    /// The pages name protocols as the reports do.
    #[test]
    fn the_words_have_the_name_of_every_protocol() {
        let words = FILES.iter().find(|file| file.path == "words.js").map(|file| String::from_utf8_lossy(file.bytes));
        let words = words.expect("the words");
        for protocol in assay_domain::Protocol::ALL {
            let line = format!("  {}: \"{}\",", protocol.as_str(), protocol.display_name());
            assert!(words.contains(&line), "{line}");
        }
    }
}
