//! The events in the OpenAPI document: what a receiver gets for each type.

use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        HttpMethod, KnownFormat, PathItem, Ref, RefOr, Required, Response, Schema, SchemaFormat,
        content::ContentBuilder,
        path::OperationBuilder,
        request_body::RequestBodyBuilder,
        schema::{ObjectBuilder, Type},
    },
};

use crate::told::{
    CurrentEvent, DigestEvent, EndedEvent, LiquidatedEvent, ModelChangedEvent, MovedEvent, RetractedEvent, StaleEvent,
    TestEvent, UncheckedEvent, ValueEvent, VerifyEvent,
};

/// One type of event.
pub struct Webhook {
    /// Such as `watch.crossed`.
    pub kind: &'static str,
    pub item: PathItem,
    /// The schemas of its data.
    pub schemas: Vec<(String, RefOr<Schema>)>,
}

/// Every type of event. `example` returns a body by its type.
pub fn webhooks(example: impl Fn(&str) -> Option<serde_json::Value>) -> Vec<Webhook> {
    let example = &example;
    vec![
        webhook::<ValueEvent>("watch.crossed", "A value crossed its bound", example),
        webhook::<ValueEvent>(
            "watch.cleared",
            "A value that had crossed its bound reached the one that clears",
            example,
        ),
        webhook::<ValueEvent>("watch.range_changed", "The score is in another range", example),
        webhook::<LiquidatedEvent>("watch.liquidated", "The wallet was liquidated", example),
        webhook::<StaleEvent>("watch.stale", "An input of the measure cannot be read any more", example),
        webhook::<CurrentEvent>("watch.current", "Every input of a stale measure is read again", example),
        webhook::<ModelChangedEvent>("watch.model_changed", "Another version of the model answers the watch", example),
        webhook::<RetractedEvent>("watch.retracted", "A reorganisation removed the block of an event", example),
        webhook::<UncheckedEvent>("watch.unchecked", "Too many events wait for final blocks", example),
        webhook::<MovedEvent>("watch.moved", "The name has another address", example),
        webhook::<EndedEvent>("watch.ended", "The watch has ended", example),
        webhook::<DigestEvent>("watch.digest", "What became of the watches of a group, once a day", example),
        webhook::<TestEvent>("watch.test", "The owner tests the way to the receiver", example),
        webhook::<VerifyEvent>("watch.verify", "Asks the receiver for its consent: return `data.challenge`", example),
    ]
}

fn webhook<D: ToSchema + PartialSchema>(
    kind: &'static str,
    about: &str,
    example: impl Fn(&str) -> Option<serde_json::Value>,
) -> Webhook {
    let name = D::name().into_owned();
    let time =
        ObjectBuilder::new().schema_type(Type::String).format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)));
    let body = ObjectBuilder::new()
        .property("type", ObjectBuilder::new().schema_type(Type::String).enum_values(Some([kind])))
        .property("timestamp", time)
        .property("data", Ref::from_schema_name(&name))
        .required("type")
        .required("timestamp")
        .required("data");
    let content = ContentBuilder::new().schema(Some(body)).example(example(kind)).build();
    let request = RequestBodyBuilder::new().content("application/json", content).required(Some(Required::True)).build();
    let operation = OperationBuilder::new()
        .operation_id(Some(format!("receive_{}", kind.replace('.', "_"))))
        .tag("watches")
        .summary(Some(about))
        .request_body(Some(request))
        .response("2XX", Response::new("The receiver has taken the event"))
        .response("410", Response::new("The receiver wants no more events"))
        .build();
    let mut schemas = vec![(name, D::schema())];
    D::schemas(&mut schemas);
    Webhook { kind, item: PathItem::new(HttpMethod::Post, operation), schemas }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bodies::WatchEventBody, event::KINDS};

    #[test]
    fn each_type_of_event_has_a_schema_and_is_named_where_events_are_read() {
        let kinds = KINDS.map(|kind| format!("watch.{kind}"));
        let hooks = webhooks(|_| None);
        // The question of consent is no event.
        let declared: Vec<&str> = hooks.iter().map(|hook| hook.kind).filter(|kind| *kind != "watch.verify").collect();
        assert_eq!(declared, kinds);
        let schema = serde_json::to_value(WatchEventBody::schema()).unwrap();
        let about = schema["properties"]["type"]["description"].as_str().unwrap();
        let named: Vec<&str> = about.split('`').filter(|part| part.starts_with("watch.")).collect();
        assert_eq!(named, kinds);
    }
}
