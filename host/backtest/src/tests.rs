//! Runs files through scorers defined here: counts must not depend on threads, and text from the file must remain text.

use std::{io::Write as _, path::Path, sync::atomic::AtomicBool};

use tempfile::NamedTempFile;

use crate::{
    About, BacktestReport, Baseline, FeaturesFile, GradeRequest, Grading, ModelIdentity, Progress, Run, RunError,
    Scorer, Tally,
};
use assay_domain::{
    Assessment, Claim, ClaimVerdict, Claims, Condition, Decile, Digest, EtherPrices, Factor, Population, Range, Rate,
    Score, features::Features,
};
use assay_registry::{Refusal, ScoreError};

/// Scores by `as_of` of the features alone.
struct Formula {
    label: &'static str,
    score: fn(u64) -> Result<u32, ScoreError>,
}

impl Scorer for Formula {
    fn score(&self, features: &Features) -> Result<Assessment, ScoreError> {
        let score = Score::new((self.score)(features.as_of)?).unwrap();
        let points = i32::try_from(score.get()).unwrap() - 300;
        let factor = Factor { label: self.label.into(), points, words: None };
        Ok(Assessment { score, decile: Decile::new(1).unwrap(), factors: vec![factor] })
    }
}

fn first(as_of: u64) -> Result<u32, ScoreError> {
    Ok(300 + u32::try_from(as_of % 601).unwrap())
}

fn second(as_of: u64) -> Result<u32, ScoreError> {
    match as_of % 100 {
        7 => Err(ScoreError::Refused(Refusal::NoActivity)),
        9 => Err(ScoreError::Trap { kind: "unreachable".into(), at: None }),
        _ => Ok(350 + u32::try_from(as_of * 7 % 601).unwrap()),
    }
}

const MODELS: [Formula; 2] =
    [Formula { label: "Same", score: first }, Formula { label: "<b>Other</b>", score: second }];

fn file(lines: impl IntoIterator<Item = String>) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    lines.into_iter().for_each(|line| writeln!(file, "{line}").unwrap());
    file
}

fn wallets(count: u64) -> impl Iterator<Item = String> {
    (0..count)
        .map(|n| format!(r#"{{"id":"</script><script>alert({n})</script>","as_of":{n},"outcome":{}}}"#, n % 3 == 0))
}

static NEVER: AtomicBool = AtomicBool::new(false);

fn run<'a>(file: &'a Path, threads: usize, scores: Option<&'a mut (dyn std::io::Write + 'a)>) -> (Tally, Digest) {
    run_of(&MODELS, file, threads, scores)
}

fn run_of<'a>(
    models: &'a [Formula],
    file: &'a Path,
    threads: usize,
    scores: Option<&'a mut (dyn std::io::Write + 'a)>,
) -> (Tally, Digest) {
    crate::run(
        Run { file, models, counting: Vec::new(), threads, stop: &NEVER, scores, grading: Grading::default() },
        |_| {},
    )
    .unwrap()
}

fn report(file: &Path, threads: usize) -> BacktestReport {
    report_of(&MODELS, file, threads)
}

fn report_of(models: &[Formula], file: &Path, threads: usize) -> BacktestReport {
    report_within(models, file, threads, None)
}

/// The same with the days within which the outcomes happened.
fn report_within(models: &[Formula], file: &Path, threads: usize, horizon_days: Option<u32>) -> BacktestReport {
    report_stated(models, file, threads, horizon_days, claims(), EtherPrices::default())
}

