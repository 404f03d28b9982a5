//! What moved since an earlier table by more than the noise of both.

use std::fmt;

use super::record::{Record, RecordedRow};

/// The noise that is assumed of a row that was measured once.
const ASSUMED_NOISE: f64 = 0.1;

/// The comparison of two tables.
pub struct Comparison<'a> {
    before: &'a Record,
    is_same_machine: bool,
    moved: Vec<Moved<'a>>,
    still: usize,
    /// Rows that one of the tables has not, or whose figure belongs to another machine.
    alone: Vec<&'a RecordedRow>,
    gone: Vec<&'a RecordedRow>,
}

struct Moved<'a> {
    row: &'a RecordedRow,
    from: f64,
    to: f64,
    noise: f64,
}

impl<'a> Comparison<'a> {
    /// Of the groups that `now` has.
    pub fn of(now: &'a Record, before: &'a Record) -> Self {
        let is_same_machine = (&now.processor, now.cores) == (&before.processor, before.cores);
        let (mut moved, mut still, mut alone) = (Vec::new(), 0, Vec::new());
        for row in &now.rows {
            let same = before.rows.iter().find(|earlier| (&earlier.group, &earlier.what) == (&row.group, &row.what));
            let comparable = same.filter(|_| is_same_machine || !row.is_of_the_machine());
            let Some((earlier, from, to)) =
                comparable.and_then(|earlier| Some((earlier, earlier.figure()?, row.figure()?)))
            else {
                alone.push(row);
                continue;
            };
            let noise = [earlier.noise, row.noise].map(|noise| noise.unwrap_or(ASSUMED_NOISE));
            let noise = noise[0].max(noise[1]);
            if (to - from).abs() > noise * from.abs() {
                moved.push(Moved { row, from, to, noise });
            } else {
                still += 1;
            }
        }
        let is_gone = |row: &&RecordedRow| {
            now.rows.iter().any(|other| other.group == row.group)
                && now.rows.iter().all(|other| (&other.group, &other.what) != (&row.group, &row.what))
        };
        let gone = before.rows.iter().filter(is_gone).collect();
        Self { before, is_same_machine, moved, still, alone, gone }
    }
}

impl Moved<'_> {
    fn is_worse(&self) -> bool {
        (self.to < self.from) == self.row.is_more_better()
    }
}

impl fmt::Display for Comparison<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Record { commit, processor, cores, runs, .. } = self.before;
        writeln!(f, "\nAgainst {commit}, {cores} cores of {processor}, measured {runs} times:")?;
        if !self.is_same_machine {
            writeln!(f, "The machine is another one: only ratios, counts and sizes are compared.")?;
        }
        for worse in [true, false] {
            for moved in self.moved.iter().filter(|moved| moved.is_worse() == worse) {
                let Moved { row, from, to, noise } = moved;
                let (verdict, percent) = (if worse { "worse" } else { "better" }, (to / from - 1.0) * 100.0);
                let what = format!("{}: {}", row.group, row.what);
                writeln!(
                    f,
                    "{verdict:<6}  {what}  {from:.3} -> {to:.3}  {percent:+.0} %, noise {:.0} %",
                    noise * 100.0
                )?;
            }
        }
        for (verdict, rows) in [("new", &self.alone), ("gone", &self.gone)] {
            for row in rows {
                writeln!(f, "{verdict:<6}  {}: {}", row.group, row.what)?;
            }
        }
        writeln!(f, "{} rows moved by more than their noise, {} did not.", self.moved.len(), self.still)
    }
}
