//! A server without models and chains, for tests.

use assay::{
    app::{self, Assembled},
    config,
};

/// The server, and the folder that it needs.
pub struct Sample {
    pub assembled: Assembled,
    _folder: tempfile::TempDir,
}

impl Sample {
    /// With these origins as `http.cors_origins`.
    pub async fn with_origins(origins: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [shelf, store, file] = ["plugins", "assay.redb", "assay.toml"].map(|name| folder.path().join(name));
        std::fs::create_dir(&shelf).unwrap();
        let sections = [
            format!("[models]\nshelf = {shelf:?}"),
            format!("[store]\npath = {store:?}"),
            format!("[http]\ncors_origins = {origins:?}"),
        ];
        std::fs::write(&file, sections.join("\n")).unwrap();
        let config = config::load(Some(&file)).unwrap();
        Self { assembled: app::assemble(&config).await.unwrap(), _folder: folder }
    }
}
