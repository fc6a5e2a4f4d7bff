//! Warnings as text: templates (minijinja), shipped ones and the user's.
//!
//! A template decides the words around the facts, never their quoting: what it prints of a warning is escaped for the
//! place it goes to, whatever the template says. It can read nothing, write nothing and not run forever.

use std::collections::BTreeMap;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value, ValueKind};
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior};
use serde::Serialize;

use crate::base::markdown::{self, escaped, untagged};
use crate::base::text::{ellipsis, one_line, printable};

/// What a template prints, bytes.
const OUTPUT_BYTES_MAX: usize = 32 << 10;
/// Steps that a template may take.
const STEPS_MAX: u64 = 200_000;
/// Nesting of a template.
const DEPTH_MAX: usize = 50;

/// How values are quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TemplateQuoting {
    /// For a terminal: nothing but text.
    Plain,
    /// In Markdown, also between tags that a model reads as orders.
    Markdown,
}

/// A template that can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TemplateError {
    /// The line, from 1, where it is known.
    pub line: Option<usize>,
    /// What is wrong, one line.
    pub reason: String,
}

/// The shipped template of a format, and how it quotes; `None` when none of that name is shipped.
pub(crate) fn shipped_template(format: &str) -> Option<(&'static str, TemplateQuoting)> {
    match format {
        "text" => Some((include_str!("templates/warnings.text.jinja"), TemplateQuoting::Plain)),
        "markdown" => Some((include_str!("templates/warnings.markdown.jinja"), TemplateQuoting::Markdown)),
        _ => None,
    }
}

/// The format for a kind of agent that asked for none: people and logs read text, models read Markdown.
pub(crate) fn default_format(agent: &str) -> &'static str {
    if matches!(agent, "human" | "ci") { "text" } else { "markdown" }
}

/// Puts facts into a template.
///
/// # Errors
/// When it can't be parsed, asks for what isn't there, or takes too long.
pub(crate) fn render_template(
    template: &str,
    quoting: TemplateQuoting,
    facts: &impl Serialize,
) -> Result<String, TemplateError> {
    let text = build_environment(quoting).render_str(template, Value::from(Serde(facts))).map_err(template_error)?;
    Ok(ellipsis(&printable(&text), OUTPUT_BYTES_MAX))
}

/// Whether a template can be rendered with facts of these names.
///
/// # Errors
/// When it can't be parsed, names other facts, or what there isn't.
pub(crate) fn check_template(template: &str, names: &[&str]) -> Result<(), TemplateError> {
    let environment = build_environment(TemplateQuoting::Plain);
    let parsed = environment.template_from_str(template).map_err(template_error)?;
    let is_known = |name: &str| names.contains(&name) || environment.globals().any(|(global, _)| global == name);
    let unknown = parsed.undeclared_variables(false).into_iter().filter(|name| !is_known(name)).min();
    if let Some(unknown) = unknown {
        let reason = format!("unknown variable `{unknown}`; known are {}", names.join(", "));
        return Err(TemplateError { line: None, reason });
    }
    // Any other fault may be one of the facts alone.
    let facts: BTreeMap<String, String> = names.iter().map(|&name| (name.to_owned(), name.to_owned())).collect();
    let is_fixed = |error: &minijinja::Error| {
        use ErrorKind::{OutOfFuel, UnknownFilter, UnknownFunction, UnknownMethod, UnknownTest};
        matches!(error.kind(), OutOfFuel | UnknownFilter | UnknownFunction | UnknownMethod | UnknownTest)
    };
    match parsed.render(facts) {
        Err(error) if is_fixed(&error) => Err(template_error(error)),
        _ => Ok(()),
    }
}

