//! Builds credit models from WebAssembly text: a correct model, and one for each misbehaviour.

use super::module::{CONTRACTS, Data, component, module};

/// True for current features of a chain, false for self-test features, which date from June 2025, and from 2031 on. A
/// model that misbehaves only under this condition passes all checks and fails in production.
pub const IN_PRODUCTION: &str = "(i32.and (i64.gt_u (local.get $as_of) (i64.const 1750000000)) \
                                 (i64.lt_u (local.get $as_of) (i64.const 1920000000)))";

/// True every hundredth second. An instance keeps no state between calls, so only the input can select calls.
pub const EVERY_HUNDREDTH: &str = "(i64.eq (i64.rem_u (local.get $as_of) (i64.const 100)) (i64.const 99))";

/// Misbehaviours of a guest, as WebAssembly text.
pub mod act {
    pub const TRAP: &str = "unreachable";
    pub const LOOP: &str = "(loop $forever (br $forever))";
    pub const RECURSE: &str = "(call $deeper)";
    /// Grows memory page by page, as an allocator does, and traps when refused.
    pub const BOMB: &str =
        "(loop $more (if (i32.eq (memory.grow (i32.const 1)) (i32.const -1)) (then unreachable)) (br $more))";
    /// Sets the length of the first factor's description to 50 MB.
    pub const LONG_TEXT: &str = "(i32.store (i32.const 1056) (i32.const 52428800))";
}

/// Builds a credit model.
pub struct Credit {
    /// The contract: `wit/v1` or `wit/v2`.
    generation: usize,
    /// Instructions at the start of `explain` in `wit/v2`.
    explain: String,
    /// The points in answers of `score`; `explain` always has 10.
    points: i32,
    version: String,
    says: u8,
    score: String,
    act: String,
    decile: String,
    imports: String,
    pages: u32,
    most_pages: String,
    table: u32,
    description: String,
    factors: usize,
    wit: String,
    world: String,
}

impl Credit {
    /// A model that always answers 700 with one factor.
    pub fn new(version: &str) -> Self {
        Self {
            generation: 1,
            explain: String::new(),
            points: 10,
            version: version.to_owned(),
            says: 0,
            score: "(i32.const 700)".to_owned(),
            act: String::new(),
            decile:
                "(i32.add (i32.div_u (i32.mul (i32.sub (local.get $score) (i32.const 300)) (i32.const 10)) (i32.const \
                 701)) (i32.const 1))"
                    .to_owned(),
            imports: String::new(),
            pages: 2,
            most_pages: String::new(),
            table: 0,
            description: "Seen, and found to be as it should be.".to_owned(),
            factors: 1,
            wit: String::new(),
            world: "world made-by-hand { export credit; }".to_owned(),
        }
    }

    /// The same model on `wit/v2`, with the texts in a separate function, `explain`.
    pub fn v2(version: &str) -> Self {
        Self { generation: 2, ..Self::new(version) }
    }

    /// Runs `instructions` at the start of `explain` if `condition` is true.
    #[must_use]
    pub fn explain_when(mut self, condition: &str, instructions: &str) -> Self {
        self.explain = format!("(if {condition} (then {instructions}))");
        self
    }

    /// Answers this many points for each factor. `explain` still answers 10.
    #[must_use]
    pub fn points(mut self, points: i32) -> Self {
        self.points = points;
        self
    }

    /// Sets the score to the value of this expression. It may read `$as_of`, `$chains_len`, `$markets_len`,
    /// `$holdings_len` and `$identity_len`.
    #[must_use]
    pub fn score(mut self, expression: &str) -> Self {
        expression.clone_into(&mut self.score);
        self
    }

    /// Runs `instructions` before scoring.
    #[must_use]
    pub fn act(mut self, instructions: &str) -> Self {
        instructions.clone_into(&mut self.act);
        self
    }

    /// Runs `instructions` before scoring if `condition` is true.
    #[must_use]
    pub fn act_when(self, condition: &str, instructions: &str) -> Self {
        self.act(&format!("(if {condition} (then {instructions}))"))
    }

    /// Sets the expression for the decile of `$score`.
    #[must_use]
    pub fn decile(mut self, expression: &str) -> Self {
        expression.clone_into(&mut self.decile);
        self
    }

    /// Declares this kind of model: 0 credit, 1 boost, 2 sybil, 3 sandbox.
    #[must_use]
    pub fn says(mut self, kind: u8) -> Self {
        self.says = kind;
        self
    }

    #[must_use]
    pub fn description(mut self, text: &str) -> Self {
        text.clone_into(&mut self.description);
        self
    }

    /// Answers this many factors, all with the same text.
    #[must_use]
    pub fn factors(mut self, count: usize) -> Self {
        self.factors = count;
        self
    }

    /// Adds fields to the module, as text.
    #[must_use]
    pub fn with(mut self, fields: &str) -> Self {
        fields.clone_into(&mut self.imports);
        self
    }

    /// Sets the number of table elements.
    #[must_use]
    pub fn table(mut self, elements: u32) -> Self {
        self.table = elements;
        self
    }

    /// Sets the maximum memory, in pages of 64 KiB.
    #[must_use]
    pub fn at_most_pages(mut self, pages: u32) -> Self {
        self.most_pages = pages.to_string();
        self
    }

    /// Sets the initial memory, in pages of 64 KiB.
    #[must_use]
    pub fn pages(mut self, pages: u32) -> Self {
        self.pages = pages;
        self
    }

