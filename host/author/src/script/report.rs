//! What a toolchain says of a file that it cannot build, in the words and with the lines that concern the author.

use super::Script;

/// The most lines that are shown.
const LINES: usize = 20;

/// Places of what stands around a model in Python.
const OWN: [&str; 2] = ["entry.py\", line", "assay_answers.py\", line"];

/// The error in what the toolchain of `script` said; all of it if there is none.
pub(crate) fn report(script: Script, said: &str) -> String {
    let error = match script {
        Script::JavaScript => said.rsplit_once("JavaScript module: ").map(|(_, error)| error),
        Script::Python => said.split_once("AssertionError: ").map(|(_, error)| error),
    };
    let error = error.unwrap_or(said);
    let error = error.split("Caused by:").next().unwrap_or(error);
    let mut lines = Vec::new();
    let mut rest = error.lines().map(shown).peekable();
    while let Some(line) = rest.next() {
        if OWN.iter().any(|own| line.contains(own)) {
            // Python shows the line of the file after its place.
            rest.next_if(|line| !line.trim_start().starts_with("File "));
        } else if !line.trim().is_empty() && !line.contains("(target/assay/") {
            lines.push(line);
        }
    }
    let left_out = lines.len().saturating_sub(LINES);
    lines.truncate(LINES);
    if left_out > 0 {
        lines.push(format!("and {left_out} lines more"));
    }
    lines.join("\n")
}

/// Toolchains see the folder of the model under names of their own.
fn shown(line: &str) -> String {
    line.replace("\"/1/", "\"").replace("(/", "(").replace("at /", "at ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_javascript_has_the_line_of_the_author() {
        let said = "componentize-qjs\n  WIT:    wit\nStubbing WASI imports...Error: : Failed to evaluate user \
                    JavaScript module: Failed to finish JavaScript module evaluation: Error: Date.now(): a model has \
                    no clock\n    at refuse (/target/assay/confined.js:27:31)\n    at <anonymous> \
                    (/model.js:36:99)\n\n";
        let shown = report(Script::JavaScript, said);
        let error = "Failed to finish JavaScript module evaluation: Error: Date.now(): a model has no clock";
        assert_eq!(shown, format!("{error}\n    at <anonymous> (model.js:36:99)"));
    }

    #[test]
    fn an_error_of_python_has_the_line_of_the_author() {
        let said = "Traceback (most recent call last):\n  File \"/x/bin/componentize-py\", line 8, in <module>\n    \
                    sys.exit(script())\nAssertionError: Traceback (most recent call last):\n  File \"/0/entry.py\", \
                    line 5, in <module>\n    import model\n  File \"/1/model.py\", line 33\n    def x(:\n          \
                    ^\nSyntaxError: invalid syntax\n\n\nCaused by:\n    SyntaxError: invalid syntax (model.py, line \
                    33)\n";
        let lines = "Traceback (most recent call last):\n  File \"model.py\", line 33\n    def x(:\n          \
            ^\nSyntaxError: invalid syntax";
        assert_eq!(report(Script::Python, said), lines);
    }

    #[test]
    fn what_is_no_known_error_is_shown_as_it_is() {
        assert_eq!(report(Script::Python, "no space left\n"), "no space left");
        assert_eq!(report(Script::JavaScript, &"line\n".repeat(30)).lines().last(), Some("and 10 lines more"));
    }
}
