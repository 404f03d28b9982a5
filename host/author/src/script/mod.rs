//! Models in `JavaScript` and Python: what stands around the author's file, the toolchain, and the component from it.

mod described;
mod report;

use std::{
    collections::BTreeSet,
    fs,
    fs::File,
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use assay_domain::ModelKind;

use crate::fuse;

/// Where a build writes, in the folder of the model.
const BUILD: &str = "target/assay";
/// The component that the toolchain writes there.
const RAW: &str = "raw.wasm";
/// Its messages.
const SAID: &str = "said.txt";
/// The worlds of scripts, in a package of either version.
const WORLDS: (&str, &str) = ("script.wit", include_str!("../../runtime/script.wit"));
/// The files around every model. A build adds `entry`, which exports the functions of the model's kind.
const JAVASCRIPT: [(&str, &str); 3] = [
    ("confined.js", include_str!("../../runtime/javascript/confined.js")),
    ("answers.js", include_str!("../../runtime/javascript/answers.js")),
    ("mock.js", include_str!("../../runtime/javascript/mock.js")),
];
const PYTHON: [(&str, &str); 3] = [
    ("assay_answers.py", include_str!("../../runtime/python/assay_answers.py")),
    ("confined.py", include_str!("../../runtime/python/confined.py")),
    ("assay.py", include_str!("../../runtime/python/assay.py")),
];

/// The version of the contract that a script has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wit {
    V1,
    V2,
}

impl Wit {
    fn files(self) -> [(&'static str, &'static str); 3] {
        let (types, worlds) = match self {
            Self::V1 => (include_str!("../../../../wit/v1/types.wit"), include_str!("../../../../wit/v1/worlds.wit")),
            Self::V2 => (include_str!("../../../../wit/v2/types.wit"), include_str!("../../../../wit/v2/worlds.wit")),
        };
        [("types.wit", types), ("worlds.wit", worlds), WORLDS]
    }
}

/// The world of a model that exports this interface.
fn world(interface: &str) -> String {
    format!("{interface}-script")
}

/// A language whose interpreter is in the component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script {
    JavaScript,
    Python,
}

impl Script {
    /// The language of the model in `folder`, by the file that it has.
    pub fn of(folder: &Path) -> Option<Self> {
        [Self::JavaScript, Self::Python].into_iter().find(|script| folder.join(script.source()).is_file())
    }

