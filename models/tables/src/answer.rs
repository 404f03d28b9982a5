//! A score with its factors, from the features of a wallet and the data of a model.

use crate::{
    code::Source,
    data::{Data, EDGES, FACTOR, FACTORS, FEATURES, Section, Shape, double, number},
    fields::{CHAINS, MARKETS},
    forest::Values,
    link::Link,
    margin::{margin, values},
    words::filled,
};

/// The place of the field `coverage` in both lists, and its word `failed`.
const COVERAGE: u8 = 1;
const FAILED: f64 = 3.0;

/// What the model answers.
pub struct Answer {
    exact: f64,
    /// The sum in the unit of the training, before it is calibrated and becomes points.
    pub margin: f64,
    /// One for each factor.
    pub points: Vec<i32>,
    values: Values,
}

/// One factor in words.
pub struct Part<'a> {
    pub label: &'a str,
    pub description: String,
    pub points: i32,
    pub possible: u32,
    /// From 0 for the lowest range to 4 for the highest.
    pub rating: u8,
}

/// The answer, or `None` where nothing of the wallet could be read, or its margin is no number.
pub fn answer(data: Data<'_>, source: &impl Source) -> Option<Answer> {
    if nothing_was_read(source) {
        return None;
    }
    let answer = judged(data, source);
    (!answer.margin.is_nan()).then_some(answer)
}

/// The answer for any wallet.
pub fn judged(data: Data<'_>, source: &impl Source) -> Answer {
    let values = values(data, source);
    let (margin, points) = points(data, &values);
    let (scale, link) = (data.section(Section::Scale), Link::of(data));
    let exact = double(scale, 1) + double(scale, 0) * link.map_or(margin, |link| link.value(margin));
    Answer { exact, margin, points, values }
}

/// The margin of figures, and the points of each factor.
pub fn points(data: Data<'_>, values: &Values) -> (f64, Vec<i32>) {
    let mut parts = [0.0; FEATURES];
    let margin = margin(data, values, &mut parts);
    // A score that is linear in the margin has its parts. Any other has them in the same proportion.
    let rise = Link::of(data).map_or(1.0, |link| link.rise(margin - parts.iter().sum::<f64>(), margin));
    let per_margin = rise * double(data.section(Section::Scale), 0);
    let mut points = [0.0; FACTORS];
    for (feature, part) in parts.iter().take(data.shape(Shape::Features)).enumerate() {
        if let Some(sum) = points.get_mut(data.factor_of(feature)) {
            *sum += part * per_margin;
        }
    }
    let whole = |(at, points): (usize, &f64)| (libm::floor(points + 0.5) as i32).min(data.possible(at).cast_signed());
    (margin, points.iter().take(data.shape(Shape::Factors)).enumerate().map(whole).collect())
}

impl Answer {
    /// The score, or the risk of a sybil model, before it is rounded and bounded.
    pub fn exact(&self) -> f64 {
        self.exact
    }

    pub fn score(&self) -> u32 {
        (self.exact.clamp(300.0, 1000.0) + 0.5) as u32
    }

    pub fn risk(&self) -> u32 {
        (self.exact.clamp(0.0, 100.0) + 0.5) as u32
    }

    /// The factors in words.
    pub fn parts<'a>(&self, data: Data<'a>) -> Vec<Part<'a>> {
        self.points.iter().enumerate().map(|(at, points)| part(data, at, *points, &self.values)).collect()
    }
}

fn nothing_was_read(source: &impl Source) -> bool {
    let failed = |list| (0..source.count(list)).all(|item| source.number(list, item, COVERAGE) == FAILED);
    source.count(CHAINS) + source.count(MARKETS) > 0 && failed(CHAINS) && failed(MARKETS)
}

fn part<'a>(data: Data<'a>, at: usize, points: i32, values: &[f64]) -> Part<'a> {
    let possible = data.possible(at);
    Part {
        label: data.plain(FACTOR + 2 * at),
        description: filled(data.text(FACTOR + 1 + 2 * at), values),
        points,
        possible,
        rating: rating(data, at, points),
    }
}

/// The fifth of the training table that the points of a factor are in or, without one, the fifth of the possible points.
fn rating(data: Data<'_>, factor: usize, points: i32) -> u8 {
    let edges = data.section(Section::Ratings);
    if !edges.is_empty() {
        let edge = |at: usize| number(edges, EDGES * factor + at).cast_signed();
        return (0..EDGES).filter(|at| points >= edge(*at)).count() as u8;
    }
    let possible = data.possible(factor);
    match u64::try_from(points).unwrap_or(0) * 5 / (u64::from(possible) + 1) {
        0 if points < 0 || possible > 0 => 0,
        0 => 4,
        fifth => fifth.min(4) as u8,
    }
}

/// The decile of a score, 1 to 10.
pub fn decile(data: Data<'_>, score: u32) -> u8 {
    let lowest = data.section(Section::Deciles);
    1 + (0..9).filter(|at| score >= number(lowest, *at)).count() as u8
}
