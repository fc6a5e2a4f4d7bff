//! Diagnostics in XML.

use std::borrow::Cow;

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use super::{StructuredFinding, severity_of_word};
use crate::base::limits::MESSAGE_BYTES_MAX;
use crate::diagnose::{Severity, generic};

/// Attributes that name a file; the last three only when they look like one.
const FILE: &[&str] = &["sourcepath", "sourceFile", "file", "filename", "fileName", "File", "path", "name", "hash"];
const LINE: &[&str] =
    &["line", "lineNumber", "linenumber", "LineNumber", "beginline", "startline", "startLine", "Line"];
const COL: &[&str] = &["column", "col", "begincolumn", "columnNumber", "char", "Column"];
const MESSAGE: &[&str] = &["message", "msg", "reason", "verbose", "description", "Message"];
const CODE: &[&str] = &["source", "rule", "ruleName", "RuleId", "Rule", "ruleId", "code", "id", "type"];
const SEVERITY: &[&str] = &["severity", "level", "Severity"];
/// Elements that hold the message of the element that they are in.
const MESSAGE_ELEMENTS: &[&str] =
    &["LongMessage", "Message", "message", "description", "ShortMessage", "msg", "failure", "error"];
/// Elements that may be open at once.
const DEPTH_MAX: usize = 64;
/// Levels between an element and its message (`<error msg=…><location line=…/></error>`), elements.
const MESSAGE_DISTANCE_MAX: usize = 2;

/// An open element.
#[derive(Debug, Default)]
struct XmlElement {
    name: String,
    /// The test that a `testcase` is.
    test: Option<String>,
    file: Option<String>,
    place: Option<(u32, Option<u32>)>,
    message: Option<String>,
    code: Option<String>,
    severity: Option<Severity>,
    text: String,
    /// What is below it and has no message yet, with its depth.
    waiting: Vec<(usize, StructuredFinding)>,
}

/// What the document at the start of `text` says, and its bytes. A document that breaks off says what it said until
/// then; what is read without finding anything is taken from `budget`.
pub(crate) fn read_xml(text: &str, budget: &mut usize) -> Option<(usize, Vec<StructuredFinding>)> {
    let begins = text.get(1..)?.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '?' | '!'));
    if *budget == 0 || !begins {
        return None;
    }
    let mut reader = Reader::from_str(text);
    let mut open: Vec<XmlElement> = Vec::new();
    let mut entries = Vec::new();
    loop {
        match reader.read_event() {
            Ok(Event::Start(start)) if open.len() < DEPTH_MAX => {
                open.push(start_element(&start));
                continue;
            }
            Ok(Event::Empty(start)) if open.len() < DEPTH_MAX => {
                close_element(start_element(&start), &mut open, &mut entries)
            }
            Ok(Event::End(_)) => {
                let Some(element) = open.pop() else { break };
                close_element(element, &mut open, &mut entries);
            }
            Ok(Event::Text(text)) => append_text(&mut open, &text.xml10_content()),
            Ok(Event::CData(text)) => append_text(&mut open, &text.xml10_content()),
            Ok(Event::GeneralRef(name)) => match name.resolve_char_ref() {
                Ok(Some(c)) => append_text(&mut open, c.encode_utf8(&mut [0; 4])),
                _ => append_text(&mut open, entity_text(&name)),
            },
            Ok(Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_)) => continue,
            Ok(Event::Start(_) | Event::Empty(_) | Event::Eof) | Err(_) => break,
        }
        if open.is_empty() && reader_is_past_root(&reader, text) {
            break;
        }
    }
    let used = usize::try_from(reader.buffer_position()).unwrap_or(text.len()).min(text.len());
    if entries.is_empty() {
        *budget = budget.saturating_sub(used);
        return None;
    }
    Some((text.ceil_char_boundary(used), entries))
}

/// Whether an element has ended: the declaration and white space before the first one end none.
fn reader_is_past_root(reader: &Reader<&[u8]>, text: &str) -> bool {
    let used = usize::try_from(reader.buffer_position()).unwrap_or(text.len());
    text.get(..used).is_some_and(|read| read.ends_with('>'))
}

fn entity_text(name: &str) -> &'static str {
    match name {
        "lt" => "<",
        "gt" => ">",
        "amp" => "&",
        "quot" => "\"",
        "apos" => "'",
        _ => "",
    }
}

fn append_text(open: &mut [XmlElement], text: &str) {
    if let Some(element) = open.last_mut()
        && element.text.len() < MESSAGE_BYTES_MAX
    {
        element.text.push_str(text);
    }
}

