//! What a check depends on outside the tree, without what is the machine's own: programs by their versions, packages by
//! their contents. For receipts of another machine, where what is not known to be the same counts as different.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::check_inputs::{InputSearch, UnknownInput, add_file, add_toolchains, stamp};
use super::portable::{PortableInputs, python_prefixes, read_lines};
use super::program::CommandPrograms;
use super::script::script_programs;
use crate::capture::{InputDigests, InputHasher};

/// A larger file is not read, bytes.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Folders above the check's that may choose versions.
const CHOOSER_FOLDERS_MAX: usize = 32;

/// How the version of a tool is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VersionSource {
    /// The first line that it prints with this argument.
    Argument(&'static str),
    /// Its content.
    Content,
}

/// Tools whose version is all that a check depends on of them, beside packages and files. A tool that starts programs of its
/// own choice (`make`, `sh`, `mvn`) is not among them.
const TOOLS: [(&str, VersionSource); 53] = [
    ("biome", VersionSource::Argument("--version")),
    ("black", VersionSource::Argument("--version")),
    ("bun", VersionSource::Argument("--version")),
    ("bunx", VersionSource::Argument("--version")),
    ("cargo", VersionSource::Argument("--version")),
    ("deno", VersionSource::Argument("--version")),
    ("env", VersionSource::Content),
    ("eslint", VersionSource::Argument("--version")),
    ("flake8", VersionSource::Argument("--version")),
    ("go", VersionSource::Argument("version")),
    ("gofmt", VersionSource::Content),
    ("golangci-lint", VersionSource::Argument("--version")),
    ("hadolint", VersionSource::Argument("--version")),
    ("isort", VersionSource::Content),
    ("jest", VersionSource::Argument("--version")),
    ("luacheck", VersionSource::Argument("--version")),
    ("markdownlint", VersionSource::Argument("--version")),
    ("markdownlint-cli2", VersionSource::Content),
    ("mocha", VersionSource::Argument("--version")),
    ("mypy", VersionSource::Argument("--version")),
    ("nice", VersionSource::Content),
    ("node", VersionSource::Argument("--version")),
    ("nohup", VersionSource::Content),
    ("npm", VersionSource::Argument("--version")),
    ("npx", VersionSource::Argument("--version")),
    ("oxlint", VersionSource::Argument("--version")),
    ("pdm", VersionSource::Argument("--version")),
    ("pipenv", VersionSource::Argument("--version")),
    ("playwright", VersionSource::Argument("--version")),
    ("pnpm", VersionSource::Argument("--version")),
    ("pnpx", VersionSource::Argument("--version")),
    ("poetry", VersionSource::Argument("--version")),
    ("prettier", VersionSource::Argument("--version")),
    ("py.test", VersionSource::Argument("--version")),
    ("pylint", VersionSource::Argument("--version")),
    ("pyright", VersionSource::Argument("--version")),
    ("pytest", VersionSource::Argument("--version")),
    ("python", VersionSource::Argument("--version")),
    ("radon", VersionSource::Argument("--version")),
    ("ruff", VersionSource::Argument("--version")),
    ("rustc", VersionSource::Argument("--version")),
    ("rustfmt", VersionSource::Argument("--version")),
    ("shellcheck", VersionSource::Content),
    ("standard", VersionSource::Argument("--version")),
    ("stylelint", VersionSource::Argument("--version")),
    ("time", VersionSource::Content),
    ("timeout", VersionSource::Content),
    ("tsc", VersionSource::Argument("--version")),
    ("uv", VersionSource::Argument("--version")),
    ("uvx", VersionSource::Argument("--version")),
    ("vitest", VersionSource::Argument("--version")),
    ("vue-tsc", VersionSource::Argument("--version")),
    ("yarn", VersionSource::Argument("--version")),
];
/// Subcommands of cargo that come with it; another one is a program of its own.
const CARGO_COMMANDS: [&str; 12] =
    ["b", "bench", "build", "c", "check", "clippy", "d", "doc", "fmt", "rustc", "t", "test"];

