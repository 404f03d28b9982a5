//! Makes the bytes of an operation over a list: `sum(markets.repay where coverage != failed)`.

use tables::{
    code::{self, Fold},
    fields::{Holds, LISTS, List},
};

use super::{
    Wrong,
    parse::{Parsed, Parser},
    tokens::Lexeme,
};

/// The most conditions of one `where`. A condition that `and` joins to an `or` counts once for each alternative.
const CONDITIONS: usize = 64;

/// Conditions as bytes, in groups: all of a group must hold, and one group is enough.
type Groups = Vec<Vec<Vec<u8>>>;

impl Parser<'_> {
    pub(super) fn fold(&mut self, fold: Fold, name: &str) -> Parsed {
        self.need("(")?;
        let (list, field) = self.listed(fold, name)?;
        let groups = if self.word("where") { self.any(list)? } else { Vec::new() };
        // There are at most `CONDITIONS` of both.
        self.out.code.extend([code::FOLD, fold as u8, list, field, groups.len() as u8]);
        for group in &groups {
            self.out.code.push(group.len() as u8);
            self.out.code.extend(group.iter().flatten());
        }
        self.pushed(fold != Fold::Count)?;
        self.need(")")
    }

    /// Conditions joined by `or`.
    fn any(&mut self, list: u8) -> Result<Groups, Wrong> {
        self.enter()?;
        let mut groups = self.all(list)?;
        while self.word("or") {
            groups.extend(self.all(list)?);
            self.few(&groups)?;
        }
        self.leave();
        Ok(groups)
    }

    /// Conditions joined by `and`, which binds more closely.
    fn all(&mut self, list: u8) -> Result<Groups, Wrong> {
        let mut groups = vec![Vec::new()];
        loop {
            let more = if self.take("(") {
                let more = self.any(list)?;
                self.need(")")?;
                more
            } else {
                vec![vec![self.condition(list)?]]
            };
            let joined = |group: &Vec<Vec<u8>>| {
                let group = group.clone();
                more.iter().map(move |more| [group.as_slice(), more.as_slice()].concat()).collect::<Groups>()
            };
            groups = groups.iter().flat_map(joined).collect();
            self.few(&groups)?;
            if !self.word("and") {
                return Ok(groups);
            }
        }
    }

    fn few(&self, groups: &Groups) -> Parsed {
        if groups.iter().map(Vec::len).sum::<usize>() <= CONDITIONS {
            return Ok(());
        }
        let message =
            format!("a `where` has at most {CONDITIONS} conditions, once each `or` within an `and` is written out");
        Err(self.wrong(message))
    }

    /// The list of a fold, and its field.
    fn listed(&mut self, fold: Fold, how: &str) -> Result<(u8, u8), Wrong> {
        let Some(Lexeme::Name(word)) = self.peek() else {
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

    fn condition(&mut self, list: u8) -> Result<Vec<u8>, Wrong> {
        let Some(list) = LISTS.get(usize::from(list)) else { return Ok(Vec::new()) };
        let Some(Lexeme::Name(name)) = self.peek() else {
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
                    Ok(compared(place, code::EQUAL, 1.0))
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

    pub(super) fn comparison(&mut self) -> Option<u8> {
        let Some(Lexeme::Mark(mark)) = self.peek() else { return None };
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
    fn wanted(&mut self, name: &str, place: u8, how: u8, holds: Holds) -> Result<Vec<u8>, Wrong> {
        let negative = self.take("-");
        let token = self.peek();
        let condition = match (holds, token) {
            (Holds::Number, Some(Lexeme::Number(number))) => {
                compared(place, how, if negative { -number } else { number })
            }
            (Holds::Truth, Some(Lexeme::Name(word @ ("true" | "false")))) => {
                compared(place, how, f64::from(u8::from(word == "true")))
            }
            (Holds::Word(words), Some(Lexeme::Name(word))) => {
                let Some(number) = words.iter().position(|known| *known == word) else {
                    return Err(self.wrong(format!("`{word}` is none of {}", words.join(", "))));
                };
                compared(place, how, f64::from(u8::try_from(number).unwrap_or(u8::MAX)))
            }
            (Holds::Text, Some(Lexeme::Text(text))) => self.compared_with_text(place, how, text)?,
            (Holds::Text, Some(Lexeme::Name(word))) => {
                return Err(self.wrong(format!("write a text in quotes, such as \"{word}\"")));
            }
            (Holds::Number, _) => return Err(self.wrong(format!("`{name}` is compared with a number"))),
            (Holds::Truth, _) => return Err(self.wrong(format!("`{name}` is compared with true or false"))),
            (Holds::Text, _) => return Err(self.wrong(format!("`{name}` is compared with a text in quotes"))),
            (Holds::Word(words), _) => {
                return Err(self.wrong(format!("`{name}` is compared with one of {}", words.join(", "))));
            }
        };
        self.at += 1;
        Ok(condition)
    }

    fn compared_with_text(&self, place: u8, how: u8, text: &str) -> Result<Vec<u8>, Wrong> {
        let length = u8::try_from(text.len()).map_err(|_| self.wrong("a text has at most 255 bytes"))?;
        Ok([&[code::WITH_TEXT, place, how, length], text.as_bytes()].concat())
    }
}

fn compared(place: u8, how: u8, number: f64) -> Vec<u8> {
    [&[code::WITH_NUMBER, place, how] as &[u8], &number.to_le_bytes()].concat()
}

/// The name of a field in a condition, which may begin with the name of the list.
fn own<'a>(list: &List, name: &'a str) -> &'a str {
    name.strip_prefix(list.name).and_then(|rest| rest.strip_prefix('.')).unwrap_or(name)
}

/// The names of the lists.
fn lists() -> String {
    LISTS.iter().map(|list| list.name).collect::<Vec<_>>().join(", ")
}
