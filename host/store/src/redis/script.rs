//! The Lua scripts. Each is called by its digest; its source is sent if the server does not know it.

use std::time::Duration;

use redis::{Cmd, Script, Value, cmd};

use super::link::{CallError, Link};

pub(super) struct Scripts {
    pub write: ScriptText,
    pub undo: ScriptText,
    pub list: ScriptText,
    pub rate: ScriptText,
    pub probe: ScriptText,
}

pub(super) struct ScriptText {
    source: &'static str,
    digest: String,
}

impl Scripts {
    pub(crate) fn new() -> Self {
        let text = |source| ScriptText { source, digest: Script::new(source).get_hash().to_owned() };
        Self {
            write: text(include_str!("write.lua")),
            undo: text(include_str!("undo.lua")),
            list: text(include_str!("list.lua")),
            rate: text(include_str!("rate.lua")),
            probe: text(include_str!("probe.lua")),
        }
    }
}

impl ScriptText {
    pub(crate) async fn run(
        &self,
        link: &Link,
        patience: Duration,
        keys: &[String],
        arguments: impl Fn(&mut Cmd),
    ) -> Result<Value, CallError> {
        let call = |how: &str, script: &str| {
            let mut command = cmd(how);
            command.arg(script).arg(keys.len());
            for key in keys {
                command.arg(key);
            }
            arguments(&mut command);
            command
        };
        match link.call(&call("EVALSHA", &self.digest), patience).await {
            Err(CallError::NoScript) => link.call(&call("EVAL", self.source), patience).await,
            answer => answer,
        }
    }
}
