//! Makes the bytes that `tables` evaluates from the tokens of an expression.

use tables::{
    code::{self, Fold},
    fields::LISTS,
};

use super::{
    Expression, Wrong,
    tokens::{Lexeme, Placed},
};

/// The most operations, one inside the other.
const DEEPEST: usize = 32;
/// What an expression can call.
const KNOWN: &str = "sum, max, min, count, mean, if, log, log1p, sqrt, days, or_else, as_of and numbers";

pub(crate) struct Parser<'a> {
    tokens: Vec<Placed<'a>>,
    pub(super) at: usize,
    end: usize,
    within: usize,
    /// Of each value on the stack, whether it can be absent.
    pub(super) stack: Vec<bool>,
    pub(super) out: Expression,
}

pub(super) type Parsed = Result<(), Wrong>;

/// What a part of an expression is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Is {
    Number,
    /// True or false: the condition of an `if`.
    Truth,
}

pub(super) type Of = Result<Is, Wrong>;

impl<'a> Parser<'a> {
    pub(crate) fn new(tokens: Vec<Placed<'a>>, end: usize) -> Self {
        let out = Expression { code: Vec::new(), reads: Vec::new(), can_be_absent: false };
        Self { tokens, at: 0, end, within: 0, stack: Vec::new(), out }
    }

    pub(crate) fn whole(mut self) -> Result<Expression, Wrong> {
        self.figure()?;
        if let Some(token) = self.peek() {
            return Err(self.wrong(format!("{} does not belong here", shown(token))));
        }
        self.out.can_be_absent = self.stack.pop().unwrap_or(true);
        self.out.code.push(code::END);
        self.out.reads.sort();
        self.out.reads.dedup();
        Ok(self.out)
    }

