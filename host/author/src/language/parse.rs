//! Makes the bytes that `tables` evaluates from the tokens of an expression.

use tables::{
    code::{self, Fold},
    fields::{Holds, LISTS, List},
};

use super::{
    Expression, Wrong,
    tokens::{Placed, Token},
};

/// The most operations, one inside the other.
const DEEPEST: usize = 32;
/// The most conditions of one `where`.
const CONDITIONS: u8 = 16;
/// What an expression can call.
const KNOWN: &str = "sum, max, min, count, mean, log1p, days, or_else, as_of and numbers";

pub struct Parser<'a> {
    tokens: Vec<Placed<'a>>,
    at: usize,
    end: usize,
    within: usize,
    stack: usize,
    out: Expression,
}

type Parsed = Result<(), Wrong>;

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

    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).map(|(_, token)| *token)
    }

    /// The byte where the next token starts.
    fn place(&self) -> usize {
        self.tokens.get(self.at).map_or(self.end, |(place, _)| *place)
    }

    fn wrong(&self, message: impl Into<String>) -> Wrong {
        Wrong::new(self.place(), message)
    }

    fn take(&mut self, mark: &str) -> bool {
        let there = self.peek() == Some(Token::Mark(mark));
        self.at += usize::from(there);
        there
    }

    fn need(&mut self, mark: &str) -> Parsed {
        if self.take(mark) { Ok(()) } else { Err(self.wrong(format!("`{mark}` is missing"))) }
    }

    fn word(&mut self, word: &str) -> bool {
        let there = self.peek() == Some(Token::Name(word));
        self.at += usize::from(there);
        there
    }

    /// Counts one more value on the stack.
    fn pushed(&mut self) -> Parsed {
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

    fn reads(&mut self, input: String) {
        self.out.reads.push(input);
    }

    fn fold(&mut self, fold: Fold, name: &str) -> Parsed {
        self.need("(")?;
        let (list, field) = self.listed(fold, name)?;
        self.out.code.extend([code::FOLD, fold as u8, list, field, 0]);
        let count = self.out.code.len() - 1;
        let mut conditions = 0_u8;
        if self.word("where") {
            loop {
                self.condition(list)?;
                conditions += 1;
                if conditions > CONDITIONS {
                    return Err(self.wrong(format!("a `where` has at most {CONDITIONS} conditions")));
                }
                if !self.word("and") {
                    break;
                }
            }
        }
        if let Some(place) = self.out.code.get_mut(count) {
            *place = conditions;
        }
        self.pushed()?;
        self.need(")")
    }

    /// The list of a fold, and its field.
    fn listed(&mut self, fold: Fold, how: &str) -> Result<(u8, u8), Wrong> {
        let Some(Token::Name(word)) = self.peek() else {
            return Err(self.wrong(format!("{how} goes over a list: chains, markets, holdings or identity")));
        };
        let (name, field) = word.split_once('.').map_or((word, None), |(list, field)| (list, Some(field)));
        let Some((at, list)) = (0_u8..).zip(LISTS).find(|(_, list)| list.name == name) else {
            let names: Vec<_> = LISTS.iter().map(|list| list.name).collect();
            return Err(self.wrong(format!("there is no list `{name}`: there are {}", names.join(", "))));
        };
        let field = match field {
            Some(field) => {
                let (place, holds) = self.field(list, field)?;
                if fold != Fold::Count && matches!(holds, Holds::Text | Holds::Word(_)) {
                    let message = format!("`{field}` of {name} holds text, and {how} needs numbers");
                    return Err(self.wrong(message));
                }
                place
            }
            None if fold == Fold::Count => code::NO_FIELD,
            None => {
                let some = list.fields.iter().filter(|field| field.holds == Holds::Number).nth(1);
                let some = some.map_or("", |field| field.name);
                return Err(self.wrong(format!("name a field of {name}, such as `{name}.{some}`")));
            }
        };
        self.at += 1;
        Ok((at, field))
    }

    fn field(&mut self, list: &List, name: &str) -> Result<(u8, Holds), Wrong> {
        let found = (0_u8..).zip(list.fields).find(|(_, field)| field.name == name);
        let Some((place, field)) = found else {
            let names: Vec<_> = list.fields.iter().map(|field| field.name).collect();
            let message = format!("{} has no field `{name}`: it has {}", list.name, names.join(", "));
            return Err(self.wrong(message));
        };
        self.reads(format!("{}.{}", list.name, name.replace('_', "-")));
        Ok((place, field.holds))
    }

    fn condition(&mut self, list: u8) -> Parsed {
        let Some(list) = LISTS.get(usize::from(list)) else { return Ok(()) };
        let Some(Token::Name(name)) = self.peek() else {
            return Err(self.wrong(format!("a field of {} is needed", list.name)));
        };
        let (place, holds) = self.field(list, name.rsplit('.').next().unwrap_or(name))?;
        let first = self.at;
        self.at += 1;
        let Some(how) = self.comparison() else {
            self.at = first;
            return match holds {
                Holds::Truth => {
                    self.at += 1;
                    self.compared(place, code::EQUAL, 1.0);
                    Ok(())
                }
                Holds::Number => Err(self.wrong(format!("`{name}` is a number: compare it, as in `{name} > 0`"))),
                _ => Err(self.wrong(format!("compare `{name}` with == or !="))),
            };
        };
        if holds != Holds::Number && how > code::NOT_EQUAL {
            self.at -= 1;
            return Err(self.wrong("words are compared with == and != alone"));
        }
        self.wanted(name, place, how, holds)
    }

    fn comparison(&mut self) -> Option<u8> {
        let Some(Token::Mark(mark)) = self.peek() else { return None };
        let how = match mark {
            "==" => code::EQUAL,
            "!=" => code::NOT_EQUAL,
            "<" => code::BELOW,
            "<=" => code::AT_MOST,
            ">" => code::ABOVE,
            ">=" => code::AT_LEAST,
            _ => return None,
        };
        self.at += 1;
        Some(how)
    }

    /// The value that a field is compared with.
    fn wanted(&mut self, name: &str, place: u8, how: u8, holds: Holds) -> Parsed {
        let negative = self.take("-");
        let token = self.peek();
        match (holds, token) {
            (Holds::Number, Some(Token::Number(number))) => {
                self.compared(place, how, if negative { -number } else { number });
            }
            (Holds::Truth, Some(Token::Name(word @ ("true" | "false")))) => {
                self.compared(place, how, f64::from(u8::from(word == "true")));
            }
            (Holds::Word(words), Some(Token::Name(word))) => {
                let Some(number) = words.iter().position(|known| *known == word) else {
                    return Err(self.wrong(format!("`{word}` is none of {}", words.join(", "))));
                };
                self.compared(place, how, f64::from(u8::try_from(number).unwrap_or(u8::MAX)));
            }
            (Holds::Text, Some(Token::Text(text))) => self.compared_with_text(place, how, text)?,
            (Holds::Text, Some(Token::Name(word))) => {
                return Err(self.wrong(format!("write a text in quotes, such as \"{word}\"")));
            }
            (Holds::Number, _) => return Err(self.wrong(format!("`{name}` is compared with a number"))),
            (Holds::Truth, _) => return Err(self.wrong(format!("`{name}` is compared with true or false"))),
            (Holds::Text, _) => return Err(self.wrong(format!("`{name}` is compared with a text in quotes"))),
            (Holds::Word(words), _) => {
                return Err(self.wrong(format!("`{name}` is compared with one of {}", words.join(", "))));
            }
        }
        self.at += 1;
        Ok(())
    }

    fn compared(&mut self, place: u8, how: u8, number: f64) {
        self.out.code.extend([code::WITH_NUMBER, place, how]);
        self.out.code.extend(number.to_le_bytes());
    }

    fn compared_with_text(&mut self, place: u8, how: u8, text: &str) -> Parsed {
        let length = u8::try_from(text.len()).map_err(|_| self.wrong("a text has at most 255 bytes"))?;
        self.out.code.extend([code::WITH_TEXT, place, how, length]);
        self.out.code.extend(text.as_bytes());
        Ok(())
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
