//! The cost of an answer at its endpoints, and the rows that show it beside the script's.

use assay_tests::proxy::distant::Traffic;

use crate::{
    clock::median,
    table::{Row, Target, Unit},
};

/// Twelve chains side by side may take so many times the time of one.
const WIDE: f64 = 1.2;

/// The cost of one answer.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// What had passed when the answer came.
    pub traffic: Traffic,
    pub milliseconds: f64,
    /// Calls that followed in the background.
    pub later: usize,
    /// The answer does not change any more.
    pub is_final: bool,
}

/// The costs of one kind of read, and those of the script.
pub struct Case {
    pub what: String,
    /// The greatest depth.
    pub target: Target,
    pub costs: Vec<Cost>,
    pub script: Vec<Cost>,
}

impl Case {
    pub fn rows(&self) -> [Row; 4] {
        let kilobytes = |cost: &Cost| (cost.traffic.received + cost.traffic.sent) as f64 / 1e3;
        [
            self.row("depth", Unit::Count, self.target, &|cost| cost.traffic.depth as f64, self.note()),
            self.row("requests", Unit::Count, Target::None, &|cost| cost.traffic.requests as f64, String::new()),
            self.row("calls", Unit::Count, Target::None, &|cost| cost.traffic.calls as f64, String::new()),
            self.row("bytes", Unit::Kilobytes, Target::None, &kilobytes, String::new()),
        ]
    }

    fn row(&self, of: &str, unit: Unit, target: Target, figure: &dyn Fn(&Cost) -> f64, note: String) -> Row {
        let typical = |costs: &[Cost]| median(costs.iter().map(figure).collect());
        let (measured, reference_value) = (typical(&self.costs), typical(&self.script));
        Row {
            what: format!("{}: {of}", self.what),
            measured,
            reference: "the script with viem".to_owned(),
            reference_value,
            unit,
            ratio: measured / reference_value,
            target,
            note,
        }
    }

    fn note(&self) -> String {
        let typical = |costs: &[Cost], figure: fn(&Cost) -> f64| median(costs.iter().map(figure).collect());
        let time = |costs| typical(costs, |cost| cost.milliseconds);
        let open = self.costs.iter().filter(|cost| !cost.is_final).count();
        format!(
            "{} reads took {:.0} ms, the script {:.0} ms; {open} of them were provisional, and {:.0} calls followed an \
             answer",
            self.costs.len(),
            time(&self.costs),
            time(&self.script),
            typical(&self.costs, |cost| cost.later as f64),
        )
    }
}

/// The time of first reads on twelve chains beside those on one.
pub fn width([narrow, wide]: &[Vec<f64>; 2]) -> Row {
    Row {
        what: "first read, 12 chains: time".to_owned(),
        measured: median(wide.clone()),
        reference: "1 chain".to_owned(),
        reference_value: median(narrow.clone()),
        unit: Unit::Milliseconds,
        ratio: median(wide.iter().zip(narrow).map(|(wide, narrow)| wide / narrow).collect()),
        target: Target::AtMost(WIDE),
        note: "through an endpoint each; all chains are the same node, which answers a question of several chains \
               once: how nodes differ is not in it"
            .to_owned(),
    }
}
