//! Formats: the shipped templates and those of the project and the user.
//!
//! `warnings.<agent>.<format>.jinja` before `warnings.<format>.jinja`, in the project's `.verify-run/formatters/` before
//! the user's `$XDG_CONFIG_HOME/verify-run/formatters/`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::bail;

use super::Answer;
use crate::advice::formatter::{self, Quoting, TemplateFault};
use crate::base::file::read_start;
use crate::config::{Environment, Places};

/// A template, bytes.
const TEMPLATE_BYTES_MAX: u64 = 64 << 10;
/// A format's or an agent's name, bytes.
const NAME_BYTES_MAX: usize = 60;

/// The answer in a format, or in the one that the agent reads.
///
/// # Errors
/// When there is no such format.
pub(super) fn render(
    places: &Places,
    environment: &Environment,
    agent: &str,
    format: Option<&str>,
    answer: &mut Answer,
) -> anyhow::Result<String> {
    let format = format.unwrap_or_else(|| formatter::format_of(agent));
    let shipped = formatter::shipped(format);
    let quoting = shipped.map_or(if format.ends_with("text") { Quoting::Plain } else { Quoting::Markdown }, |it| it.1);
    let mut own = false;
    for file in files(places, environment, agent, format) {
        let text = match text_of(&file) {
            Ok(Some(text)) => text,
            Ok(None) => continue,
            Err(reason) => {
                answer.notes.push(told(&file, &TemplateFault { line: None, reason }));
                continue;
            }
        };
        own = true;
        match formatter::render(&text, quoting, answer) {
            Ok(text) => return Ok(text),
            Err(fault) => answer.notes.push(told(&file, &fault)),
        }
    }
    // One of one's own that is broken is read as the shipped one it looks most like.
    let shipped = shipped.or_else(|| if own { formatter::shipped("markdown") } else { None });
    let Some((text, quoting)) = shipped else {
        bail!(
            "there is no format {format:?}: choose one of {}, json; or write .verify-run/formatters/warnings.{}.jinja",
            known_formats(places, environment).join(", "),
            if is_name(format) { format } else { "NAME" }
        );
    };
    Ok(formatter::render(text, quoting, answer).unwrap_or_default())
}

/// The formats that there are, without `json`.
fn known_formats(places: &Places, environment: &Environment) -> Vec<String> {
    let mut found = vec!["markdown".to_owned(), "text".to_owned()];
    for dir in dirs(places, environment) {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let middle = name.to_str().and_then(|name| name.strip_prefix("warnings.")?.strip_suffix(".jinja"));
            if let Some(format) = middle.and_then(|middle| middle.rsplit('.').next()) {
                found.push(format.to_owned());
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

fn dirs(places: &Places, environment: &Environment) -> impl Iterator<Item = PathBuf> {
    let user = environment.config_dir().map(|dir| dir.join("formatters"));
    std::iter::once(places.root.join(".verify-run/formatters")).chain(user)
}

fn files(places: &Places, environment: &Environment, agent: &str, format: &str) -> Vec<PathBuf> {
    if !is_name(format) {
        return Vec::new();
    }
    let names =
        [is_name(agent).then(|| format!("warnings.{agent}.{format}.jinja")), Some(format!("warnings.{format}.jinja"))];
    let names: Vec<String> = names.into_iter().flatten().collect();
    dirs(places, environment).flat_map(|dir| names.iter().map(move |name| dir.join(name)).collect::<Vec<_>>()).collect()
}

/// Letters, digits, `-`, `_`: nothing that leads to another folder.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

fn text_of(file: &Path) -> Result<Option<String>, String> {
    match read_start(file, TEMPLATE_BYTES_MAX + 1) {
        Ok(bytes) if bytes.len() as u64 > TEMPLATE_BYTES_MAX => Err(format!("larger than {TEMPLATE_BYTES_MAX} bytes")),
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| "not UTF-8".to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("cannot read it: {error}")),
    }
}

fn told(file: &Path, fault: &TemplateFault) -> String {
    let line = fault.line.map(|line| format!(":{line}")).unwrap_or_default();
    format!("{}{line}: {}; the shipped formatter is used until it is corrected", file.display(), fault.reason)
}
