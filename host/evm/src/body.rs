//! Bodies of responses, read up to a limit.

use reqwest::Response;

/// Why a body was not read.
#[derive(Debug)]
pub enum BodyError {
    /// It is longer than the limit.
    TooLarge,
    /// The connection broke.
    Lost(reqwest::Error),
}

/// The body of `response`, at most `limit` bytes. The rest of a longer one is not read.
///
/// # Errors
/// [`BodyError`].
pub async fn read(mut response: Response, limit: usize) -> Result<Vec<u8>, BodyError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(BodyError::Lost)? {
        if body.len() + chunk.len() > limit {
            return Err(BodyError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