fn start_element(start: &BytesStart<'_>) -> XmlElement {
    let attributes: Vec<(String, String)> = start
        .attributes()
        .flatten()
        .map(|attribute| {
            let value = attribute.normalized_value(XmlVersion::default()).unwrap_or(Cow::Borrowed(""));
            (attribute.key.local_name().into_inner().to_owned(), value.trim().to_owned())
        })
        .collect();
    let find = |names: &[&str], fits: &dyn Fn(&str, &str) -> bool| {
        let values = names.iter().filter_map(|name| attributes.iter().find(|(key, _)| key == name));
        values.filter(|(key, value)| !value.is_empty() && fits(key, value)).map(|(_, value)| value.clone()).next()
    };
    let any = |_: &str, _: &str| true;
    let is_file =
        |key: &str, value: &str| !matches!(key, "path" | "name" | "hash") || generic::looks_like_a_file(value);
    let number = |names: &[&str]| find(names, &any)?.parse().ok();
    let file = find(FILE, &is_file);
    // SpotBugs says where a source line is by `start`; elsewhere that is a time or an offset.
    let start_line = || number(&["start"]).filter(|_| attributes.iter().any(|(key, _)| key == "sourcepath"));
    let line = number(LINE).or_else(start_line).filter(|&line: &u32| line > 0);
    let priority = find(&["priority"], &any).and_then(|priority| match priority.parse() {
        Ok(1 | 2) => Some(Severity::Error),
        Ok(3) => Some(Severity::Warning),
        Ok(4 | 5) => Some(Severity::Info),
        _ => severity_of_word(&priority),
    });
    let name = start.local_name().into_inner().to_owned();
    let test = if name == TEST_CASE {
        find(&["name"], &any).map(|test| test_name(&test, find(&["classname"], &any)))
    } else {
        None
    };
    XmlElement {
        name,
        test,
        file,
        place: line.map(|line| (line, number(COL))),
        message: find(MESSAGE, &any),
        code: find(CODE, &|key, value| key != "type" || severity_of_word(value).is_none()),
        severity: find(SEVERITY, &any).and_then(|word| severity_of_word(&word)).or(priority),
        text: String::new(),
        waiting: Vec::new(),
    }
}

/// An element ended: what it says goes to the entries, or to the element around it.
fn close_element(mut element: XmlElement, open: &mut [XmlElement], entries: &mut Vec<StructuredFinding>) {
    let text = element.text.trim();
    // JUnit: whatever is below a test case with a failure, it failed, and it may have no place.
    let of_test = open.last().is_some_and(|outer| outer.test.is_some());
    if of_test && matches!(element.name.as_str(), "failure" | "error") && element.message.is_none() {
        element.message = Some(if text.is_empty() { "failed".to_owned() } else { text.to_owned() });
    }
    if let Some(outer) = open.last_mut().filter(|outer| outer.test.is_some() && element.place.is_none()) {
        append_text(std::slice::from_mut(outer), element.text.as_str());
        outer.code = outer.code.take().or_else(|| element.code.clone());
    }
    if element.test.is_some() && element.place.is_none() && element.message.is_some() {
        return entries.push(failed_test(element, open));
    }
    let text = element.text.trim();
    let own = element.message.take().or_else(|| (!text.is_empty()).then(|| text.to_owned()));
    let file = || element.file.clone().or_else(|| open.iter().rev().find_map(|outer| outer.file.clone()));
    if let Some((line, col)) = element.place {
        let (severity, code) = (element.severity, element.code.clone());
        let entry = StructuredFinding {
            file: file(),
            line: Some(line),
            col,
            severity,
            code,
            test: element.test.clone(),
            message: String::new(),
        };
        // What is below an element with a line only repeats it.
        element.waiting = vec![(0, entry)];
    }
    if let Some(message) = own.clone().filter(|_| !element.waiting.is_empty()) {
        // Of several places of one message the nearest and first is where it is.
        let nearest = element.waiting.into_iter().min_by_key(|(distance, _)| *distance);
        entries.extend(nearest.map(|(_, entry)| StructuredFinding {
            code: entry.code.or(element.code),
            severity: entry.severity.or(element.severity),
            message,
            ..entry
        }));
    } else if let Some(outer) = open.last_mut() {
        let waiting = element.waiting.into_iter().map(|(distance, entry)| (distance + 1, entry));
        outer.waiting.extend(waiting.filter(|(distance, _)| *distance <= MESSAGE_DISTANCE_MAX));
    }
    if let (Some(message), Some(outer)) = (own, open.last_mut())
        && MESSAGE_ELEMENTS.contains(&element.name.as_str())
        && element.place.is_none()
    {
        outer.message.get_or_insert(message);
    }
}

