//! The violations of a request: the location, a type for machines, and a message.

use std::{borrow::Cow, collections::BTreeSet};

use serde::Serialize;
use utoipa::ToSchema;

use assay_domain::display_text;

/// Maximum length of the name of an unknown field, in characters.
const SHOWN: usize = 100;
/// Maximum length of the words about a body, in characters.
const SHOWN_OF_BODY: usize = 300;
/// The likeness, 0 to 1, from which on a known field may be the one that is meant.
const NEAR: f64 = 0.85;

/// One error in a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(example = json!({
    "type": "greater_than_equal", "loc": ["body", "total_asset_usd"],
    "msg": "Input should be greater than or equal to 0"
}))]
pub struct Violation {
    #[schema(value_type = String)]
    r#type: &'static str,
    /// `body`, `query` or `path`, then the name of the field.
    #[schema(value_type = Vec<String>)]
    loc: Vec<Cow<'static, str>>,
    #[schema(value_type = String)]
    msg: Cow<'static, str>,
}

/// The location of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Location {
    Body,
    Query,
    Path,
}

impl Violation {
    fn new(
        r#type: &'static str,
        place: Location,
        field: Option<&'static str>,
        msg: impl Into<Cow<'static, str>>,
    ) -> Self {
        let place = match place {
            Location::Body => "body",
            Location::Query => "query",
            Location::Path => "path",
        };
        let loc = std::iter::once(place).chain(field).map(Cow::Borrowed).collect();
        Self { r#type, loc, msg: msg.into() }
    }

    /// The location and the message as one text.
    pub(crate) fn words(&self) -> String {
        format!("{}: {}", self.loc.join("."), self.msg)
    }

    pub fn missing(place: Location, field: &'static str) -> Self {
        Self::new("missing", place, Some(field), "Field required")
    }

    /// A field that a body does not have, and the one that may be meant, or all that it has.
    pub fn unknown(name: &str, known: &BTreeSet<&'static str>) -> Self {
        let near = known.iter().map(|known| (strsim::jaro_winkler(name, known), *known));
        let nearest = near.filter(|(likeness, _)| *likeness > NEAR).max_by(|one, other| one.0.total_cmp(&other.0));
        let msg = match nearest {
            Some((_, known)) => format!("Unknown field; did you mean {known}?"),
            None => format!("Unknown field; known fields are {}", known.iter().copied().collect::<Vec<_>>().join(", ")),
        };
        let mut violation = Self::new("extra_forbidden", Location::Body, None, msg);
        violation.loc.push(Cow::Owned(display_text(name, SHOWN)));
        violation
    }

    /// A field that is given more than once, so all but one would be ignored.
    pub fn duplicate(place: Location, field: &str) -> Self {
        let mut violation = Self::new("duplicate", place, None, "Field given more than once");
        violation.loc.push(Cow::Owned(display_text(field, SHOWN)));
        violation
    }

    pub fn not_a_bool(place: Location, field: &'static str) -> Self {
        Self::new("bool_parsing", place, Some(field), "Input should be a valid boolean, unable to interpret input")
    }

    pub fn not_an_integer(place: Location, field: &'static str) -> Self {
        Self::new(
            "int_parsing",
            place,
            Some(field),
            "Input should be a valid integer, unable to parse string as an integer",
        )
    }

    pub fn not_a_number(field: &'static str) -> Self {
        Self::new("float_type", Location::Body, Some(field), "Input should be a valid number")
    }

    pub fn not_an_int(field: &'static str) -> Self {
        Self::new("int_type", Location::Body, Some(field), "Input should be a valid integer")
    }

    pub fn not_whole(field: &'static str) -> Self {
        Self::new(
            "int_from_float",
            Location::Body,
            Some(field),
            "Input should be a valid integer, got a number with a fractional part",
        )
    }

    pub fn beyond(place: Location, field: &'static str, most: u64) -> Self {
        Self::new("less_than_equal", place, Some(field), format!("Input should be less than or equal to {most}"))
    }

    pub fn not_finite(field: &'static str) -> Self {
        Self::new("finite_number", Location::Body, Some(field), "Input should be a finite number")
    }

    pub fn negative(field: &'static str) -> Self {
        Self::new("greater_than_equal", Location::Body, Some(field), "Input should be greater than or equal to 0")
    }

    pub fn below_one(place: Location, field: &'static str) -> Self {
        Self::new("greater_than_equal", place, Some(field), "Input should be greater than or equal to 1")
    }

    pub fn empty(place: Location, field: &'static str) -> Self {
        Self::new("string_too_short", place, Some(field), "String should have at least 1 character")
    }

    pub fn not_a_string(field: &'static str) -> Self {
        Self::new("string_type", Location::Body, Some(field), "Input should be a valid string")
    }

    pub fn not_a_list(field: &'static str) -> Self {
        Self::new("list_type", Location::Body, Some(field), "Input should be a valid list")
    }

    /// A value that its type cannot parse, with the error message of that type.
    pub fn refused(place: Location, field: &'static str, why: impl std::fmt::Display) -> Self {
        Self::new("value_error", place, Some(field), format!("Value error, {why}"))
    }

    /// A body that is not of its form; the words may repeat a part of it.
    pub fn of_body(why: impl std::fmt::Display) -> Self {
        let why = display_text(&why.to_string(), SHOWN_OF_BODY);
        Self::new("value_error", Location::Body, None, format!("Value error, {why}"))
    }

    pub fn not_an_object() -> Self {
        Self::new(
            "model_attributes_type",
            Location::Body,
            None,
            "Input should be a valid dictionary or object to extract fields from",
        )
    }

    pub fn not_json(error: &serde_json::Error) -> Self {
        Self::new("json_invalid", Location::Body, None, format!("JSON decode error: {error}"))
    }
}