    /// The file of the author.
    pub fn source(self) -> &'static str {
        match self {
            Self::JavaScript => "model.js",
            Self::Python => "model.py",
        }
    }

    /// Writes what stands around the author's file, and returns the command that builds both.
    ///
    /// # Errors
    /// A file that cannot be read or written, a kind that no script has, or words that say what to install.
    pub fn prepare(self, folder: &Path) -> Result<Command, String> {
        let source = folder.join(self.source());
        let text =
            fs::read_to_string(&source).map_err(|error| format!("{} cannot be read: {error}", source.display()))?;
        let (kind, wit) = (described::kind(self, &text)?, described::wit(self, &text));
        let build = folder.join(BUILD);
        let cannot = |error| format!("{} cannot be written: {error}", build.display());
        self.write(&build, kind, wit).map_err(cannot)?;
        let said = File::create(build.join(SAID)).map_err(cannot)?;
        let mut command = Command::new(self.tool(folder)?);
        command.current_dir(folder).env("RUST_BACKTRACE", "0").stdin(Stdio::null());
        command.stderr(said.try_clone().map_err(cannot)?).stdout(said);
        let (wit, raw, world) = (format!("{BUILD}/wit"), format!("{BUILD}/{RAW}"), world(kind.as_str()));
        match self {
            Self::JavaScript => command
                .args(["--wit", &wit, "--world", &world, "--js", &format!("{BUILD}/entry.js"), "--module-root", "."])
                .args(["--sync", "--stub-wasi", "--output", &raw]),
            Self::Python => command
                .args(["--quiet", "--wit-path", &wit, "--world", &world, "componentize", "--stub-wasi"])
                .args(["--python-path", BUILD, "--python-path", ".", "entry", "--output", &raw]),
        };
        Ok(command)
    }

    fn write(self, build: &Path, kind: ModelKind, wit: Wit) -> io::Result<()> {
        let own: &[(&str, &str)] = match self {
            Self::JavaScript => &JAVASCRIPT,
            Self::Python => &PYTHON,
        };
        // If this build fails, no component of an earlier one is left.
        if build.exists() {
            fs::remove_dir_all(build)?;
        }
        fs::create_dir_all(build.join("wit"))?;
        wit.files().iter().try_for_each(|(name, text)| fs::write(build.join("wit").join(name), text))?;
        own.iter().chain([&self.entry(kind, wit)]).try_for_each(|(name, text)| fs::write(build.join(name), text))
    }

    /// The exports of a kind; those of a boost model are the same in both versions. A sandbox generator is of the
    /// second, and not in Python.
    fn entry(self, kind: ModelKind, wit: Wit) -> (&'static str, &'static str) {
        match self {
            Self::JavaScript => {
                let text = match (kind, wit) {
                    (ModelKind::Boost, _) => include_str!("../../runtime/javascript/boost.js"),
                    (ModelKind::Sandbox, _) => include_str!("../../runtime/javascript/v2/sandbox.js"),
                    (ModelKind::Sybil, Wit::V1) => include_str!("../../runtime/javascript/sybil.js"),
                    (ModelKind::Sybil, Wit::V2) => include_str!("../../runtime/javascript/v2/sybil.js"),
                    (_, Wit::V1) => include_str!("../../runtime/javascript/credit.js"),
                    (_, Wit::V2) => include_str!("../../runtime/javascript/v2/credit.js"),
                };
                ("entry.js", text)
            }
            Self::Python => {
                let text = match (kind, wit) {
                    (ModelKind::Boost, _) => include_str!("../../runtime/python/boost.py"),
                    (ModelKind::Sybil, Wit::V1) => include_str!("../../runtime/python/sybil.py"),
                    (ModelKind::Sybil, Wit::V2) => include_str!("../../runtime/python/v2/sybil.py"),
                    (_, Wit::V1) => include_str!("../../runtime/python/credit.py"),
                    (_, Wit::V2) => include_str!("../../runtime/python/v2/credit.py"),
                };
                ("entry.py", text)
            }
        }
    }

    /// The toolchain: of the model's own packages, or of those around it, or on the path.
    fn tool(self, folder: &Path) -> Result<PathBuf, String> {
        let (places, name, install) = match self {
            Self::JavaScript => {
                (["node_modules/.bin"].as_slice(), "componentize-qjs", "npm install componentize-qjs@0.4.5")
            }
            Self::Python => (
                [".venv/bin", "venv/bin"].as_slice(),
                "componentize-py",
                "python3 -m venv .venv && .venv/bin/pip install componentize-py==0.25.1",
            ),
        };
        let around = folder.ancestors().flat_map(|folder| places.iter().map(|place| folder.join(place)));
        let active = std::env::var_os("VIRTUAL_ENV").map(|folder| PathBuf::from(folder).join("bin"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut tools = around.chain(active).chain(std::env::split_paths(&path)).map(|folder| folder.join(name));
        tools.find(|tool| tool.is_file()).ok_or_else(|| {
            format!(
                "{name} is not installed, which makes {} a component. In {}: {install}",
                self.source(),
                folder.display()
            )
        })
    }

    /// Why the toolchain could not build.
    pub fn report(self, folder: &Path) -> String {
        let said = fs::read(folder.join(BUILD).join(SAID)).unwrap_or_default();
        report::report(self, &String::from_utf8_lossy(&said))
    }

    /// The component of several modules that the toolchain wrote.
    ///
    /// # Errors
    /// If it wrote nothing.
    pub fn built(self, folder: &Path) -> io::Result<Vec<u8>> {
        fs::read(folder.join(BUILD).join(RAW))
    }

    /// The one core module of `component`, whose calls write these pages of memory; empty if that is not known.
    ///
    /// # Errors
    /// If the modules cannot be linked.
    pub fn fused(self, component: &[u8], written: &BTreeSet<u32>) -> Result<Vec<u8>, String> {
        let files = |version: &str| if version.starts_with("1.") { Wit::V1.files() } else { Wit::V2.files() };
        fuse::fuse(component, files, world, written)
    }
}