fn build_environment(quoting: TemplateQuoting) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_fuel(Some(STEPS_MAX));
    environment.set_recursion_limit(DEPTH_MAX);
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build();
    environment.set_syntax(syntax.unwrap_or_default());
    environment.set_auto_escape_callback(move |_| match quoting {
        TemplateQuoting::Plain => AutoEscape::Custom("plain".into()),
        TemplateQuoting::Markdown => AutoEscape::Custom("markdown".into()),
    });
    environment.set_formatter(move |out, _, value| {
        if value.is_none() || value.is_undefined() {
            return Ok(());
        }
        // Only what our own filter made is safe.
        let text = value.to_string();
        let text = match (value.kind(), quoting) {
            (ValueKind::Number | ValueKind::Bool, _) => text,
            _ if value.is_safe() => text,
            (_, TemplateQuoting::Plain) => plain_text(&text),
            (_, TemplateQuoting::Markdown) => escaped(&text),
        };
        out.write_str(&text).map_err(minijinja::Error::from)
    });
    // The shipped way past the quoting.
    environment.remove_filter("safe");
    environment.add_filter("code", move |text: &str| {
        Value::from_safe_string(match quoting {
            TemplateQuoting::Plain => plain_text(text),
            TemplateQuoting::Markdown => markdown::code(&untagged(text)),
        })
    });
    // One word of a command line, with any content; quoted for its place like any text.
    environment.add_filter("shell", |text: Option<&str>| text.map(|text| shell_words::quote(text).into_owned()));
    environment
}

fn template_error(error: minijinja::Error) -> TemplateError {
    TemplateError {
        line: error.line(),
        reason: one_line(&match error.detail() {
            Some(detail) => format!("{}: {detail}", error.kind()),
            None => error.kind().to_string(),
        }),
    }
}

fn plain_text(text: &str) -> String {
    untagged(&one_line(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Facts {
        what: &'static str,
        number: u64,
        nothing: Option<u64>,
    }

    const FACTS: Facts = Facts { what: "a `b` *c* </system>\n# d\u{202e}", number: 7, nothing: None };

    fn of(template: &str, quoting: TemplateQuoting) -> String {
        render_template(template, quoting, &FACTS).expect("renders")
    }

    #[test]
    fn values_are_quoted_for_their_place_whatever_the_template_says() {
        assert_eq!(of("{{ what }}|{{ number }}|{{ nothing }}", TemplateQuoting::Plain), "a `b` *c* ‹/system› # d|7|");
        let markdown = of("{{ what }}", TemplateQuoting::Markdown);
        assert_eq!(markdown, "a \\`b\\` \\*c\\* &lt;/system&gt; \\# d");
        assert_eq!(of("{{ what | code }}", TemplateQuoting::Markdown), "``a `b` *c* ‹/system› # d``");
        assert!(
            render_template("{{ what | safe }}", TemplateQuoting::Markdown, &FACTS).is_err(),
            "there is no way past it"
        );
        let upper = of("{{ what | upper }}", TemplateQuoting::Markdown);
        assert!(!upper.contains('<') && upper.contains("\\`B\\`"), "{upper}");
        let joined = of("{{ (what | code) ~ what }}", TemplateQuoting::Markdown);
        assert!(!joined.contains("</") && !joined.contains('\n'), "{joined}");
    }

    #[test]
    fn a_broken_template_says_its_line() {
        let fault = render_template("fine\n{{ what", TemplateQuoting::Plain, &FACTS).expect_err("is broken");
        assert_eq!(fault.line, Some(2), "{fault:?}");
        let fault =
            render_template("fine\n\n{{ what | no_such }}", TemplateQuoting::Plain, &FACTS).expect_err("is broken");
        assert_eq!(fault.line, Some(3), "{fault:?}");
        let endless = "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}";
        assert!(render_template(endless, TemplateQuoting::Plain, &FACTS).is_err(), "it must end");
    }

    #[test]
    fn what_a_template_needs_is_known_before_there_are_facts() {
        let names = ["what", "number"];
        for good in
            ["{{ what | upper }}", "{% if number %}{{ number }}{% endif %}", "{{ what.split_at }}", "{{ range(2) }}"]
        {
            assert_eq!(check_template(good, &names), Ok(()), "{good}");
        }
        for bad in ["{{ what", "{{ nothing }}", "{% if what %}{% else %}{{ nothing }}{% endif %}", "{{ what | safe }}"]
        {
            assert!(check_template(bad, &names).is_err(), "{bad}");
        }
        assert_eq!(
            of("{{ what | shell }}|{{ nothing | shell }}", TemplateQuoting::Plain),
            "'a `b` *c* ‹/system› # d'|"
        );
    }

    #[test]
    fn people_get_text_and_models_markdown() {
        assert_eq!(
            (default_format("human"), default_format("ci"), default_format("codex")),
            ("text", "text", "markdown")
        );
        assert!(
            shipped_template("text").is_some()
                && shipped_template("markdown").is_some()
                && shipped_template("mine").is_none()
        );
    }
}
