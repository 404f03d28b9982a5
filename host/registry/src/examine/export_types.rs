//! The differences between the interface of a component and its contract, by function, record and field. Linking only
//! reports that there is a difference.

use wasmtime::{
    Engine,
    component::{
        Component,
        types::{self, ComponentItem},
    },
};
use wit_parser::{Resolve, SourceMap, Type as Wit, TypeDefKind};

use crate::compile::world::{Generation, KindWorld};

/// Every difference between the export `world` of `component` and the contract.
///
/// # Errors
/// If the contract itself cannot be parsed.
pub(crate) fn differences(component: &Component, engine: &Engine, world: &KindWorld) -> Result<Vec<String>, String> {
    let contract = KindContract::read(world.generation)?;
    let ty = component.component_type();
    let Some(ComponentItem::ComponentInstance(instance)) =
        ty.get_export(engine, &world.interface).map(|export| export.ty)
    else {
        return Ok(vec![format!("{} is not an interface", world.interface)]);
    };
    let interfaces = contract.resolve.interfaces.iter();
    let Some((_, expected)) = interfaces.into_iter().find(|(_, i)| i.name.as_deref() == Some(world.kind.as_str()))
    else {
        return Err(format!("{} has no interface {}", world.generation.wit(), world.kind));
    };
    let mut walk = Walk { resolve: &contract.resolve, wit: world.generation.wit(), differences: Vec::new() };
    for (name, function) in &expected.functions {
        match instance.get_export(engine, name).map(|export| export.ty) {
            Some(ComponentItem::ComponentFunc(found)) => walk.function(name, function, &found),
            _ => walk.differences.push(format!("the function `{name}` is missing")),
        }
    }
    Ok(walk.differences)
}

struct KindContract {
    resolve: Resolve,
}

impl KindContract {
    fn read(generation: Generation) -> Result<Self, String> {
        let (types, worlds) = match generation {
            Generation::V1 => {
                (include_str!("../../../../wit/v1/types.wit"), include_str!("../../../../wit/v1/worlds.wit"))
            }
            Generation::V2 => {
                (include_str!("../../../../wit/v2/types.wit"), include_str!("../../../../wit/v2/worlds.wit"))
            }
        };
        let mut files = SourceMap::new();
        files.push_str("types.wit", types);
        files.push_str("worlds.wit", worlds);
        let mut resolve = Resolve::new();
        let package = files.parse().map_err(|(_, error)| error.to_string())?;
        resolve.push_group(package).map_err(|error| error.to_string())?;
        Ok(Self { resolve })
    }
}

struct Walk<'a> {
    resolve: &'a Resolve,
    /// The folder of the contract.
    wit: &'static str,
    differences: Vec<String>,
}

