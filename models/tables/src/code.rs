//! An expression as bytes for a machine with a stack, and its value. A number that is absent is NaN throughout, and so is
//! every result that is not finite.

/// The most values on the stack; a packer refuses what needs more.
pub const DEEPEST: usize = 16;
/// In place of a field: the items themselves are counted.
pub const NO_FIELD: u8 = 255;

/// Ends an expression.
pub const END: u8 = 0;
/// Pushes the number that follows.
pub const NUMBER: u8 = 1;
/// Pushes a figure over a list: one of [`Fold`], list, field, number of groups; then each group, which is the number of its
/// conditions and these. An item is selected if all conditions of a group hold, or if there is no group.
pub const FOLD: u8 = 2;
/// Pushes the moment that the features describe.
pub const AS_OF: u8 = 3;
pub const ADD: u8 = 4;
pub const SUBTRACT: u8 = 5;
pub const MULTIPLY: u8 = 6;
pub const DIVIDE: u8 = 7;
/// The smaller and the larger of two numbers; absent where one of them is.
pub const LEAST: u8 = 8;
pub const MOST: u8 = 9;
/// The first of two numbers, or the second where the first is absent.
pub const OR_ELSE: u8 = 10;
/// ln(1 + x).
pub const LOG1P: u8 = 11;
/// Days from a time to the moment that the features describe; 0 for a later time.
pub const DAYS: u8 = 12;

/// ln(x) and the square root; absent where they are not finite.
pub const LOG: u8 = 13;
pub const SQRT: u8 = 14;
/// The second of three numbers where the first is not 0, else the third.
pub const IF: u8 = 15;
/// 1 where two truths are 1, or where one is; else 0.
pub const AND: u8 = 16;
pub const OR: u8 = 17;
/// Plus [`EQUAL`] and the others: 1 where two numbers compare so, else 0. An absent number is equal to nothing and beyond
/// nothing.
pub const COMPARE: u8 = 32;

/// A figure over the items of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Fold {
    /// 0 where no item is selected; absent where items are selected and none has the field.
    Sum,
    Max,
    Min,
    /// Items, or items that have the field.
    Count,
    Mean,
}

/// How a condition compares.
pub const EQUAL: u8 = 0;
pub const NOT_EQUAL: u8 = 1;
pub const BELOW: u8 = 2;
pub const AT_MOST: u8 = 3;
pub const ABOVE: u8 = 4;
pub const AT_LEAST: u8 = 5;

/// A condition begins with what it compares.
pub const WITH_NUMBER: u8 = 0;
pub const WITH_TEXT: u8 = 1;

/// The features of one wallet.
pub trait Source {
    fn as_of(&self) -> f64;
    /// The length of a list.
    fn count(&self, list: u8) -> usize;
    /// NaN where the field is absent.
    fn number(&self, list: u8, item: usize, field: u8) -> f64;
    /// Empty where the field is absent.
    fn text(&self, list: u8, item: usize, field: u8) -> &str;
}

/// The rest of the code.
#[derive(Clone, Copy)]
struct Code<'a>(&'a [u8]);

impl<'a> Code<'a> {
    /// The end where there is no more.
    #[inline]
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return END };
        self.0 = rest;
        *first
    }

    #[inline]
    fn number(&mut self) -> f64 {
        let Some((first, rest)) = self.0.split_first_chunk() else { return f64::NAN };
        self.0 = rest;
        f64::from_le_bytes(*first)
    }

    #[inline]
    fn text(&mut self) -> &'a [u8] {
        let length = usize::from(self.byte());
        let Some((text, rest)) = self.0.split_at_checked(length) else { return &[] };
        self.0 = rest;
        text
    }
}

struct Stack {
    values: [f64; DEEPEST],
    top: usize,
}

impl Stack {
    #[inline]
    fn push(&mut self, value: f64) {
        if let Some(place) = self.values.get_mut(self.top) {
            *place = value;
            self.top += 1;
        }
    }

    #[inline]
    fn pop(&mut self) -> f64 {
        self.top = self.top.saturating_sub(1);
        self.values.get(self.top).copied().unwrap_or(f64::NAN)
    }
}

/// The value of the expression at the start of `code`, which moves behind it. NaN where it is absent.
pub fn value(code: &mut &[u8], source: &impl Source) -> f64 {
    let (mut rest, mut stack) = (Code(code), Stack { values: [f64::NAN; DEEPEST], top: 0 });
    loop {
        let pushed = match rest.byte() {
            END => break,
            NUMBER => rest.number(),
            FOLD => fold(&mut rest, source),
            AS_OF => source.as_of(),
            LOG1P => libm::log1p(stack.pop()),
            LOG => finite(libm::log(stack.pop())),
            SQRT => finite(libm::sqrt(stack.pop())),
            IF => {
                let (otherwise, then, condition) = (stack.pop(), stack.pop(), stack.pop());
                if condition == 0.0 { otherwise } else { then }
            }
            DAYS => days(source.as_of() - stack.pop()),
            operator => {
                let (right, left) = (stack.pop(), stack.pop());
                binary(operator, left, right)
            }
        };
        stack.push(pushed);
    }
    *code = rest.0;
    finite(stack.pop())
}

fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { f64::NAN }
}

/// Days of `seconds`; 0 for a time that is still to come.
pub fn days(seconds: f64) -> f64 {
    if seconds < 0.0 { 0.0 } else { seconds / 86_400.0 }
}

#[inline]
fn binary(operator: u8, left: f64, right: f64) -> f64 {
    let absent = left.is_nan() || right.is_nan();
    match operator {
        // A figure that is too large is absent too.
        OR_ELSE if !left.is_finite() => right,
        OR_ELSE => left,
        AND => left * right,
        OR => {
            if left + right > 0.0 {
                1.0
            } else {
                0.0
            }
        }
        how @ COMPARE.. => f64::from(u8::from(compares(how - COMPARE, left, right))),
        _ if absent => f64::NAN,
        ADD => left + right,
        SUBTRACT => left - right,
        MULTIPLY => left * right,
        // A share of nothing says nothing.
        DIVIDE if right == 0.0 => f64::NAN,
        DIVIDE => left / right,
        LEAST if right < left => right,
        LEAST => left,
        MOST if right > left => right,
        _ => left,
    }
}

/// What a fold has seen.
#[derive(Default)]
struct Seen {
    selected: u32,
    present: u32,
    sum: f64,
    least: f64,
    most: f64,
}

impl Seen {
    #[inline]
    fn add(&mut self, number: f64) {
        self.selected += 1;
        if number.is_nan() {
            return;
        }
        let first = self.present == 0;
        self.present += 1;
        self.sum += number;
        self.least = if first || number < self.least { number } else { self.least };
        self.most = if first || number > self.most { number } else { self.most };
    }
}

fn fold(code: &mut Code<'_>, source: &impl Source) -> f64 {
    let (how, list, field, groups) = (code.byte(), code.byte(), code.byte(), code.byte());
    let start = *code;
    // Past the conditions, also where the list is empty.
    for _ in 0..groups {
        skip(code);
    }
    let mut seen = Seen::default();
    for item in 0..source.count(list) {
        let mut at = start;
        if groups == 0 || (0..groups).any(|_| group_holds(&mut at, source, list, item)) {
            seen.add(if field == NO_FIELD { 0.0 } else { source.number(list, item, field) });
        }
    }
    let present = |figure: f64| if seen.present == 0 { f64::NAN } else { figure };
    match how {
        _ if how == Fold::Sum as u8 => {
            if seen.selected == 0 {
                0.0
            } else {
                present(seen.sum)
            }
        }
        _ if how == Fold::Max as u8 => present(seen.most),
        _ if how == Fold::Min as u8 => present(seen.least),
        _ if how == Fold::Count as u8 => f64::from(seen.present),
        _ => present(seen.sum / f64::from(seen.present)),
    }
}

/// Goes past a group of conditions.
fn skip(code: &mut Code<'_>) {
    for _ in 0..code.byte() {
        let (with, _, _) = (code.byte(), code.byte(), code.byte());
        if with == WITH_TEXT {
            let _ = code.text();
        } else {
            let _ = code.number();
        }
    }
}

/// Whether all conditions of the group at `code` hold of an item. It moves behind the group.
#[inline]
fn group_holds(code: &mut Code<'_>, source: &impl Source, list: u8, item: usize) -> bool {
    let mut at = *code;
    let all = (0..at.byte()).all(|_| holds(&mut at, source, list, item));
    if all {
        *code = at;
    } else {
        skip(code);
    }
    all
}

/// Whether the condition at `code` holds of an item. An absent number is equal to nothing and beyond nothing.
#[inline]
fn holds(code: &mut Code<'_>, source: &impl Source, list: u8, item: usize) -> bool {
    let (with, field, how) = (code.byte(), code.byte(), code.byte());
    if with == WITH_TEXT {
        let wanted = code.text();
        return (source.text(list, item, field).as_bytes() == wanted) == (how == EQUAL);
    }
    let wanted = code.number();
    compares(how, source.number(list, item, field), wanted)
}

#[inline]
fn compares(how: u8, left: f64, right: f64) -> bool {
    match how {
        EQUAL => left == right,
        NOT_EQUAL => !left.is_nan() && !right.is_nan() && left != right,
        BELOW => left < right,
        AT_MOST => left <= right,
        ABOVE => left > right,
        _ => left >= right,
    }
}
