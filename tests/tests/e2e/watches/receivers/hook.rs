async fn hook(State(webhook): State<Arc<Webhook>>, headers: HeaderMap, body: Bytes) -> Result<Json<Value>, StatusCode> {
    webhook.verify(&body, &headers).map_err(|_| StatusCode::UNAUTHORIZED)?;
    let event: Value = serde_json::from_slice(&body).map_err(|_| StatusCode::BAD_REQUEST)?;
    println!("{} {}", event["type"], event["data"]["id"]);
    let is_question = event["type"] == "watch.verify";
    Ok(Json(if is_question { json!({ "challenge": event["data"]["challenge"] }) } else { json!({}) }))
}