/// The same with what the first model claims, and the prices of ether.
fn report_stated(
    models: &[Formula],
    file: &Path,
    threads: usize,
    horizon_days: Option<u32>,
    claims: Vec<Claim>,
    ether: EtherPrices,
) -> BacktestReport {
    let (tally, digest) = run_of(models, file, threads, None);
    let identity = |name: &str| ModelIdentity {
        name: name.into(),
        title: "<i>".into(),
        digest: Digest([7; 32]),
        deciles: Vec::new(),
    };
    let about = About {
        made_at: chrono::DateTime::UNIX_EPOCH,
        models: vec![identity("credit 1.0"), identity("credit 2.0")],
        file: FeaturesFile { name: "<wallets>".into(), digest },
        baseline: Some(Baseline { file: FeaturesFile { name: "before".into(), digest }, tally: tally.clone() }),
        note: Some("& a note".into()),
        cut_off: Score::new(640).unwrap(),
        seconds: 1.0,
        label: Some("defaulted".into()),
        horizon_days,
        asked: GradeRequest { cut_off: Score::new(640), ..GradeRequest::default() },
        claims: vec![claims, Vec::new()],
        ether,
        cards: Vec::new(),
    };
    crate::report(about, &tally)
}

/// What the first model claims: of all wallets, and of those who owe.
fn claims() -> Vec<Claim> {
    let rate = |low: f64| Rate { range: Range::Low, low, estimate: low, high: low + 0.02 };
    let claims = |horizon_days, low| Claims {
        outcome: "<lost>".into(),
        horizon_days,
        population: "any & all".into(),
        rates: vec![rate(low)],
    };
    vec![
        Claim { population: Population::Words, condition: None, claims: claims(90, 0.98) },
        Claim { population: Population::Owing { usd: 10.0 }, condition: None, claims: claims(90, 0.98) },
        Claim { population: Population::Words, condition: None, claims: claims(30, 0.32) },
    ]
}

#[test]
fn what_a_model_claims_is_compared_on_its_population_whatever_the_outcome_is_called() {
    // A third is bad; none of them owes.
    let file = file(wallets(600));
    let within = |horizon| report_within(&MODELS, file.path(), 2, horizon);
    let report = within(Some(90));
    let grade = &report.grades[0];
    let [all, owing, other] = &grade.claims[..] else { panic!("{:?}", grade.claims) };
    assert_eq!((all.by_rule, all.count, all.ranges[0].verdict), (false, 600, ClaimVerdict::Fails));
    assert_eq!((owing.count, owing.not_compared.as_deref()), (0, Some("no record of the file is of this population")));
    assert_eq!(other.not_compared.as_deref(), Some("the outcomes of the file are of 90 days"));
    assert!(report.grades[1].claims.is_empty());
    assert!(grade.checks.len() == 1 && !grade.checks[0].passed, "it fails without being asked for: {:?}", grade.checks);
    let said = &grade.verdict;
    assert!(said.contains("What it claims does not hold: low claims 98.0 % and had 33."), "{said}");
    assert!(said.ends_with("It does not keep the bounds that were stated."), "{said}");
    let page = crate::page(&report).unwrap();
    for words in [
        "&lt;lost&gt; within 90 days, of any &amp; all",
        "calls its outcome “defaulted”",
        "<b class=\"down\">fails</b>",
    ] {
        assert!(page.contains(words), "{words}");
    }
    // The claim for 30 days is kept.
    assert!(within(Some(30)).grades[0].checks.is_empty());
    for (horizon, words) in [(Some(60), "are of 60 days"), (None, "--horizon")] {
        let found = within(horizon).grades[0].checks.clone();
        assert!(!found[0].passed && found[0].found.contains(words), "{found:?}");
    }
}