/// Files in the user's folder that choose versions.
const USER_CHOOSERS: [&str; 8] = [
    ".asdfrc",
    ".config/go/env",
    ".config/mise/config.toml",
    ".nodenv/version",
    ".pyenv/version",
    ".rustup/settings.toml",
    ".tool-versions",
    ".volta/tools/user/platform.json",
];
/// Files in the folder of a check, or above it, that choose versions.
const PROJECT_CHOOSERS: [&str; 11] = [
    ".config/mise/config.toml",
    ".go-version",
    ".mise.toml",
    ".node-version",
    ".nvmrc",
    ".python-version",
    ".tool-versions",
    ".yarnrc.yml",
    "mise.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
];
/// Files of which a few lines or keys choose versions.
const GO_CHOOSERS: [&str; 2] = ["go.mod", "go.work"];
const PACKAGE_CHOOSERS: [&str; 4] = ["devEngines", "engines", "packageManager", "volta"];
/// What the names of variables begin with that choose versions.
const CHOOSER_VARIABLES: [&[u8]; 12] = [
    b"ASDF_",
    b"COREPACK_",
    b"FNM_",
    b"GOENV_",
    b"GOROOT",
    b"GOTOOLCHAIN",
    b"MISE_",
    b"NODENV_",
    b"NVM_",
    b"PYENV_",
    b"RUSTUP_",
    b"VOLTA_",
];

/// Files in the user's folder that change what tools do, and not only where they find something.
const USER_FILES: [&str; 3] = [".cargo/config", ".cargo/config.toml", ".config/go/env"];

/// What of a check another machine can compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolchainInputs {
    /// What installers write, local settings, and the files that the settings name.
    pub dependencies: InputDigests,
    /// The names of the programs, by the keys of their versions: digests of the file, and of all that chooses the version.
    pub programs: BTreeMap<String, String>,
}

/// A program whose version can be known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolchainProgram {
    /// What it is called on every machine: `python` of `python3.11`.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// The key of its version.
    pub key: String,
    /// The argument with which it prints its version; `None` of one that is known by its content.
    pub argument: Option<&'static str>,
}

/// What a check depends on that another machine can compare.
///
/// # Errors
/// [`UnknownInput`], and for a tool that starts programs of its own choice.
pub(crate) fn digest_toolchain(search: &InputSearch<'_>) -> Result<ToolchainInputs, UnknownInput> {
    let programs = toolchain_programs(search)?;
    let mut inputs = PortableInputs { root: search.programs.root, inputs: InputHasher::default() };
    let is_python = |program: &&ToolchainProgram| program.name == "python";
    let pythons: Vec<PathBuf> = programs.iter().filter(is_python).map(|program| program.path.clone()).collect();
    inputs.add_project(&search.programs.folder(), pythons.is_empty())?;
    if programs.iter().any(|program| ["bun", "deno", "node"].contains(&program.name.as_str())) {
        inputs.check_above()?;
    }
    let virtual_env = std::env::var_os("VIRTUAL_ENV").filter(|value| !value.is_empty()).map(PathBuf::from);
    for prefix in python_prefixes(&pythons, virtual_env, search.home) {
        inputs.add_python_packages("Python packages", &prefix)?;
    }
    for file in search.programs.named_files() {
        add_file(&mut inputs.inputs, &file.name, &file.path)?;
    }
    for file in search.files {
        inputs.inputs.add(file, b"named");
        add_file(&mut inputs.inputs, file, &search.programs.root.join(file))?;
    }
    if let Some(home) = search.home {
        for name in USER_FILES {
            add_file(&mut inputs.inputs, &format!("~/{name}"), &home.join(name))?;
        }
        inputs.add_npm_settings(&home.join(".npmrc"))?;
    }
    if let Some(cargo) = std::env::var_os("CARGO_HOME").filter(|value| !value.is_empty()).map(PathBuf::from) {
        for name in ["config", "config.toml"] {
            add_file(&mut inputs.inputs, &format!("~/.cargo/{name}"), &cargo.join(name))?;
        }
    }
    let programs = programs.into_iter().map(|program| (program.key, program.name)).collect();
    Ok(ToolchainInputs { dependencies: inputs.inputs.finish(), programs })
}

/// The programs of a check, where all of them are known tools.
///
/// # Errors
/// The name of one that is not, and [`UnknownInput`].
pub(crate) fn toolchain_programs(search: &InputSearch<'_>) -> Result<Vec<ToolchainProgram>, UnknownInput> {
    check_subcommand(&search.programs)?;
    let files = search.programs.program_files(&programs_of_scripts(search)?).map_err(UnknownInput::NoProgram)?;
    let choosers = digest_choosers(search)?;
    let mut programs = Vec::new();
    for (file, is_interpreter) in files {
        let name = portable_name(&file.name);
        let source = TOOLS.iter().find(|(known, _)| *known == name).map(|(_, source)| *source);
        let source = match source {
            Some(source) => source,
            // What interprets a known tool is compared byte by byte.
            None if is_interpreter => VersionSource::Content,
            None => return Err(UnknownInput::NoVersion(file.name)),
        };
        let real = fs::canonicalize(&file.path).map_err(|_| UnknownInput::Unreadable(file.name.clone()))?;
        let stamp = stamp(&real).map_err(|_| UnknownInput::Unreadable(file.name.clone()))?;
        let mut hasher = blake3::Hasher::new();
        for part in [
            b"verify-run tool version 1".as_slice(),
            name.as_bytes(),
            file.path.as_os_str().as_bytes(),
            real.as_os_str().as_bytes(),
            &stamp,
            choosers.as_bytes(),
        ] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let key = hasher.finalize().to_hex()[..32].to_owned();
        let argument = match source {
            VersionSource::Argument(argument) => Some(argument),
            VersionSource::Content => None,
        };
        programs.push(ToolchainProgram { name, path: file.path, key, argument });
    }
    Ok(programs)
}

