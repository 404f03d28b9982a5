//! Validates values against the document's schemas: the part of JSON Schema that the document uses, read strictly. An
//! object has only the fields of its schema, and an unknown keyword is an error.

use std::sync::Arc;

use serde_json::{Map, Value};

/// Keywords that do not restrict a value.
const SILENT: [&str; 6] = ["title", "description", "example", "examples", "default", "deprecated"];

pub struct Schema {
    schema: Value,
    components: Arc<Map<String, Value>>,
}

impl Schema {
    pub fn new(schema: &Value, components: &Arc<Map<String, Value>>) -> Self {
        Self { schema: schema.clone(), components: components.clone() }
    }

    /// The errors of `value`, each with its position.
    pub fn errors(&self, value: &Value) -> Vec<String> {
        let mut errors = Vec::new();
        self.check(&self.schema, value, "", true, &mut errors);
        errors
    }

    fn target(&self, reference: &str) -> &Value {
        let name =
            reference.strip_prefix("#/components/schemas/").unwrap_or_else(|| panic!("{reference} is elsewhere"));
        self.components.get(name).unwrap_or_else(|| panic!("{reference} refers to nothing"))
    }

    /// `closed` is true if the value may have only the named fields.
    fn check(&self, schema: &Value, value: &Value, at: &str, closed: bool, errors: &mut Vec<String>) {
        let keywords = schema.as_object().unwrap_or_else(|| panic!("{schema} is no schema"));
        let mut wrong = |what: String| errors.push(format!("{at}: {what}"));
        if let Some(kind) = keywords.get("type")
            && !kinds(kind).iter().any(|kind| is_a(value, kind))
        {
            return wrong(format!("{value} is not of type {kind}"));
        }
        if let Some(Value::Array(values)) = keywords.get("enum")
            && !values.contains(value)
        {
            wrong(format!("{value} is none of {values:?}"));
        }
        for (bound, beyond) in [("minimum", f64::lt as fn(&f64, &f64) -> bool), ("maximum", f64::gt)] {
            if let (Some(number), Some(bound)) = (value.as_f64(), keywords.get(bound).and_then(Value::as_f64))
                && beyond(&number, &bound)
            {
                wrong(format!("{number} is beyond {bound}"));
            }
        }
        match (keywords.get("format").and_then(Value::as_str), value) {
            (Some("date-time"), Value::String(text)) if chrono::DateTime::parse_from_rfc3339(text).is_err() => {
                wrong(format!("{text} is no time"))
            }
            (Some("uuid"), Value::String(text))
                if text.len() != 36 || text.split('-').map(str::len).ne([8, 4, 4, 4, 12]) =>
            {
                wrong(format!("{text} is no UUID"))
            }
            (None | Some("date-time" | "uuid" | "int32" | "int64" | "double" | "binary"), _) => {}
            (Some(format), _) => panic!("the format {format} is not known here"),
        }
        if closed && (keywords.contains_key("properties") || keywords.contains_key("allOf")) {
            let named = self.named(schema);
            for field in
                value.as_object().into_iter().flat_map(Map::keys).filter(|field| !named.contains(&field.as_str()))
            {
                wrong(format!("the field {field} is not documented"));
            }
        }
        for field in keywords.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
        {
            if value.as_object().is_some_and(|fields| !fields.contains_key(field)) {
                wrong(format!("the field {field} is missing"));
            }
        }
        for (keyword, inner) in keywords {
            match (keyword.as_str(), inner) {
                ("$ref", Value::String(reference)) => self.check(self.target(reference), value, at, closed, errors),
                ("properties", Value::Object(properties)) => {
                    for (name, schema) in properties {
                        if let Some(value) = value.get(name) {
                            self.check(schema, value, &format!("{at}/{name}"), true, errors);
                        }
                    }
                }
                ("additionalProperties", rest @ Value::Object(_)) => {
                    let named = self.named(schema);
                    for (name, value) in
                        value.as_object().into_iter().flatten().filter(|(name, _)| !named.contains(&name.as_str()))
                    {
                        self.check(rest, value, &format!("{at}/{name}"), true, errors);
                    }
                }
                ("propertyNames", names) => {
                    for name in value.as_object().into_iter().flat_map(Map::keys) {
                        self.check(names, &Value::String(name.clone()), at, true, errors);
                    }
                }
                ("prefixItems", Value::Array(parts)) => {
                    for (index, (part, value)) in parts.iter().zip(value.as_array().into_iter().flatten()).enumerate() {
                        self.check(part, value, &format!("{at}/{index}"), true, errors);
                    }
                }
                ("items", Value::Bool(false)) => {
                    let named = keywords.get("prefixItems").and_then(Value::as_array).map_or(0, Vec::len);
                    if value.as_array().is_some_and(|items| items.len() != named) {
                        errors.push(format!("{at}: {value} has not {named} items"));
                    }
                }
                ("items", items) => {
                    for (index, value) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(items, value, &format!("{at}/{index}"), true, errors);
                    }
                }
                ("allOf", Value::Array(parts)) => {
                    parts.iter().for_each(|part| self.check(part, value, at, false, errors))
                }
                ("oneOf" | "anyOf", Value::Array(forms)) => {
                    let fits = forms.iter().filter(|form| {
                        let mut errors = Vec::new();
                        self.check(form, value, at, closed, &mut errors);
                        errors.is_empty()
                    });
                    let fits = fits.count();
                    if fits == 0 || (keyword == "oneOf" && fits > 1) {
                        errors.push(format!("{at}: {value} has {fits} of the forms {inner}"));
                    }
                }
                // Patterns apply to requests and not to answers.
                ("type" | "enum" | "minimum" | "maximum" | "format" | "required" | "pattern", _) => {}
                (silent, _) if SILENT.contains(&silent) => {}
                (keyword, _) => panic!("the keyword {keyword} is not known here"),
            }
        }
    }

    /// The field names of a schema and its parts.
    fn named<'a>(&'a self, schema: &'a Value) -> Vec<&'a str> {
        let own = schema["properties"].as_object().into_iter().flat_map(Map::keys).map(String::as_str);
        let target = schema["$ref"].as_str().map(|reference| self.target(reference));
        let parts = schema["allOf"].as_array().into_iter().flatten().chain(target);
        own.chain(parts.flat_map(|part| self.named(part))).collect()
    }
}

