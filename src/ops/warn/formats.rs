//! Formats: the shipped templates and those of the project and the user.
//!
//! `warnings.<agent>.<format>.jinja` before `warnings.<format>.jinja`, in the project's `.verify-run/formatters/` before
//! the user's `$XDG_CONFIG_HOME/verify-run/formatters/`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::bail;

use super::WarnReply;
use crate::advice::formatter::{self, TemplateError, TemplateQuoting};
use crate::base::file::read_start;
use crate::base::refusal::Refusal;
use crate::config::Problem;
use crate::ops::reply::Reply;
use crate::ops::request::Request;

/// A template, bytes.
const TEMPLATE_BYTES_MAX: u64 = 64 << 10;
/// Templates of one folder that are looked at.
const TEMPLATES_MAX: usize = 100;
/// A format's or an agent's name, bytes.
const NAME_BYTES_MAX: usize = 60;

/// The answer in a format, or in the one that the agent reads.
///
/// # Errors
/// When there is no such format.
pub(super) fn render_reply(
    request: &Request,
    agent: &str,
    format: Option<&str>,
    answer: &mut Reply<WarnReply>,
) -> anyhow::Result<String> {
    let format = format.unwrap_or_else(|| formatter::default_format(agent));
    let shipped = formatter::shipped_template(format);
    let quoting = shipped
        .map_or(if format.ends_with("text") { TemplateQuoting::Plain } else { TemplateQuoting::Markdown }, |it| it.1);
    let mut own = false;
    for file in template_files(request, agent, format) {
        let text = match read_template(&file) {
            Ok(Some(text)) => text,
            Ok(None) => continue,
            Err(reason) => {
                answer.notes.push(template_note(&file, &TemplateError { line: None, reason }));
                continue;
            }
        };
        own = true;
        match formatter::render_template(&text, quoting, answer) {
            Ok(text) => return Ok(text),
            Err(fault) => answer.notes.push(template_note(&file, &fault)),
        }
    }
    // A broken user-defined formatter is replaced by the most similar shipped one.
    let shipped = shipped.or_else(|| if own { formatter::shipped_template("markdown") } else { None });
    let Some((text, quoting)) = shipped else {
        let known = known_formats(request).join(", ");
        let name = if is_format_name(format) { format } else { "NAME" };
        bail!(
            Refusal::usage(format!("unknown format {format:?}; there are {known}, json"))
                .then_do(format!("write .verify-run/formatters/warnings.{name}.jinja"))
        );
    };
    Ok(formatter::render_template(text, quoting, answer).unwrap_or_default())
}

/// What is wrong with the templates of the project and the user, as far as it shows without a warning.
pub(in crate::ops) fn template_problems(request: &Request) -> Vec<Problem> {
    let nothing = Reply::from(WarnReply {
        enabled: true,
        task: String::new(),
        session: String::new(),
        files: Vec::new(),
        command: None,
        warnings: Vec::new(),
        pages: Vec::new(),
        held_out: 0,
        harmful: 0,
        due: Vec::new(),
    });
    let mut found = Vec::new();
    for file in template_dirs(request).flat_map(|dir| templates_in(&dir)) {
        let checked = read_template(&file)
            .map_err(|reason| TemplateError { line: None, reason })
            .and_then(|text| formatter::render_template(&text.unwrap_or_default(), TemplateQuoting::Plain, &nothing));
        if let Err(TemplateError { line, reason }) = checked {
            let hint = "correct it: until then the shipped formatter applies; check again with: verify-run doctor";
            found.push(Problem { file, line, reason, hint: hint.to_owned(), used: false, warning: false });
        }
    }
    found
}

fn templates_in(dir: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("warnings.") && name.ends_with(".jinja")
    };
    let mut found: Vec<PathBuf> = files.filter(is_ours).take(TEMPLATES_MAX).collect();
    found.sort();
    found
}

/// The known formats, without `json`.
fn known_formats(request: &Request) -> Vec<String> {
    let mut found = vec!["markdown".to_owned(), "text".to_owned()];
    for dir in template_dirs(request) {
        for file in templates_in(&dir) {
            let name = file.file_name().and_then(|name| name.to_str());
            let middle = name.and_then(|name| name.strip_prefix("warnings.")?.strip_suffix(".jinja"));
            if let Some(format) = middle.and_then(|middle| middle.rsplit('.').next()) {
                found.push(format.to_owned());
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

fn template_dirs(request: &Request) -> impl Iterator<Item = PathBuf> {
    let user = request.environment.config_dir().map(|dir| dir.join("formatters"));
    std::iter::once(request.places.root.join(".verify-run/formatters")).chain(user)
}

fn template_files(request: &Request, agent: &str, format: &str) -> Vec<PathBuf> {
    if !is_format_name(format) {
        return Vec::new();
    }
    let names = [
        is_format_name(agent).then(|| format!("warnings.{agent}.{format}.jinja")),
        Some(format!("warnings.{format}.jinja")),
    ];
    let names: Vec<String> = names.into_iter().flatten().collect();
    template_dirs(request).flat_map(|dir| names.iter().map(move |name| dir.join(name)).collect::<Vec<_>>()).collect()
}

/// Letters, digits, `-`, `_`: nothing that leads to another folder.
fn is_format_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

fn read_template(file: &Path) -> Result<Option<String>, String> {
    match read_start(file, TEMPLATE_BYTES_MAX + 1) {
        Ok(bytes) if bytes.len() as u64 > TEMPLATE_BYTES_MAX => Err(format!("larger than {TEMPLATE_BYTES_MAX} bytes")),
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| "not UTF-8".to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("cannot read it: {error}")),
    }
}

fn template_note(file: &Path, fault: &TemplateError) -> String {
    let line = fault.line.map(|line| format!(":{line}")).unwrap_or_default();
    format!("{}{line}: {}; the shipped formatter is used until it is corrected", file.display(), fault.reason)
}
