//! Diagnostics as commands to a CI system: GitHub's `::error file=a.js,line=3::message` and Azure's
//! `##vso[task.logissue type=error;sourcepath=a.js;linenumber=3]message`, a line each.

use super::{StructuredFinding, severity_of_word};

/// The diagnostic that a line hands to a CI system; `None` of one without a file.
pub(super) fn read_annotation(line: &str) -> Option<StructuredFinding> {
    let line = line.trim();
    let (word, properties, message) = match line.strip_prefix("::") {
        Some(rest) => {
            let (head, message) = rest.split_once("::")?;
            let (word, properties) = head.split_once(' ')?;
            (Some(word), AnnotationProperties::from_text(properties, ','), message)
        }
        None => {
            let (head, message) = line.strip_prefix("##vso[task.logissue ")?.split_once(']')?;
            (None, AnnotationProperties::from_text(head, ';'), message)
        }
    };
    let severity =
        severity_of_word(word.map_or_else(|| properties.get(&["type"]), |word| Some(word.to_owned()))?.as_str());
    let number = |names: &[&str]| properties.get(names)?.parse().ok().filter(|number| *number > 0);
    Some(StructuredFinding {
        file: Some(properties.get(&["file", "sourcepath"])?),
        line: number(&["line", "linenumber"]),
        col: number(&["col", "column", "columnnumber"]),
        severity: Some(severity?),
        code: properties.get(&["code"]).or_else(|| properties.get(&["title"]).filter(|title| is_code(title))),
        test: None,
        message: decode_text(message)
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or_default()
            .to_owned(),
    })
}

/// Whether a title is the name of a rule (`lint/style/useConst`, `E501`), not words.
fn is_code(title: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_@.".contains(&byte);
    title.bytes().all(is_plain) && title.bytes().any(|byte| byte.is_ascii_digit() || b"/-".contains(&byte))
}

/// `name=value` pairs.
struct AnnotationProperties<'a>(Vec<(&'a str, &'a str)>);

impl<'a> AnnotationProperties<'a> {
    fn from_text(text: &'a str, separator: char) -> Self {
        AnnotationProperties(text.split(separator).filter_map(|pair| pair.trim().split_once('=')).collect())
    }

    /// The value of the first of `names` that has one.
    fn get(&self, names: &[&str]) -> Option<String> {
        let value = |name: &&str| self.0.iter().find(|(known, _)| known == name).map(|(_, value)| decode_text(value));
        names.iter().find_map(value).filter(|value| !value.is_empty())
    }
}

/// A text without the escapes of these commands.
fn decode_text(text: &str) -> String {
    const ESCAPES: [(&str, &str); 7] = [
        ("%0D", "\r"),
        ("%0A", "\n"),
        ("%3A", ":"),
        ("%2C", ","),
        ("%3B", ";"),
        ("%5D", "]"),
        // Last, so that what it leaves is not decoded again.
        ("%25", "%"),
    ];
    ESCAPES.iter().fold(text.to_owned(), |text, (escape, plain)| text.replace(escape, plain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::Severity;

    #[test]
    fn commands_of_ci_systems_are_read() {
        let said = read_annotation(
            "::error file=/p/test/io flow.js,title=io > waits,line=3,col=5::Error: 100%25 late%0A%0A at x",
        )
        .expect("a diagnostic");
        assert_eq!((said.file.as_deref(), said.line, said.col), (Some("/p/test/io flow.js"), Some(3), Some(5)));
        assert_eq!((said.severity, &*said.message), (Some(Severity::Error), "Error: 100% late"));
        let said = read_annotation("  ::warning file=a%2Cb.c::meh").expect("a diagnostic");
        assert_eq!((said.file.as_deref(), said.line, said.severity), (Some("a,b.c"), None, Some(Severity::Warning)));
        let azure =
            "##vso[task.logissue type=error;sourcepath=src/a.cs;linenumber=7;columnnumber=2;code=CS1002]; expected";
        let said = read_annotation(azure).expect("a diagnostic");
        assert_eq!((said.file.as_deref(), said.line, said.col), (Some("src/a.cs"), Some(7), Some(2)));
        assert_eq!((said.code.as_deref(), &*said.message), (Some("CS1002"), "; expected"));
    }

    #[test]
    fn other_commands_and_code_are_none() {
        for line in [
            "::group::Run tests",
            "::error::everything is lost",
            "::set-output name=file::a.c",
            "::add-mask::x",
            "std::error file=x::y",
            "##vso[task.setvariable variable=file]a.c",
        ] {
            assert_eq!(read_annotation(line), None, "{line}");
        }
    }
}
