//! The section on the cost of calls.

use maud::Markup;

use super::html::{row, section as wrap, table};
use crate::{
    models::ModelPart,
    report::BacktestReport,
    words::{decimal, grouped, kib},
};

pub(super) fn section(report: &BacktestReport) -> Markup {
    let fuel = |fuel: Option<f64>| fuel.map_or("–".into(), |fuel| grouped(fuel as u64));
    let row = |model: &ModelPart| {
        let cost = &model.cost;
        row![
            model.identity.name,
            decimal(cost.p50_us, 1),
            decimal(cost.p99_us, 1),
            fuel(cost.fuel_p50),
            fuel(cost.fuel_p99),
            kib(cost.memory_bytes),
            grouped(model.failed),
        ]
    };
    let sampled = report.models.first().map_or(0, |model| model.cost.sampled);
    let lead = format!(
        "A call with an instance of its own, while every core was at work. Fuel counts instructions, the same on every \
         machine, and was counted on the first {} records, as was memory.",
        grouped(sampled)
    );
    let head = row!["Model", "Median, µs", "p99, µs", "Fuel, median", "Fuel, p99", "Memory, most", "Failures"];
    wrap("Cost", lead, table("Per call", head, report.models.iter().map(row)))
}
