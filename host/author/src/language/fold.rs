//! Makes the bytes of an operation over a list: `sum(markets.repay where coverage != failed)`.

use tables::{
    code::{self, Fold},
    fields::{Holds, LISTS, List},
};

use super::{
    Wrong,
    parse::{Parsed, Parser},
    tokens::Token,
};

/// The most conditions of one `where`.
const CONDITIONS: u8 = 16;

impl Parser<'_> {
    pub(super) fn fold(&mut self, fold: Fold, name: &str) -> Parsed {
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
            return Err(self.wrong(format!("{how} goes over a list: {}", lists())));
        };
        let (name, field) = word.split_once('.').map_or((word, None), |(list, field)| (list, Some(field)));
        let Some((at, list)) = (0_u8..).zip(LISTS).find(|(_, list)| list.name == name) else {
            return Err(self.wrong(format!("there is no list `{name}`: there are {}", lists())));
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
        self.out.reads.extend(field.inputs(list));
        Ok((place, field.holds))
    }

    fn condition(&mut self, list: u8) -> Parsed {
        let Some(list) = LISTS.get(usize::from(list)) else { return Ok(()) };
        let Some(Token::Name(name)) = self.peek() else {
            return Err(self.wrong(format!("a field of {} is needed", list.name)));
        };
        let (place, holds) = self.field(list, own(list, name))?;
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

/// The name of a field in a condition, which may begin with the name of the list.
fn own<'a>(list: &List, name: &'a str) -> &'a str {
    name.strip_prefix(list.name).and_then(|rest| rest.strip_prefix('.')).unwrap_or(name)
}

/// The names of the lists.
fn lists() -> String {
    LISTS.iter().map(|list| list.name).collect::<Vec<_>>().join(", ")
}