impl Walk<'_> {
    fn function(&mut self, name: &str, expected: &wit_parser::Function, found: &types::ComponentFunc) {
        let parameters: Vec<_> = found.params().collect();
        if parameters.len() != expected.params.len() {
            self.note(name, format!("takes {} parameters, not {}", parameters.len(), expected.params.len()));
        }
        for (expected, (_, found)) in expected.params.iter().zip(&parameters) {
            self.compare(&format!("{name}({})", expected.name), &expected.ty, found);
        }
        let results: Vec<_> = found.results().collect();
        match (&expected.result, results.first()) {
            (Some(expected), Some(found)) => self.compare(&format!("{name} ->"), expected, found),
            (None, None) => {}
            (Some(expected), None) => self.note(name, format!("returns nothing, not {}", self.title(expected))),
            (None, Some(_)) => self.note(name, "returns something, and should return nothing".to_owned()),
        }
    }

    fn compare(&mut self, at: &str, expected: &Wit, found: &types::Type) {
        let Wit::Id(id) = expected else {
            if scalar(expected) != name(found) {
                self.note(at, format!("is {}, not {}", name(found), scalar(expected)));
            }
            return;
        };
        #[expect(clippy::indexing_slicing, reason = "an arena id that came from the same resolve")]
        let definition = &self.resolve.types[*id];
        match (&definition.kind, found) {
            (TypeDefKind::Type(alias), _) => self.compare(at, &alias.clone(), found),
            (TypeDefKind::Record(record), types::Type::Record(found)) => {
                self.record(at, definition.name.as_deref().unwrap_or("record"), record, found);
            }
            (TypeDefKind::Enum(cases), types::Type::Enum(found)) => {
                let title = definition.name.as_deref().unwrap_or("enum");
                let of_expected: Vec<_> = cases.cases.iter().map(|case| case.name.as_str()).collect();
                self.names(at, &format!("enum `{title}`"), "case", &of_expected, &found.names().collect::<Vec<_>>());
            }
            (TypeDefKind::Variant(variant), types::Type::Variant(found)) => {
                self.variant(at, definition.name.as_deref().unwrap_or("variant"), variant, found);
            }
            (TypeDefKind::List(element), types::Type::List(found)) => {
                self.compare(&format!("{at}[]"), element, &found.ty());
            }
            (TypeDefKind::Option(inner), types::Type::Option(found)) => {
                self.compare(&format!("{at}?"), inner, &found.ty());
            }
            (TypeDefKind::Result(result), types::Type::Result(found)) => {
                self.payload(&format!("{at} ok"), result.ok.as_ref(), found.ok().as_ref());
                self.payload(&format!("{at} error"), result.err.as_ref(), found.err().as_ref());
            }
            _ => self.note(at, format!("is {}, not {}", name(found), self.title(expected))),
        }
    }

    fn record(&mut self, at: &str, title: &str, expected: &wit_parser::Record, found: &types::Record) {
        let fields: Vec<_> = found.fields().collect();
        let of_expected: Vec<_> = expected.fields.iter().map(|field| field.name.as_str()).collect();
        let of_found: Vec<_> = fields.iter().map(|field| field.name).collect();
        self.names(at, &format!("record `{title}`"), "field", &of_expected, &of_found);
        for field in &expected.fields {
            if let Some(found) = fields.iter().find(|found| found.name == field.name) {
                self.compare(&format!("{at}.{}", field.name), &field.ty, &found.ty);
            }
        }
    }

    fn variant(&mut self, at: &str, title: &str, expected: &wit_parser::Variant, found: &types::Variant) {
        let cases: Vec<_> = found.cases().collect();
        let of_expected: Vec<_> = expected.cases.iter().map(|case| case.name.as_str()).collect();
        let of_found: Vec<_> = cases.iter().map(|case| case.name).collect();
        self.names(at, &format!("variant `{title}`"), "case", &of_expected, &of_found);
        for case in &expected.cases {
            if let Some(found) = cases.iter().find(|found| found.name == case.name) {
                self.payload(&format!("{at}.{}", case.name), case.ty.as_ref(), found.ty.as_ref());
            }
        }
    }

    fn payload(&mut self, at: &str, expected: Option<&Wit>, found: Option<&types::Type>) {
        match (expected, found) {
            (Some(expected), Some(found)) => self.compare(at, expected, found),
            (None, None) => {}
            (Some(expected), None) => self.note(at, format!("carries nothing, not {}", self.title(expected))),
            (None, Some(found)) => self.note(at, format!("carries {}, and should carry nothing", name(found))),
        }
    }

    /// Names and their order must be equal.
    fn names(&mut self, at: &str, owner: &str, what: &str, expected: &[&str], found: &[&str]) {
        let before = self.differences.len();
        for name in found.iter().filter(|name| !expected.contains(name)) {
            self.note(at, format!("{owner} has the {what} `{name}`, which {} has not", self.wit));
        }
        for name in expected.iter().filter(|name| !found.contains(name)) {
            self.note(at, format!("{owner} lacks the {what} `{name}`"));
        }
        if self.differences.len() == before && expected != found {
            self.note(
                at,
                format!("{owner} has its {what}s in another order: {}, not {}", found.join(", "), expected.join(", ")),
            );
        }
    }

    fn note(&mut self, at: &str, what: String) {
        let note = format!("{at}: {what}");
        // One type may be used in several places.
        if !self.differences.contains(&note) {
            self.differences.push(note);
        }
    }

    fn title(&self, ty: &Wit) -> String {
        match ty {
            Wit::Id(id) => {
                #[expect(clippy::indexing_slicing, reason = "an arena id that came from the same resolve")]
                let definition = &self.resolve.types[*id];
                definition.name.clone().unwrap_or_else(|| definition.kind.as_str().to_owned())
            }
            scalar_type => scalar(scalar_type).to_owned(),
        }
    }
}

fn scalar(ty: &Wit) -> &'static str {
    match ty {
        Wit::Bool => "bool",
        Wit::U8 => "u8",
        Wit::U16 => "u16",
        Wit::U32 => "u32",
        Wit::U64 => "u64",
        Wit::S8 => "s8",
        Wit::S16 => "s16",
        Wit::S32 => "s32",
        Wit::S64 => "s64",
        Wit::F32 => "f32",
        Wit::F64 => "f64",
        Wit::Char => "char",
        Wit::String => "string",
        Wit::ErrorContext => "error-context",
        Wit::Id(_) => "a named type",
    }
}

fn name(ty: &types::Type) -> &'static str {
    match ty {
        types::Type::Bool => "bool",
        types::Type::S8 => "s8",
        types::Type::U8 => "u8",
        types::Type::S16 => "s16",
        types::Type::U16 => "u16",
        types::Type::S32 => "s32",
        types::Type::U32 => "u32",
        types::Type::S64 => "s64",
        types::Type::U64 => "u64",
        types::Type::Float32 => "f32",
        types::Type::Float64 => "f64",
        types::Type::Char => "char",
        types::Type::String => "string",
        types::Type::List(_) => "list",
        types::Type::Record(_) => "record",
        types::Type::Tuple(_) => "tuple",
        types::Type::Variant(_) => "variant",
        types::Type::Enum(_) => "enum",
        types::Type::Option(_) => "option",
        types::Type::Result(_) => "result",
        types::Type::Flags(_) => "flags",
        _ => "a type that no contract uses",
    }
}