/// Records of 100 days, forty wallets a day. Ether falls by half on day 60 and stays there, so within ten days a fall
/// follows exactly on the days 50 to 59, on which all are liquidated; of all others 5 %.
#[test]
fn a_claim_with_a_condition_is_judged_on_the_records_that_meet_it() {
    const DAY: u64 = 86_400;
    const LOW: Formula = Formula { label: "f", score: |_| Ok(400) };
    let lines = (0..4_000).map(|n: u64| {
        let (day, wallet) = (n / 40, n % 40);
        let is_bad = (50..60).contains(&day) || wallet < 2;
        format!(r#"{{"id":"w{n}","as_of":{},"outcome":{is_bad}}}"#, day * DAY + wallet)
    });
    let file = file(lines);
    let price = |day: u64| if day < 60 { 100.0 } else { 50.0 };
    let prices = |days: std::ops::Range<u64>| {
        let mut ether = EtherPrices::default();
        days.for_each(|day| ether.add(day * DAY, price(day)));
        ether
    };
    let condition = |falls| Condition::Ether { percent: 30.0, falls };
    let claim = |condition, estimate: f64| {
        let rate = Rate { range: Range::Low, low: estimate - 0.01, estimate, high: estimate + 0.01 };
        let (outcome, population) = ("liquidated".to_owned(), "all".to_owned());
        let claims = Claims { outcome, horizon_days: 10, population, rates: vec![rate] };
        Claim { population: Population::Words, condition: Some(condition), claims }
    };
    let graded = |claims: Vec<Claim>, ether: EtherPrices| {
        report_stated(&[LOW, LOW], file.path(), 2, Some(10), claims, ether).grades.swap_remove(0)
    };
    let words = Condition::Words("in calm markets".to_owned());
    let claims = || vec![claim(condition(false), 0.05), claim(condition(true), 0.99), claim(words.clone(), 0.05)];

    let grade = graded(claims(), prices(0..110));
    let [calm, fall, words] = &grade.claims[..] else { panic!("{:?}", grade.claims) };
    let observed =
        |of: &crate::grade::ClaimResult| of.ranges.iter().map(|range| (range.band.count, range.verdict)).collect();
    let observed: [Vec<_>; 2] = [observed(calm), observed(fall)];
    assert_eq!(observed, [vec![(3_600, ClaimVerdict::Holds)], vec![(400, ClaimVerdict::Holds)]]);
    assert_eq!((calm.undecided, fall.undecided), (0, 0));
    assert!(words.not_compared.as_deref().unwrap().contains("only in words"), "{words:?}");
    assert!(calm.population.ends_with("all, if ether does not fall by 30 % within the horizon"), "{calm:?}");
    // The two regimes exchanged: both fail, and the verdict says so.
    let wrong = graded(vec![claim(condition(true), 0.05), claim(condition(false), 0.98)], prices(0..110));
    let verdicts: Vec<_> = wrong.claims.iter().map(|claim| claim.ranges[0].verdict).collect();
    assert_eq!(verdicts, [ClaimVerdict::Fails; 2]);
    assert!(
        wrong.verdict.contains("What it claims does not hold: low claims 5.0 % and had 100.0 %"),
        "{}",
        wrong.verdict
    );
    // Without prices nothing is judged. A record is left out if a price that decides is missing.
    for (ether, says) in [(EtherPrices::default(), "--ether"), (prices(0..1), "--ether lacks")] {
        let grade = graded(claims(), ether);
        assert!(grade.claims[0].not_compared.as_deref().unwrap().contains(says), "{:?}", grade.claims[0]);
        assert!(grade.verdict.contains("is not shown to hold: ") && grade.verdict.contains(says), "{}", grade.verdict);
    }
    let part = graded(claims(), prices(0..100));
    let counts: Vec<_> = part.claims.iter().map(|claim| (claim.count, claim.undecided)).collect();
    assert_eq!(counts, [(3_200, 400), (400, 400), (0, 4_000)]);
}

#[test]
fn what_sets_dates_apart_is_no_skill_within_them() {
    const LEVEL: Formula = Formula { label: "f", score: |n| Ok(if (n / DAY).is_multiple_of(2) { 400 } else { 800 }) };
    const DAY: u64 = 86_400;
    // Every second day is a bad one, and the score knows the days alone.
    let line = |n: u64| {
        let (day, wallet) = (n / 40, n % 40);
        let bad = wallet < if day.is_multiple_of(2) { 20 } else { 4 };
        format!(r#"{{"id":"w{wallet}@{as_of}","as_of":{as_of},"outcome":{bad}}}"#, as_of = day * DAY + wallet)
    };
    let file = file((0..400).map(line));
    let grade = &report_of(&[LEVEL, LEVEL], file.path(), 2).grades[0];
    assert!(grade.auc.value.unwrap() > 0.7, "{:?}", grade.auc);
    assert_eq!((grade.within_dates.value, grade.dates), (Some(0.5), 10));
    // Forty wallets, though each id has its date.
    assert_eq!((grade.clusters, grade.largest_cluster), (40, 10));
    assert!(grade.clusters_found.contains("ids without their dates"), "{}", grade.clusters_found);
}

/// A wallet of one date whose debt has a health factor.
fn owing(n: u64, health: f64, bad: bool) -> String {
    format!(
        r#"{{"id":"w{n}","as_of":{n},"outcome":{bad},"lost_usd":1.5,"markets":[{{"chain_id":1,
            "protocol":"lenderA_v3","market":null,"coverage":"complete","feeds_score":true,"supply":1,"withdraw":0,
            "borrow":1,"repay":0,"liquidation":{},"first_event":1,"last_event":1,"last_liquidation":null,
            "supplied_usd":200,"borrowed_usd":100,"position":{{"coverage":"complete","collateral":[],"debt":[],
            "liquidation_threshold":0.8,"health_factor":{health},"utilisation":0.5}}}}]}}"#,
        u64::from(n.is_multiple_of(2))
    )
    .replace('\n', "")
}

