//! A parameter in the OpenAPI document. Each extractor describes the parameters that it reads.

use serde_json::Value;
use utoipa::{
    PartialSchema,
    openapi::{
        RefOr, Required, Schema,
        path::{Parameter, ParameterBuilder, ParameterIn},
        schema::Object,
    },
};

/// The path parameter `name` of the type `T`.
pub fn in_path<T: PartialSchema>(name: &str, description: &str, example: impl Into<Value>) -> Parameter {
    described::<T>(ParameterIn::Path, Required::True, name, description).example(Some(example.into())).build()
}

/// The required query parameter `name` of the type `T`.
pub fn in_query<T: PartialSchema>(name: &str, description: &str, example: impl Into<Value>) -> Parameter {
    described::<T>(ParameterIn::Query, Required::True, name, description).example(Some(example.into())).build()
}

/// The query parameter `name` of the type `T`, which may be absent.
pub fn optional<T: PartialSchema>(name: &str, description: &str) -> ParameterBuilder {
    described::<T>(ParameterIn::Query, Required::False, name, description)
}

/// The header `name`, which may be absent.
pub fn in_header(name: &str, description: &str) -> ParameterBuilder {
    described::<String>(ParameterIn::Header, Required::False, name, description)
}

fn described<T: PartialSchema>(
    place: ParameterIn,
    required: Required,
    name: &str,
    description: &str,
) -> ParameterBuilder {
    let builder = ParameterBuilder::new().name(name).parameter_in(place).required(required);
    builder.description(Some(description)).schema(Some(T::schema()))
}

/// `parameter` with what else its values must satisfy.
pub fn limited(parameter: impl Into<Parameter>, limit: impl FnOnce(&mut Object)) -> Parameter {
    let mut parameter = parameter.into();
    if let Some(RefOr::T(Schema::Object(schema))) = &mut parameter.schema {
        limit(schema);
    }
    parameter
}

/// Implements `IntoParams` for an extractor.
#[macro_export]
macro_rules! parameters {
    ($extractor:ty: $($parameter:expr),+ $(,)?) => {
        impl utoipa::IntoParams for $extractor {
            fn into_params(
                _: impl Fn() -> Option<utoipa::openapi::path::ParameterIn>,
            ) -> Vec<utoipa::openapi::path::Parameter> {
                vec![$($parameter.into()),+]
            }
        }
    };
}
