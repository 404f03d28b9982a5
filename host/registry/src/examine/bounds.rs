//! Refuses a file that is too deep or too large to compile, before a compiler or an encoder reads it: the work of both
//! grows much faster than the file.

use wasmparser::{BinaryReaderError, FunctionBody, Operator, Parser, Payload};

use crate::LoadError;

/// Maximum nesting of modules and components. An encoded model has two levels.
const DEPTH: usize = 16;
/// Maximum number of modules and components. A Python interpreter with its libraries has about twenty.
const PARTS: usize = 256;
/// Maximum number of sections over all modules and components.
const SECTIONS: usize = 20_000;
/// Maximum number of functions. A Python interpreter has about 15,000.
const FUNCTIONS: usize = 100_000;
/// Maximum bytes of one function. The largest one in a Python interpreter has about 200,000.
const BODY: u64 = 1 << 20;
/// Maximum nesting of loops in one function. The compile time grows with its square.
const LOOPS: usize = 64;

/// Walks `bytes` once, without recursion.
///
/// # Errors
/// [`LoadError::TooComplex`] with the bound, or [`LoadError::Invalid`].
pub(crate) fn within(bytes: &[u8]) -> Result<(), LoadError> {
    let (mut depth, mut parts, mut sections, mut functions) = (1_usize, 1, 0, 0);
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(invalid)? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => {
                depth += 1;
                parts += 1;
            }
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::CodeSectionEntry(body) => {
                functions += 1;
                function(&body)?;
            }
            _ => sections += 1,
        }
        most("modules and components within each other", depth, DEPTH)?;
        most("modules and components", parts, PARTS)?;
        most("sections", sections, SECTIONS)?;
        most("functions", functions, FUNCTIONS)?;
    }
    Ok(())
}

fn function(body: &FunctionBody<'_>) -> Result<(), LoadError> {
    let range = body.range();
    let size = range.end.saturating_sub(range.start);
    if size > BODY {
        return Err(LoadError::TooComplex(format!("a function of {size} bytes, and may have {BODY}")));
    }
    // Whether each open block is a loop.
    let (mut open, mut loops) = (Vec::new(), 0);
    for operator in body.get_operators_reader().map_err(invalid)? {
        let is_loop = match operator.map_err(invalid)? {
            Operator::Loop { .. } => true,
            Operator::Block { .. } | Operator::If { .. } | Operator::Try { .. } | Operator::TryTable { .. } => false,
            Operator::End | Operator::Delegate { .. } => {
                loops -= usize::from(open.pop() == Some(true));
                continue;
            }
            _ => continue,
        };
        open.push(is_loop);
        loops += usize::from(is_loop);
        most("loops within each other in one function", loops, LOOPS)?;
    }
    Ok(())
}

fn most(what: &str, found: usize, most: usize) -> Result<(), LoadError> {
    if found <= most {
        return Ok(());
    }
    Err(LoadError::TooComplex(format!("more than {most} {what}")))
}

fn invalid(error: BinaryReaderError) -> LoadError {
    LoadError::Invalid(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Option<String> {
        within(&wat::parse_str(text).unwrap()).err().map(|error| error.to_string())
    }

    #[test]
    fn every_bound_holds_at_its_edge() {
        let nested = |depth: usize| format!("{}{}", "(component ".repeat(depth), ")".repeat(depth));
        let loops = |depth: usize| format!("(module (func {}{}))", "(loop ".repeat(depth), ")".repeat(depth));
        let row = |count: usize| format!("(module (func {}))", "(loop)".repeat(count));
        let parts = |count: usize| format!("(component {})", "(core module)".repeat(count));
        let functions = |count: usize| format!("(module {})", "(func)".repeat(count));
        for (within, beyond, word) in [
            (nested(DEPTH), nested(DEPTH + 1), "within each other"),
            (loops(LOOPS), loops(LOOPS + 1), "loops"),
            (parts(PARTS - 1), parts(PARTS), "modules and components"),
            (functions(FUNCTIONS), functions(FUNCTIONS + 1), "functions"),
        ] {
            assert_eq!(refused(&within), None, "{word}");
            assert!(refused(&beyond).is_some_and(|error| error.contains(word)), "{word}");
        }
        assert_eq!(refused(&row(LOOPS * 10)), None, "loops beside each other are no nesting");
        let large = format!("(module (func {}))", "nop ".repeat(1 << 20));
        assert!(refused(&large).is_some_and(|error| error.contains("a function of")));
    }
}