fn kinds(kind: &Value) -> Vec<&str> {
    kind.as_array()
        .map_or_else(|| vec![kind], |kinds| kinds.iter().collect())
        .into_iter()
        .filter_map(Value::as_str)
        .collect()
}

fn is_a(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        // Zero has no sign in an answer.
        "number" => {
            value.is_number() && value.as_f64().is_none_or(|number| number != 0.0 || !number.is_sign_negative())
        }
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        kind => panic!("the type {kind} is not known here"),
    }
}

#[test]
fn what_does_not_fit_is_found() {
    use serde_json::json;
    let components = json!({
        "Part": { "type": "object", "properties": { "a": { "type": "integer", "minimum": 3 } }, "required": ["a"] },
        "Whole": { "allOf": [{ "$ref": "#/components/schemas/Part" },
            { "type": "object", "properties": { "b": { "type": ["string", "null"], "format": "date-time" } } }] },
    });
    let components = Arc::new(components.as_object().cloned().unwrap_or_default());
    let whole = Schema::new(&json!({ "$ref": "#/components/schemas/Whole" }), &components);
    assert_eq!(whole.errors(&json!({ "a": 3, "b": "2026-01-01T00:00:00Z" })), Vec::<String>::new());
    for bad in [
        json!({}),
        json!({ "a": 2 }),
        json!({ "a": 3.5 }),
        json!({ "a": 3, "c": 1 }),
        json!({ "a": 3, "b": "soon" }),
        json!([]),
    ] {
        assert!(!whole.errors(&bad).is_empty(), "{bad}");
    }
    let either = Schema::new(
        &json!({ "oneOf": [{ "type": "null" }, { "type": "array", "items": { "enum": ["x"], "type": "string" } }] }),
        &components,
    );
    assert_eq!(either.errors(&json!(["x"])), Vec::<String>::new());
    assert_eq!(either.errors(&json!(["y"])).len(), 1);
    let table = json!({ "type": "object", "additionalProperties": { "type": "integer" },
        "propertyNames": { "type": "string" } });
    let table = Schema::new(&table, &components);
    assert_eq!(table.errors(&json!({ "a": 1, "b": 2 })), Vec::<String>::new());
    assert_eq!(table.errors(&json!({ "a": 1, "b": "2" })).len(), 1);
    let pair = json!({ "type": "array", "prefixItems": [{ "type": "integer" }, { "type": "string" }], "items": false });
    let pair = Schema::new(&pair, &components);
    assert_eq!(pair.errors(&json!([1, "x"])), Vec::<String>::new());
    for bad in [json!([1]), json!([1, "x", 2]), json!(["x", "x"])] {
        assert_eq!(pair.errors(&bad).len(), 1, "{bad}");
    }
}