#[test]
fn a_model_stands_beside_what_needs_none_and_dollars_beside_records() {
    const WORSE: Formula = Formula { label: "f", score: |n| Ok(300 + u32::try_from(n % 7 * 100).unwrap()) };
    const NOBODY: Formula = Formula { label: "f", score: |n| Ok(300 + u32::try_from(n).unwrap()) };
    let file = file((0..300).map(|n| owing(n, 1.0 + n as f64 / 100.0, n < 60)));
    let report = report_of(&[WORSE, NOBODY], file.path(), 2);
    let grade = &report.grades[0];
    let [health, utilisation, last] = &grade.baselines[..] else { panic!("{:?}", grade.baselines) };
    let beside = health.beside.as_ref().unwrap();
    assert_eq!((beside.count, beside.bad, beside.pooled.auc.value), (300, 60, Some(1.0)));
    let difference = beside.pooled.difference;
    assert_eq!(difference.value, grade.auc.value.map(|auc| auc - 1.0));
    assert!(difference.interval.unwrap().high < 0.0, "{difference:?}");
    assert!(utilisation.beside.is_none() && last.beside.is_some(), "all have the same utilisation");
    assert!(grade.verdict.contains("1 / health factor alone ranks better."), "{}", grade.verdict);
    let owed: f64 = grade.ranges.iter().map(|band| band.owed_usd).sum();
    let of_bad: f64 = grade.ranges.iter().map(|band| band.owed_by_bad_usd).sum();
    let lost: f64 = grade.ranges.iter().filter_map(|band| band.lost_usd).sum();
    assert_eq!((owed, of_bad, lost), (30_000.0, 6_000.0, 90.0));
    let cut = grade.curve.iter().find(|cut| cut.score.get() == 700).unwrap();
    let accepted = (0..300).filter(|n| n % 7 * 100 >= 400).count() as u64;
    assert_eq!((cut.accepted, grade.curve.len()), (accepted, 36));
    // The second ranks without a fault, and lends to nobody.
    let said = &report.comparisons[0].verdict;
    assert!(said.contains("but accepts nobody from 640 on") && !said.contains("better than"), "{said}");
    assert!(report.grades[1].verdict.contains("From 640 on it accepts nobody."), "{}", report.grades[1].verdict);
    let page = crate::page(&report).unwrap();
    for words in ["it ranks better alone", "This file cannot show: Utilisation", "30,000", "Lost, USD", "SR 26-2"] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn the_result_is_the_same_however_many_threads_there_are() {
    let file = file(wallets(600));
    let result = |threads| {
        let mut report = report(file.path(), threads);
        // Only durations differ.
        report.models.iter_mut().for_each(|model| (model.cost.p50_us, model.cost.p99_us) = (None, None));
        serde_json::to_value(&report).unwrap()
    };
    let one = result(1);
    assert_eq!(one, result(5));
    let found = &one["comparisons"][0];
    assert_eq!((&one["sample"]["records"], &found["count"]), (&600.into(), &588.into()));
    assert_eq!((&one["models"][1]["refused"], &one["models"][1]["failed"]), (&6.into(), &6.into()));
    assert_eq!(one["models"][1]["without_score"]["trap"]["line"], 10, "the first such line, counted from 1");
    assert_eq!(one["models"][0]["psi_since_baseline"], 0.0, "the baseline is the same file");
    assert!(found["verdict"].as_str().unwrap().ends_with("and it failed on 6 of them."), "{}", found["verdict"]);
    assert_eq!(
        found["movers"]["up"][0]["factors"].as_array().unwrap().len(),
        2,
        "a factor that only one model has is a factor"
    );
}

#[test]
fn scores_are_written_in_the_order_of_the_file() {
    let file = file(wallets(1_000));
    let mut written = Vec::new();
    run(file.path(), 4, Some(&mut written));
    let text = String::from_utf8(written).unwrap();
    let lines: Vec<_> = text.lines().collect();
    let eighth = "8,</script><script>alert(7)</script>,1970-01-01,0,low,Same 7,,,307,";
    assert_eq!((lines.len(), lines[7]), (1_000, eighth));
    assert!(lines[0].ends_with(",1970-01-01,1,low,Same 0,low,<b>Other</b> 50,300,350"), "{}", lines[0]);
    assert!(lines[9].ends_with(",1,low,Same 9,,,309,"), "{}", lines[9]);
    assert!((1..).zip(&lines).all(|(number, line)| line.starts_with(&format!("{number},"))));
}

#[test]
fn bad_lines_are_counted_and_the_first_are_named() {
    let lines = wallets(400).enumerate().map(|(n, line)| if n % 4 == 1 { "{".to_owned() } else { line });
    let file = file(lines);
    let (tally, _) = run(file.path(), 3, None);
    assert_eq!((tally.records, tally.bad, tally.first_bad.len()), (300, 100, 20));
    assert_eq!(tally.first_bad.iter().map(|bad| bad.line).take(3).collect::<Vec<_>>(), [2, 6, 10]);
}

#[test]
fn what_others_wrote_stays_text() {
    let page = crate::page(&report(file(wallets(200)).path(), 2)).unwrap();
    let visible = page.split("<script type=\"application/json\"").next().unwrap();
    for markup in ["<script", "<b>Other", "<i>", "<wallets>", "http://", "https://", "url(", "@import", "src="] {
        assert!(!visible.contains(markup), "{markup}");
    }
    for text in ["&lt;/script&gt;&lt;script&gt;alert(", "&lt;b&gt;Other&lt;/b&gt;", "&lt;wallets&gt;", "&amp; a note"] {
        assert!(visible.contains(text), "{text}");
    }
    assert_eq!(page.matches("<script").count(), 1, "the data alone");
    assert_eq!(page.matches("</script").count(), 1);
    let json = page.split("id=\"result\">").nth(1).unwrap().split("</script>").next().unwrap();
    let result: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(result["comparisons"][0]["factors"][0]["label"], "<b>Other</b>");
    // Every opened element is closed.
    for tag in
        ["section", "table", "tr", "td", "th", "svg", "figure", "details", "div", "p", "b", "ul", "li", "text", "title"]
    {
        let opened = visible.matches(&format!("<{tag}>")).count() + visible.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, visible.matches(&format!("</{tag}>")).count(), "{tag}");
    }
}

