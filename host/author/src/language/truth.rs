//! Makes the bytes of comparisons: `if(x > 0 and (y < 1 or z == 2), x, y)`.

use tables::code;

use super::{
    Wrong,
    parse::{Is, Of, Parsed, Parser},
    tokens::Lexeme,
};

impl Parser<'_> {
    /// A number, or comparisons joined by `and` and `or`.
    pub(super) fn truth(&mut self) -> Of {
        self.joined("or", code::OR, |parser| parser.joined("and", code::AND, Self::compared_numbers))
    }

    fn joined(&mut self, word: &str, operator: u8, mut part: impl FnMut(&mut Self) -> Of) -> Of {
        let start = self.place();
        let is = part(self)?;
        while self.peek() == Some(Lexeme::Name(word)) {
            self.is_truth(start, is)?;
            self.at += 1;
            let right = self.place();
            let is = part(self)?;
            self.is_truth(right, is)?;
            self.operator(operator);
        }
        Ok(is)
    }

    fn compared_numbers(&mut self) -> Of {
        let start = self.place();
        let is = self.sum()?;
        let Some(how) = self.comparison() else { return Ok(is) };
        self.is_number(start, is)?;
        let right = self.place();
        let is = self.sum()?;
        self.is_number(right, is)?;
        self.operator(code::COMPARE + how);
        Ok(Is::Truth)
    }

    fn is_truth(&self, start: usize, is: Is) -> Parsed {
        match is {
            Is::Truth => Ok(()),
            Is::Number => Err(Wrong::new(start, "a comparison is needed here, as in `if(x > 0, 1, 0)`")),
        }
    }

    /// `if(condition, then, otherwise)`.
    pub(super) fn choice(&mut self) -> Parsed {
        self.need("(")?;
        let start = self.place();
        let is = self.truth()?;
        self.is_truth(start, is)?;
        self.need(",")?;
        self.figure()?;
        self.need(",")?;
        self.figure()?;
        self.out.code.push(code::IF);
        let (otherwise, then) = (self.stack.pop().unwrap_or(true), self.stack.pop().unwrap_or(true));
        if let Some(top) = self.stack.last_mut() {
            *top = otherwise || then;
        }
        self.need(")")
    }
}