    /// Reads a clock and randomness through WASI.
    #[must_use]
    pub fn importing_wasi(mut self) -> Self {
        self.wit = "package wasi:clocks@0.2.0 { interface monotonic-clock { now: func() -> u64; } }
                    package wasi:random@0.2.0 { interface random { get-random-u64: func() -> u64; } }"
            .to_owned();
        self.world = "world made-by-hand \
                      { import wasi:clocks/monotonic-clock@0.2.0; import wasi:random/random@0.2.0; export credit; }"
            .to_owned();
        self.imports = r#"(import "wasi:clocks/monotonic-clock@0.2.0" "now" (func $now (result i64)))
                          (import "wasi:random/random@0.2.0" "get-random-u64" (func $random (result i64)))"#
            .to_owned();
        self.act = "(drop (call $now)) (drop (call $random))".to_owned();
        self
    }

    /// Returns the core module as cargo builds it. The server converts it into a component.
    pub fn module(&self) -> Vec<u8> {
        self.module_for(self.contract().0)
    }

    /// Returns the core module with other types: `edit` changes the text of `types.wit`.
    pub fn module_on(&self, edit: impl FnOnce(&str) -> String) -> Vec<u8> {
        self.module_for(&edit(self.contract().0))
    }

    /// Returns the component.
    pub fn build(&self) -> Vec<u8> {
        component(&self.module())
    }

    fn contract(&self) -> (&'static str, &'static str) {
        CONTRACTS[self.generation - 1]
    }

    fn module_for(&self, types: &str) -> Vec<u8> {
        let worlds = format!("{}\n{}\n{}", self.contract().1, self.wit, self.world);
        module(&self.text(), (types, &worlds), "made-by-hand")
    }

    /// Memory layout: the answer of `score` (20 bytes) at 1000, the answer of `explain` (12 bytes) at 1024, the factors
    /// from 1040, the points of `wit/v2`, and then everything else.
    fn text(&self) -> String {
        const ANSWER: usize = 1000;
        const WORDS: usize = 1024;
        const FACTORS: usize = 1040;
        let points = FACTORS + 28 * self.factors;
        let mut data = Data { at: points + 4 * self.factors, text: String::new() };
        data.words(points, &vec![self.points.cast_unsigned(); self.factors]);
        let (label, label_len) = data.put("Made by hand");
        let (words, words_len) = data.put(&self.description);
        let (version, version_len) = data.put(&self.version);
        let (title, title_len) = data.put("A model written by hand");
        let (author, author_len) = data.put("Assay");
        let mut factors = Vec::new();
        for _ in 0..self.factors {
            factors.extend([label, label_len, 2, words, words_len, 10, 50].map(|n| n as u32));
        }
        data.words(FACTORS, &factors);
        data.align();
        let authors = data.at;
        data.at += 8;
        data.words(authors, &[author as u32, author_len as u32]);
        let info = data.at;
        // In `wit/v2`, an optional claim follows: none.
        data.at += 72;
        let kind = u32::from(self.says);
        let none = authors as u32;
        data.words(
            info,
            &[kind, version as u32, version_len as u32, title as u32, title_len as u32, authors as u32, 1, none, 0],
        );
        let list = if self.generation == 1 { FACTORS } else { points };
        data.words(ANSWER, &[0, 0, 0, list as u32, self.factors as u32]);
        data.words(WORDS, &[0, FACTORS as u32, self.factors as u32]);
        data.align();
        let Self { imports, act, score, decile, pages, most_pages, table, generation, .. } = self;
        let explain = if *generation == 1 { String::new() } else { self.explaining(WORDS) };
        let Data { at: heap, text: segments } = data;
        let pages = (*pages).max(u32::try_from(heap / 65536 + 1).expect("a small module"));
        format!(
            r#"(module
  {imports}
  (memory (export "memory") {pages} {most_pages})
  (table $functions {table} funcref)
  (global $next (mut i32) (i32.const {heap}))
  {segments}
  (func $deeper (local $here i64) (local.set $here (i64.const 1)) (call $deeper) (drop (local.get $here)))
  (func (export "cabi_realloc") (param $old i32) (param $old_size i32) (param $align i32) (param $size i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
    (global.set $next (i32.add (local.get $at) (local.get $size)))
    (block $fits (loop $more
      (br_if $fits (i32.le_u (global.get $next) (i32.mul (memory.size) (i32.const 65536))))
      (if (i32.eq (memory.grow (i32.const 1)) (i32.const -1)) (then unreachable))
      (br $more)))
    (local.get $at))
  (func (export "assay:model/credit@{generation}.0.0#describe") (result i32) (i32.const {info}))
  (func (export "assay:model/credit@{generation}.0.0#score")
    (param $as_of i64) (param $chains i32) (param $chains_len i32) (param $markets i32) (param $markets_len i32)
    (param $holdings i32) (param $holdings_len i32) (param $identity i32) (param $identity_len i32) (result i32)
    {act}
    (i32.store (i32.const {score_at}) {score})
    (i32.store8 (i32.const {decile_at}) (call $decile (i32.load (i32.const {score_at}))))
    (i32.const {ANSWER}))
  {explain}
  (func $decile (export "assay:model/credit@{generation}.0.0#decile") (param $score i32) (result i32) {decile}))"#,
            score_at = ANSWER + 4,
            decile_at = ANSWER + 8,
        )
    }

    fn explaining(&self, answer: usize) -> String {
        format!(
            r#"(func (export "assay:model/credit@2.0.0#explain")
    (param $as_of i64) (param $chains i32) (param $chains_len i32) (param $markets i32) (param $markets_len i32)
    (param $holdings i32) (param $holdings_len i32) (param $identity i32) (param $identity_len i32) (result i32)
    {}
    (i32.const {answer}))"#,
            self.explain
        )
    }
}