#[test]
fn a_run_that_is_told_to_stop_ends_without_a_result() {
    let file = file(wallets(50_000));
    let stop = AtomicBool::new(false);
    let (counting, grading) = (Vec::new(), Grading::default());
    let job = Run { file: file.path(), models: &MODELS, counting, threads: 2, stop: &stop, scores: None, grading };
    let done = crate::run(job, |Progress { .. }| stop.store(true, std::sync::atomic::Ordering::Relaxed));
    assert!(matches!(done, Err(RunError::Interrupted(lines)) if lines < 50_000), "{:?}", done.map(|_| ()));
}

#[test]
fn a_file_without_outcomes_says_what_is_missing() {
    let file = file((0..300).map(|n| format!(r#"{{"as_of":{n}}}"#)));
    let report = report(file.path(), 2);
    assert!(report.comparisons[0].outcomes.is_none());
    assert!(crate::page(&report).unwrap().contains("does not say what became of the wallets"));
    assert!(!report.comparisons[0].verdict.contains("AUC"), "{}", report.comparisons[0].verdict);
    assert!(crate::summary(&report).contains("300 records of <wallets>"));
}

#[test]
fn several_records_of_a_wallet_are_not_called_wallets() {
    let dated = |n: u64| format!(r#"{{"cluster":"{}","as_of":{n},"outcome":{}}}"#, n % 100, n.is_multiple_of(3));
    let report = report(file((0..300).map(dated)).path(), 2);
    // The second model scores 98 of 100 records.
    let count = report.comparisons[0].count;
    assert_eq!(report.comparisons[0].records(), format!("{count} records of 98 wallets"));
    let said = &report.comparisons[0].verdict;
    assert!(said.contains(&format!("of {count} records of 98 wallets to another range")), "{said}");
}

#[test]
fn the_verdict_says_no_more_than_the_figures() {
    const RISING: Formula = Formula { label: "f", score: |n| Ok(400 + u32::try_from(n % 601).unwrap()) };
    const FALLING: Formula = Formula { label: "f", score: |n| Ok(1000 - u32::try_from(n % 601).unwrap()) };
    const LEVEL: Formula = Formula { label: "f", score: |_| Ok(700) };
    let verdict = |models: [Formula; 2], count: u64, bad: fn(u64) -> bool| {
        let file = file((0..count).map(|n| format!(r#"{{"as_of":{n},"outcome":{}}}"#, bad(n))));
        report_of(&models, file.path(), 2).comparisons[0].verdict.clone()
    };
    for (models, bad, parts) in [
        (
            [RISING, FALLING],
            (|n| n < 150) as fn(u64) -> bool,
            [
                "an unrelated order",
                "turned out bad higher than the others, as credit 1.0 does not (AUC 0.000 against 1.000",
            ],
        ),
        (
            [FALLING, RISING],
            |n| n < 150,
            [
                "an unrelated order (rank correlation −1.00)",
                "tells bad outcomes from good ones better than credit 1.0 (AUC 1.000 against 0.000)",
            ],
        ),
        (
            [RISING, RISING],
            |n| n < 150,
            [
                "leaves all 300 wallets in their range",
                "is not shown to tell bad outcomes from good ones better or worse",
            ],
        ),
        (
            [RISING, RISING],
            |n| n % 3 == 0,
            ["almost the same order", "is not shown to tell bad outcomes from good ones, nor is credit 1.0"],
        ),
        ([RISING, FALLING], |n| n < 9, ["all of them up", "and 9 bad outcomes are too few to show which"]),
        ([RISING, LEVEL], |_| false, ["Credit 2.0 would move", "one of the two gives everybody the same score"]),
    ] {
        let said = verdict(models, 300, bad);
        assert!(parts.iter().all(|part| said.contains(part)) && said.ends_with('.'), "{parts:?}: {said}");
    }
    assert!(verdict([RISING, FALLING], 40, |_| true).contains("40 wallets, too few to say much, to another range"));
}
