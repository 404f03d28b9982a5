//! The models of the server: the folder of released components, what is loaded of it, and why a file is not.

pub(crate) mod admit;
pub(crate) mod attempts;
pub(crate) mod background;
pub(crate) mod catalogue;
mod folder;
pub(crate) mod loader;
pub(crate) mod rejections;
pub(crate) mod shadow_engine;
pub(crate) mod shared;
pub(crate) mod status;
pub(crate) mod supervise;

pub(crate) use folder::{ShelfFolder, Stamp};