/// The digest of a program's content, 32 hex digits.
///
/// # Errors
/// When it can't be read, or is too large.
pub(crate) fn digest_program(path: &Path) -> Result<String, UnknownInput> {
    let unreadable = || UnknownInput::Unreadable(path.display().to_string());
    let metadata = fs::metadata(path).map_err(|_| unreadable())?;
    if !metadata.is_file() || metadata.len() > FILE_BYTES_MAX {
        return Err(unreadable());
    }
    let content = fs::read(path).map_err(|_| unreadable())?;
    Ok(blake3::hash(&content).to_hex()[..32].to_owned())
}

/// `python` of `python3.11`.
fn portable_name(name: &str) -> String {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if stem == "python" { stem.to_owned() } else { name.to_owned() }
}

/// The programs that the scripts of a check start.
fn programs_of_scripts(search: &InputSearch<'_>) -> Result<Vec<String>, UnknownInput> {
    let Some(check) = search.programs.check else { return Ok(Vec::new()) };
    let mut programs = Vec::new();
    for tool in std::iter::once(&check.tool).chain(&check.also) {
        let Some(name) = tool.strip_prefix("script:") else { continue };
        let is_here = check.manifest.as_deref() == Some("package.json")
            && check.also.is_empty()
            && !check.selectors.iter().any(|selector| selector.starts_with('@'));
        if !is_here {
            return Err(UnknownInput::NoVersion(format!("the script {name}")));
        }
        programs.extend(script_programs(&search.programs.folder(), search.programs.root, name)?);
    }
    Ok(programs)
}

/// A subcommand of cargo may be a program of its own, whose version cargo's does not say.
fn check_subcommand(programs: &CommandPrograms<'_>) -> Result<(), UnknownInput> {
    let words: Vec<&OsStr> = programs.argv.iter().map(OsString::as_os_str).collect();
    let Some(at) = words.iter().position(|word| Path::new(word).file_name() == Some(OsStr::new("cargo"))) else {
        return Ok(());
    };
    let is_subcommand = |word: &&&OsStr| !word.as_bytes().starts_with(b"-") && !word.as_bytes().starts_with(b"+");
    let subcommand = words[at + 1..].iter().find(is_subcommand).map(|word| word.to_string_lossy().into_owned());
    match subcommand {
        Some(name) if !CARGO_COMMANDS.contains(&name.as_str()) => Err(UnknownInput::NoVersion(format!("cargo {name}"))),
        _ => Ok(()),
    }
}

/// Everything beside a program's file that may choose the version that it has.
fn digest_choosers(search: &InputSearch<'_>) -> Result<String, UnknownInput> {
    let mut inputs = InputHasher::default();
    for (name, value) in std::env::vars_os() {
        if CHOOSER_VARIABLES.iter().any(|start| name.as_bytes().starts_with(start)) {
            inputs.add(&name.to_string_lossy(), value.as_bytes());
        }
    }
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    add_toolchains(&mut inputs, search.home, variable)?;
    if let Some(home) = search.home {
        for name in USER_CHOOSERS {
            add_file(&mut inputs, name, &home.join(name))?;
        }
    }
    for (level, folder) in search.programs.folder().ancestors().take(CHOOSER_FOLDERS_MAX).enumerate() {
        for name in PROJECT_CHOOSERS {
            add_file(&mut inputs, &format!("{level} {name}"), &folder.join(name))?;
        }
        for name in GO_CHOOSERS {
            let lines = read_lines(&folder.join(name), name)?;
            let chooses =
                |line: &&String| ["go ", "toolchain "].iter().any(|start| line.trim_start().starts_with(start));
            lines.iter().filter(chooses).for_each(|line| inputs.add(&format!("{level} {name}"), line.as_bytes()));
        }
        let manifest = read_lines(&folder.join("package.json"), "package.json")?.join("\n");
        let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap_or_default();
        for key in PACKAGE_CHOOSERS {
            let value = manifest.get(key).map(ToString::to_string).unwrap_or_default();
            inputs.add(&format!("{level} package.json"), value.as_bytes());
        }
    }
    Ok(inputs.finish().digest)
}