    pub(super) fn peek(&self) -> Option<Lexeme<'a>> {
        self.tokens.get(self.at).map(|(_, token)| *token)
    }

    /// The byte where the next token starts.
    pub(super) fn place(&self) -> usize {
        self.tokens.get(self.at).map_or(self.end, |(place, _)| *place)
    }

    pub(super) fn wrong(&self, message: impl Into<String>) -> Wrong {
        Wrong::new(self.place(), message)
    }

    pub(super) fn take(&mut self, mark: &str) -> bool {
        let there = self.peek() == Some(Lexeme::Mark(mark));
        self.at += usize::from(there);
        there
    }

    pub(super) fn need(&mut self, mark: &str) -> Parsed {
        if self.take(mark) { Ok(()) } else { Err(self.wrong(format!("`{mark}` is missing"))) }
    }

    pub(super) fn word(&mut self, word: &str) -> bool {
        let there = self.peek() == Some(Lexeme::Name(word));
        self.at += usize::from(there);
        there
    }

    /// Records a value that is pushed on the stack, and whether it can be absent.
    pub(super) fn pushed(&mut self, can_be_absent: bool) -> Parsed {
        self.stack.push(can_be_absent);
        if self.stack.len() <= code::DEEPEST {
            return Ok(());
        }
        let message = format!("the expression is too deep: it needs more than {} values at once", code::DEEPEST);
        Err(self.wrong(message))
    }

    /// Adds an operator that makes one value of two.
    pub(super) fn operator(&mut self, operator: u8) {
        self.out.code.push(operator);
        let (right, left) = (self.stack.pop().unwrap_or(true), self.stack.pop().unwrap_or(true));
        self.stack.push(match operator {
            code::OR_ELSE => right,
            code::DIVIDE => true,
            code::AND | code::OR | code::COMPARE.. => false,
            _ => left || right,
        });
    }

    /// Enters an operation inside another.
    pub(super) fn enter(&mut self) -> Parsed {
        self.within += 1;
        if self.within <= DEEPEST {
            return Ok(());
        }
        Err(self.wrong(format!("the expression is more than {DEEPEST} deep")))
    }

    pub(super) fn leave(&mut self) {
        self.within -= 1;
    }

    /// A number, and not a truth.
    pub(super) fn figure(&mut self) -> Parsed {
        let start = self.place();
        let is = self.truth()?;
        self.is_number(start, is)
    }

    /// Refuses a truth that starts at a byte.
    pub(super) fn is_number(&self, start: usize, is: Is) -> Parsed {
        match is {
            Is::Number => Ok(()),
            Is::Truth => Err(Wrong::new(start, "this is true or false, and a number is needed: `if(x > 0, 1, 0)`")),
        }
    }

    pub(super) fn sum(&mut self) -> Of {
        self.enter()?;
        let start = self.place();
        let is = self.product()?;
        loop {
            let operator = match self.peek() {
                Some(Lexeme::Mark("+")) => code::ADD,
                Some(Lexeme::Mark("-")) => code::SUBTRACT,
                _ => break,
            };
            self.is_number(start, is)?;
            self.at += 1;
            let right = self.place();
            let is = self.product()?;
            self.is_number(right, is)?;
            self.operator(operator);
        }
        self.leave();
        Ok(is)
    }

    fn product(&mut self) -> Of {
        let start = self.place();
        let is = self.value()?;
        loop {
            let operator = match self.peek() {
                Some(Lexeme::Mark("*")) => code::MULTIPLY,
                Some(Lexeme::Mark("/")) => code::DIVIDE,
                _ => return Ok(is),
            };
            self.is_number(start, is)?;
            self.at += 1;
            let right = self.place();
            let is = self.value()?;
            self.is_number(right, is)?;
            self.operator(operator);
        }
    }

    fn value(&mut self) -> Of {
        match self.peek() {
            None => Err(self.wrong("it ends where a value is needed")),
            Some(Lexeme::Number(number)) => {
                self.at += 1;
                self.number(number)?;
                Ok(Is::Number)
            }
            Some(Lexeme::Mark("(")) => {
                self.at += 1;
                let is = self.truth()?;
                self.need(")")?;
                Ok(is)
            }
            Some(Lexeme::Mark("-")) => self.negative().map(|()| Is::Number),
            Some(Lexeme::Name(name)) => self.named(name).map(|()| Is::Number),
            Some(token) => Err(self.wrong(format!("{} stands where a value is needed", shown(token)))),
        }
    }

    fn number(&mut self, number: f64) -> Parsed {
        self.out.code.push(code::NUMBER);
        self.out.code.extend(number.to_le_bytes());
        self.pushed(false)
    }

    fn negative(&mut self) -> Parsed {
        self.enter()?;
        self.at += 1;
        self.number(0.0)?;
        let start = self.place();
        let is = self.value()?;
        self.is_number(start, is)?;
        self.operator(code::SUBTRACT);
        self.leave();
        Ok(())
    }

    fn named(&mut self, name: &str) -> Parsed {
        let start = self.at;
        self.at += 1;
        match (name, self.over_a_list()) {
            ("as_of", _) => {
                self.reads("as-of".into());
                self.out.code.push(code::AS_OF);
                self.pushed(false)
            }
            ("sum", _) => self.fold(Fold::Sum, name),
            ("count", _) => self.fold(Fold::Count, name),
            ("mean", _) => self.fold(Fold::Mean, name),
            ("max", true) => self.fold(Fold::Max, name),
            ("min", true) => self.fold(Fold::Min, name),
            ("max", false) => self.pair(code::MOST),
            ("min", false) => self.pair(code::LEAST),
            ("or_else", _) => self.pair(code::OR_ELSE),
            ("if", _) => self.choice(),
            ("log", _) => self.single(code::LOG),
            ("log1p", _) => self.single(code::LOG1P),
            ("sqrt", _) => self.single(code::SQRT),
            ("days", _) => {
                self.reads("as-of".into());
                self.single(code::DAYS)
            }
            _ => {
                self.at = start;
                let list = LISTS.iter().any(|list| name.split('.').next() == Some(list.name));
                let how =
                    if list { format!(". Say what of it: `sum({name})` or `max({name})`") } else { String::new() };
                Err(self.wrong(format!("`{name}` is unknown: there are {KNOWN}{how}")))
            }
        }
    }

    /// Whether a list, and not a value, comes after the bracket that is next.
    fn over_a_list(&self) -> bool {
        let Some((_, Lexeme::Name(name))) = self.tokens.get(self.at + 1) else { return false };
        let calls = self.tokens.get(self.at + 2).is_some_and(|(_, token)| *token == Lexeme::Mark("("));
        !calls && *name != "as_of"
    }

    fn single(&mut self, operator: u8) -> Parsed {
        self.need("(")?;
        self.figure()?;
        self.out.code.push(operator);
        if let Some(top) = self.stack.last_mut().filter(|_| operator != code::DAYS) {
            *top = true;
        }
        self.need(")")
    }

    fn pair(&mut self, operator: u8) -> Parsed {
        self.need("(")?;
        self.figure()?;
        self.need(",")?;
        self.figure()?;
        self.operator(operator);
        self.need(")")
    }

    pub(super) fn reads(&mut self, input: String) {
        self.out.reads.push(input);
    }
}

fn shown(token: Lexeme<'_>) -> String {
    match token {
        Lexeme::Number(number) => format!("`{number}`"),
        Lexeme::Name(name) => format!("`{name}`"),
        Lexeme::Text(text) => format!("\"{text}\""),
        Lexeme::Mark(mark) => format!("`{mark}`"),
    }
}
