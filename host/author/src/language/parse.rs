//! Makes the bytes that `tables` evaluates from the tokens of an expression.

use tables::{
    code::{self, Fold},
    fields::LISTS,
};

use super::{
    Expression, Wrong,
    tokens::{Placed, Token},
};

/// The most operations, one inside the other.
const DEEPEST: usize = 32;
/// What an expression can call.
const KNOWN: &str = "sum, max, min, count, mean, log1p, days, or_else, as_of and numbers";

pub struct Parser<'a> {
    tokens: Vec<Placed<'a>>,
    pub(super) at: usize,
    end: usize,
    within: usize,
    stack: usize,
    pub(super) out: Expression,
}

pub(super) type Parsed = Result<(), Wrong>;

impl<'a> Parser<'a> {
    pub fn new(tokens: Vec<Placed<'a>>, end: usize) -> Self {
        let out = Expression { code: Vec::new(), reads: Vec::new() };
        Self { tokens, at: 0, end, within: 0, stack: 0, out }
    }

    pub fn whole(mut self) -> Result<Expression, Wrong> {
        self.sum()?;
        if let Some(token) = self.peek() {
            return Err(self.wrong(format!("{} does not belong here", shown(token))));
        }
        self.out.code.push(code::END);
        self.out.reads.sort();
        self.out.reads.dedup();
        Ok(self.out)
    }

    pub(super) fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).map(|(_, token)| *token)
    }

    /// The byte where the next token starts.
    fn place(&self) -> usize {
        self.tokens.get(self.at).map_or(self.end, |(place, _)| *place)
    }

    pub(super) fn wrong(&self, message: impl Into<String>) -> Wrong {
        Wrong::new(self.place(), message)
    }

    pub(super) fn take(&mut self, mark: &str) -> bool {
        let there = self.peek() == Some(Token::Mark(mark));
        self.at += usize::from(there);
        there
    }

    pub(super) fn need(&mut self, mark: &str) -> Parsed {
        if self.take(mark) { Ok(()) } else { Err(self.wrong(format!("`{mark}` is missing"))) }
    }

    pub(super) fn word(&mut self, word: &str) -> bool {
        let there = self.peek() == Some(Token::Name(word));
        self.at += usize::from(there);
        there
    }

    /// Counts one more value on the stack.
    pub(super) fn pushed(&mut self) -> Parsed {
        self.stack += 1;
        if self.stack <= code::DEEPEST {
            return Ok(());
        }
        let message = format!("the expression is too deep: it needs more than {} values at once", code::DEEPEST);
        Err(self.wrong(message))
    }

    /// Adds an operator that makes one value of two.
    fn operator(&mut self, operator: u8) {
        self.out.code.push(operator);
        self.stack -= 1;
    }

    /// Enters an operation inside another.
    fn enter(&mut self) -> Parsed {
        self.within += 1;
        if self.within <= DEEPEST {
            return Ok(());
        }
        Err(self.wrong(format!("the expression is more than {DEEPEST} deep")))
    }

    fn sum(&mut self) -> Parsed {
        self.enter()?;
        self.product()?;
        loop {
            let operator = match self.peek() {
                Some(Token::Mark("+")) => code::ADD,
                Some(Token::Mark("-")) => code::SUBTRACT,
                _ => break,
            };
            self.at += 1;
            self.product()?;
            self.operator(operator);
        }
        self.within -= 1;
        Ok(())
    }

    fn product(&mut self) -> Parsed {
        self.value()?;
        loop {
            let operator = match self.peek() {
                Some(Token::Mark("*")) => code::MULTIPLY,
                Some(Token::Mark("/")) => code::DIVIDE,
                _ => return Ok(()),
            };
            self.at += 1;
            self.value()?;
            self.operator(operator);
        }
    }

    fn value(&mut self) -> Parsed {
        match self.peek() {
            None => Err(self.wrong("it ends where a value is needed")),
            Some(Token::Number(number)) => {
                self.at += 1;
                self.number(number)
            }
            Some(Token::Mark("(")) => {
                self.at += 1;
                self.sum()?;
                self.need(")")
            }
            Some(Token::Mark("-")) => self.negative(),
            Some(Token::Name(name)) => self.named(name),
            Some(token) => Err(self.wrong(format!("{} stands where a value is needed", shown(token)))),
        }
    }

    fn number(&mut self, number: f64) -> Parsed {
        self.out.code.push(code::NUMBER);
        self.out.code.extend(number.to_le_bytes());
        self.pushed()
    }

    fn negative(&mut self) -> Parsed {
        self.enter()?;
        self.at += 1;
        self.number(0.0)?;
        self.value()?;
        self.operator(code::SUBTRACT);
        self.within -= 1;
        Ok(())
    }

    fn named(&mut self, name: &str) -> Parsed {
        let start = self.at;
        self.at += 1;
        match (name, self.over_a_list()) {
            ("as_of", _) => {
                self.reads("as-of".into());
                self.out.code.push(code::AS_OF);
                self.pushed()
            }
            ("sum", _) => self.fold(Fold::Sum, name),
            ("count", _) => self.fold(Fold::Count, name),
            ("mean", _) => self.fold(Fold::Mean, name),
            ("max", true) => self.fold(Fold::Max, name),
            ("min", true) => self.fold(Fold::Min, name),
            ("max", false) => self.pair(code::MOST),
            ("min", false) => self.pair(code::LEAST),
            ("or_else", _) => self.pair(code::OR_ELSE),
            ("log1p", _) => self.single(code::LOG1P),
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
        let Some((_, Token::Name(name))) = self.tokens.get(self.at + 1) else { return false };
        let calls = self.tokens.get(self.at + 2).is_some_and(|(_, token)| *token == Token::Mark("("));
        !calls && *name != "as_of"
    }

    fn single(&mut self, operator: u8) -> Parsed {
        self.need("(")?;
        self.sum()?;
        self.out.code.push(operator);
        self.need(")")
    }

    fn pair(&mut self, operator: u8) -> Parsed {
        self.need("(")?;
        self.sum()?;
        self.need(",")?;
        self.sum()?;
        self.operator(operator);
        self.need(")")
    }

    pub(super) fn reads(&mut self, input: String) {
        self.out.reads.push(input);
    }
}

fn shown(token: Token<'_>) -> String {
    match token {
        Token::Number(number) => format!("`{number}`"),
        Token::Name(name) => format!("`{name}`"),
        Token::Text(text) => format!("\"{text}\""),
        Token::Mark(mark) => format!("`{mark}`"),
    }
}
