//! The section on the cost of calls.

use super::html::{esc, section as wrap, table};
use crate::{
    report::Report,
    words::{decimal, grouped, kib},
};

pub(crate) fn section(report: &Report) -> String {
    let rows: Vec<_> = report
        .models
        .iter()
        .map(|model| {
            let cost = &model.cost;
            let fuel = |fuel: Option<f64>| fuel.map_or("–".into(), |fuel| grouped(fuel as u64));
            vec![
                esc(&model.identity.name),
                decimal(cost.p50_us, 1),
                decimal(cost.p99_us, 1),
                fuel(cost.fuel_p50),
                fuel(cost.fuel_p99),
                kib(cost.memory_bytes),
                grouped(model.failed),
            ]
        })
        .collect();
    let sampled = report.models.first().map_or(0, |model| model.cost.sampled);
    wrap(
        "Cost",
        &format!(
            "A call with an instance of its own, while every core was at work. Fuel counts instructions, the same on every machine, and was counted on the first {} records, as was memory.",
            grouped(sampled)
        ),
        &table(
            "Per call",
            &["Model", "Median, µs", "p99, µs", "Fuel, median", "Fuel, p99", "Memory, most", "Failures"],
            &rows,
        ),
    )
}