/// The element of a test in JUnit's XML.
const TEST_CASE: &str = "testcase";

/// The test as `class.name`, where the class is said and says more.
fn test_name(name: &str, class: Option<String>) -> String {
    match class {
        Some(class) if !name.contains(&class) && !class.contains(name) => format!("{class}.{name}"),
        _ => name.to_owned(),
    }
}

/// A failed test whose case has no line: its text may name one.
fn failed_test(element: XmlElement, open: &[XmlElement]) -> StructuredFinding {
    let said = element.text.lines().flat_map(generic::find_locations).next();
    let (line, col) = said.as_ref().map_or((None, None), |place| (place.line, place.col));
    let outer = || open.iter().rev().find_map(|outer| outer.file.clone());
    StructuredFinding {
        file: said.map(|place| place.file.to_owned()).or(element.file).or_else(outer),
        line,
        col,
        severity: Some(Severity::Error),
        code: element.code,
        test: element.test,
        message: element.message.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        let (_, entries) = read_xml(text, &mut usize::MAX.clone()).unwrap_or_default();
        let or = |number: Option<u32>| number.unwrap_or(0);
        let shown = |e: StructuredFinding| {
            let (file, code) = (e.file.unwrap_or_default(), e.code.unwrap_or_default());
            format!("{file}:{}:{} {:?} [{code}] {}", or(e.line), or(e.col), e.severity, e.message)
        };
        entries.into_iter().map(shown).collect()
    }

    #[test]
    fn reporters_shapes_are_read() {
        // checkstyle 10, and everything that has a checkstyle reporter
        let checkstyle = r#"<?xml version="1.0"?><checkstyle version="10"><file name="src/A.java"><error line="7" column="3" severity="error" message="a &lt; b" source="x.Y"/></file></checkstyle>"#;
        assert_eq!(read(checkstyle), ["src/A.java:7:3 Some(Error) [x.Y] a < b"]);
        // PMD 7
        let pmd = r#"<pmd><file name="src/A.java"><violation beginline="7" endline="8" begincolumn="3" rule="R" ruleset="S" priority="3">
a &lt; b
</violation></file></pmd>"#;
        assert_eq!(read(pmd), ["src/A.java:7:3 Some(Warning) [R] a < b"]);
        // cppcheck 2.10: one message, several places, the first is where it is
        let cppcheck = r#"<results version="2"><cppcheck version="2.10"/><errors><error id="nullPointer" severity="error" msg="a &lt; b" verbose="long"><location file="src/A.java" line="7" column="3" info="i"/><location file="src/B.java" line="9"/></error></errors></results>"#;
        assert_eq!(read(cppcheck), ["src/A.java:7:3 Some(Error) [nullPointer] a < b"]);
        // SpotBugs 4: the bug's own line, not the method's
        let spotbugs = r#"<BugCollection><BugInstance type="NP" priority="2"><LongMessage>a &lt; b</LongMessage><Method name="m"><SourceLine start="1" end="20" sourcepath="src/A.java"/></Method><SourceLine start="7" end="7" sourcepath="src/A.java"/></BugInstance></BugCollection>"#;
        assert_eq!(read(spotbugs), ["src/A.java:7:0 Some(Error) [NP] a < b"]);
    }

    #[test]
    fn tests_that_pass_and_coverage_are_no_diagnostics() {
        let junit = r#"<testsuite><testcase classname="t" name="ok" file="t.py" line="3"/><testcase classname="t" name="bad" file="t.py" line="5"><failure message="boom">trace</failure></testcase></testsuite>"#;
        assert_eq!(read(junit), ["t.py:5:0 None [] boom"]);
        let bare = r#"<testsuite name="s"><testcase classname="pkg.T" name="bad"><failure type="AssertionError">src/t.py:5: boom</failure></testcase><testcase name="empty"><error/></testcase><testcase name="fine"><system-out>error</system-out></testcase></testsuite>"#;
        assert_eq!(
            read(bare),
            ["src/t.py:5:0 Some(Error) [AssertionError] src/t.py:5: boom", ":0:0 Some(Error) [] failed"]
        );
        let coverage =
            r#"<coverage><class filename="a.py"><lines><line number="1" hits="0"/></lines></class></coverage>"#;
        assert!(read(coverage).is_empty());
    }

    #[test]
    fn a_document_that_breaks_off_says_what_it_said() {
        let cut = r#"<checkstyle><file name="a.js"><error line="1" message="m"/><error line="2" mess"#;
        assert_eq!(read(cut).len(), 1);
        assert_eq!(read_xml("<a>text <b></a>", &mut 100), None);
    }
}
