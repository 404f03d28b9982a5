//! A tester's sandbox generator, in handwritten WebAssembly text: every wallet scores 640, and one address has a
//! selected behaviour.

use crate::hostile::{CONTRACTS, Data, component, module};

/// The address with the behaviour.
pub const ADDRESS: &str = "0x7777777777777777777777777777777777777777";

/// A behaviour of `wit/v2`: the index of its case in the variant, and the case's number.
#[derive(Debug, Clone, Copy)]
pub struct Scripted(pub u32, pub u32);

impl Scripted {
    pub const PENDING_UNTIL_SECOND: Self = Self(0, 2);
    pub const RATE_LIMITED_FOR_SEVEN_SECONDS: Self = Self(7, 7);
}

/// Returns the component of a generator of `version` with one scenario.
///
/// # Panics
/// If the text is not a valid module, which a test excludes.
pub fn generator(version: &str, behaviour: Scripted) -> Vec<u8> {
    component(&module(&text(version, behaviour), CONTRACTS[1], "sandbox-generator"))
}

/// Memory layout from 1000: an empty list, the report (64 bytes), the behaviour (24 bytes), no behaviour, then the
/// rest.
fn text(version: &str, Scripted(case, number): Scripted) -> String {
    const EMPTY: usize = 1000;
    const REPORT: usize = 1008;
    const BEHAVIOUR: usize = 1072;
    const NONE: usize = 1096;
    let mut data = Data { at: 1120, text: String::new() };
    data.words(REPORT, &[640]);
    data.words(BEHAVIOUR, &[1, 0, case, 0, number, 0]);
    data.words(NONE, &[0; 6]);
    let mut put = |text: &str| data.put(text);
    let ((version, version_len), (title, title_len)) = (put(version), put("A generator of a tester"));
    let ((id, id_len), (seen, seen_len)) = (put("scripted"), put("What the tester wrote."));
    let address = data.at;
    data.bytes(address, &[0x77; 20]);
    data.at += 20;
    data.align();
    let info = data.at;
    data.at += 72;
    let words =
        |all: &[usize]| all.iter().map(|word| u32::try_from(*word).expect("a small module")).collect::<Vec<_>>();
    data.words(info, &words(&[3, version, version_len, title, title_len, EMPTY, 0, EMPTY, 0]));
    let scenario = data.at;
    data.at += 40;
    data.words(scenario, &words(&[id, id_len, title, title_len, 0, 0, address, 20, seen, seen_len]));
    let list = data.at;
    data.at += 8;
    data.words(list, &words(&[scenario, 1]));
    let (heap, segments) = (data.at, data.text);
    format!(
        r#"(module
  (memory (export "memory") 1)
  (global $next (mut i32) (i32.const {heap}))
  {segments}
  (func (export "cabi_realloc") (param i32 i32 i32) (param $size i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
    (global.set $next (i32.add (local.get $at) (local.get $size)))
    (local.get $at))
  (func (export "assay:model/sandbox@2.0.0#describe") (result i32) (i32.const {info}))
  (func (export "assay:model/sandbox@2.0.0#score") (param i32 i32) (result i32) (i32.const 640))
  (func (export "assay:model/sandbox@2.0.0#boosted-score") (param i32 i32 f64) (result i32) (i32.const 640))
  (func (export "assay:model/sandbox@2.0.0#factors") (param i32 i32) (result i32) (i32.const {EMPTY}))
  (func (export "assay:model/sandbox@2.0.0#report") (param i32 i32) (result i32) (i32.const {REPORT}))
  (func (export "assay:model/sandbox@2.0.0#portfolio") (param i32 i32) (result i32) (i32.const {EMPTY}))
  (func (export "assay:model/sandbox@2.0.0#scenarios") (result i32) (i32.const {list}))
  (func (export "assay:model/sandbox@2.0.0#behaviour-of")
    (param $agent i32) (param $bytes i64) (param $length i32) (result i32)
    (if (local.get $agent) (then (return (i32.const {NONE}))))
    (if (i32.eqz (local.get $length)) (then (return (i32.const {NONE}))))
    (select (i32.const {BEHAVIOUR}) (i32.const {NONE})
      (i32.eq (i32.load (i32.wrap_i64 (local.get $bytes))) (i32.const 0x77777777)))))"#
    )
}
