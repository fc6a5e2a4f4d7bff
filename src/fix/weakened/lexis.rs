//! Which bytes of a line are code, which are text in quotes, which are a comment. No parser: the words of a language
//! that begin and end these, followed over the lines of a hunk. A hunk may begin in the middle of one; then the first
//! closing mark decides.

use std::sync::LazyLock;

use regex::Regex;

use super::lazy::compile_regex;

/// Where a line begins or ends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum LexerState {
    #[default]
    Code,
    /// In the block comment of this index.
    Block(usize),
    /// In the long string of this index.
    Long(usize),
    /// In a here-document, up to the line that is this word.
    Heredoc(String),
}

/// The words of a language.
#[derive(Debug)]
pub(super) struct Lexis {
    comments: Vec<String>,
    spaced: bool,
    blocks: Vec<(String, String)>,
    strings: Vec<u8>,
    /// `'` encloses one character only: elsewhere it is a lifetime or an apostrophe.
    chars: bool,
    long: Vec<LongString>,
    heredoc: bool,
}

#[derive(Debug)]
struct LongString {
    start: String,
    end: String,
    escapes: bool,
    /// Ends with its line after all.
    one_line: bool,
}

/// A line in three readings of the same length: what is not of the kind is blank.
#[derive(Debug, Clone, Default)]
pub(super) struct MaskedLine {
    /// Code alone; quotes stay, what is between them doesn't.
    pub(super) code: String,
    /// Code and strings.
    pub(super) text: String,
    pub(super) comment: String,
}

/// Looks like a statement of most languages: begins with one of their words, gives a name a value, calls something, or
/// has nothing but brackets.
static LIKE_CODE: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(concat!(
        r"^\s*(?:(?:def|class|import|from|return|assert|if|elif|else|for|while|with|let|const|var|val|fn|func|pub|use|raise|throw|try|except|catch|async|await|static|struct|impl|mod|match|public|private)\b.*[:;{}()\[\],]\s*$",
        r"|(?:import|from|return|use|assert|raise)\s+[\w.:{*]+|[@#]\[?\w|//|[\w.\[\]\x22']+\s*(?:[-+*/|&:]?=[^=]|:\s*[\w\[\]|., ]+(?:=.*)?$)|[\w.:!]+\(.*[);,({:]\s*$|[{}()\[\]]+[;,:]*\s*$)"
    ))
    .expect("a regex")
});

impl Lexis {
    pub(super) fn new(
        comments: Vec<String>,
        spaced: bool,
        blocks: Vec<(String, String)>,
        strings: &[String],
        long: &[Vec<String>],
        heredoc: bool,
    ) -> Self {
        let chars = strings.iter().any(|quote| quote == "char");
        let strings = strings.iter().filter(|quote| quote.len() == 1).map(|quote| quote.as_bytes()[0]).collect();
        let long = long.iter().filter_map(|parts| {
            let kind = parts.get(2).map_or("", String::as_str);
            let (start, end) = (parts.first()?.clone(), parts.get(1)?.clone());
            Some(LongString { start, end, escapes: kind.is_empty(), one_line: kind == "line" })
        });
        Lexis { comments, spaced, blocks, strings, chars, long: long.collect(), heredoc }
    }

    /// Where the first of `lines` begins: inside a comment or a string, if that is closed before one is opened.
    pub(super) fn state_before<'l>(&self, lines: impl Iterator<Item = &'l str> + Clone) -> LexerState {
        for (index, (start, end)) in self.blocks.iter().enumerate() {
            for line in lines.clone() {
                match (block_start(line, start), block_end(line, end)) {
                    (Some(start), Some(end)) if end < start => return LexerState::Block(index),
                    (None, Some(_)) => return LexerState::Block(index),
                    (Some(_), _) => break,
                    (None, None) => {}
                }
            }
        }
        // The middle of a `/** … */`, both ends out of sight.
        let c_block = self.blocks.iter().position(|(start, _)| start == "/*");
        if let Some(index) = c_block
            && let Some(first) = lines.clone().find(|line| !line.trim().is_empty())
            && (first.trim_start().starts_with("* ") || first.trim() == "*")
        {
            return LexerState::Block(index);
        }
        for (index, long) in self.long.iter().enumerate() {
            if long.start != long.end && Self::closes_alone(long, lines.clone()) {
                return LexerState::Long(index);
            }
            if long.start.len() < 3 || long.start != long.end {
                continue;
            }
            if Self::ends_first(long, lines.clone()) {
                return LexerState::Long(index);
            }
            let count: usize = lines.clone().map(|line| line.matches(long.start.as_str()).count()).sum();
            let mut before = "";
            for line in lines.clone() {
                let trimmed = line.trim();
                if let Some(at) = trimmed.find(long.start.as_str()) {
                    let leads = |text: &str| ["=", "(", "[", ",", ":", "{"].iter().any(|end| text.ends_with(end));
                    let opens = leads(before);
                    // Letters in front of the sign are a part of it: `x = f"""`.
                    let own = trimmed[..at].trim_end_matches(|c: char| c.is_ascii_alphabetic()).trim_end();
                    let opens_here = leads(own) || at > 0 && own.is_empty() || trimmed[..at].trim_end() == "return";
                    let rest = &trimmed[at + long.start.len()..];
                    // `""");` ends the call that the text is an argument of.
                    let ends_call = !rest.is_empty() && rest.chars().all(|c| matches!(c, ')' | ']' | '}' | ';' | ','));
                    let closes = trimmed.len() == long.start.len() && !opens && !LIKE_CODE.is_match(before)
                        || at > 0 && trimmed.ends_with(long.end.as_str()) && !opens_here;
                    if count % 2 == 1 && (ends_call || closes && !before.is_empty()) {
                        return LexerState::Long(index);
                    }
                    // A text that begins on this line, or below what it belongs to.
                    if opens_here || at == 0 && (rest.starts_with(char::is_alphanumeric) || rest == "\\" || opens) {
                        return LexerState::Code;
                    }
                    break;
                }
                before = if trimmed.is_empty() { before } else { trimmed };
            }
        }
        self.long_state_before(lines)
    }

    /// Whether a string that goes over lines and ends with another sign than it begins with ends before one begins, by
    /// a line that has nothing else.
    fn closes_alone<'l>(long: &LongString, mut lines: impl Iterator<Item = &'l str>) -> bool {
        let first = lines.find(|line| line.contains(long.start.as_str()) || line.trim().starts_with(long.end.as_str()));
        let rest = first.and_then(|line| line.trim().strip_prefix(long.end.as_str()));
        long.end.len() > 1 && rest.is_some_and(|rest| rest.chars().all(|c| matches!(c, ')' | ']' | ';' | ',')))
    }

    /// Whether the first sign of a string that goes over lines ends it: it is alone on its line, and what follows is
    /// less deep than what it would hold.
    fn ends_first<'l>(long: &LongString, mut lines: impl Iterator<Item = &'l str>) -> bool {
        let sign = long.start.as_str();
        let indent = |line: &str| line.len() - line.trim_start().len();
        let Some(first) = lines.find(|line| line.contains(sign)).filter(|line| line.trim() == sign) else {
            return false;
        };
        lines.find(|line| !line.trim().is_empty()).is_some_and(|next| indent(next) < indent(first))
    }

    /// Whether lines begin in a string that goes over lines and ends as it begins: where fewer lines that look like code
    /// are all text.
    fn long_state_before<'l>(&self, lines: impl Iterator<Item = &'l str> + Clone) -> LexerState {
        let inside = |first: LexerState| {
            let mut state = first;
            let is_text = |line: &str| {
                let began = matches!(state, LexerState::Long(_));
                self.mask_line(&mut state, line);
                began && matches!(state, LexerState::Long(_)) && LIKE_CODE.is_match(line)
            };
            lines.clone().map(is_text).filter(|text| *text).count()
        };
        let as_code = inside(LexerState::Code);
        // A sign that only begins a string comes first.
        let begins = |line: &str| {
            let at = line.find('"')?;
            Some(self.long.iter().any(|long| long.start != long.end && line[..=at].ends_with(long.start.as_str())))
        };
        if lines.clone().find_map(begins) == Some(true) {
            return LexerState::Code;
        }
        let alike = |index: &usize| self.long[*index].start == self.long[*index].end;
        if as_code == 0 {
            return LexerState::Code;
        }
        let better = (0..self.long.len()).filter(alike).find(|&index| inside(LexerState::Long(index)) < as_code);
        better.map_or(LexerState::Code, LexerState::Long)
    }

    /// Reads one line; `state` is where it begins and, after, where the next one does.
    pub(super) fn mask_line(&self, state: &mut LexerState, line: &str) -> MaskedLine {
        let mut masks = LineMasks::new(line);
        let bytes = line.as_bytes();
        let mut at = 0;
        if let LexerState::Heredoc(word) = state {
            if line.trim().trim_end_matches([';', ')', ',']) == word.as_str() {
                *state = LexerState::Code;
            }
            masks.mask_string(0, line.len());
            return masks.finish_masks();
        }
        let mut heredoc = None;
        while at < bytes.len() {
            let rest = &line[at..];
            match state {
                LexerState::Block(index) => {
                    let end = &self.blocks[*index].1;
                    let stop = rest.find(end.as_str()).map(|n| n + end.len());
                    masks.mask_comment(at, at + stop.unwrap_or(rest.len()));
                    at += stop.unwrap_or(rest.len());
                    if stop.is_some() {
                        *state = LexerState::Code;
                    }
                }
                LexerState::Long(index) => {
                    let long = &self.long[*index];
                    let stop = string_end(rest, &long.end, long.escapes);
                    masks.mask_string(at, at + stop.unwrap_or(rest.len()));
                    at += stop.map_or(rest.len(), |n| n + long.end.len());
                    if stop.is_some() || long.one_line {
                        *state = LexerState::Code;
                    }
                }
                LexerState::Heredoc(_) | LexerState::Code => {
                    at = self.mask_code(state, line, at, &mut masks, &mut heredoc)
                }
            }
        }
        if let LexerState::Long(index) = state
            && self.long[*index].one_line
        {
            *state = LexerState::Code;
        }
        if let Some(word) = heredoc.filter(|_| *state == LexerState::Code) {
            *state = LexerState::Heredoc(word);
        }
        masks.finish_masks()
    }

    /// Takes one word of code at `at`; where the next one is.
    fn mask_code(
        &self,
        state: &mut LexerState,
        line: &str,
        at: usize,
        masks: &mut LineMasks,
        heredoc: &mut Option<String>,
    ) -> usize {
        let rest = &line[at..];
        let after_blank = at == 0 || line.as_bytes()[at - 1].is_ascii_whitespace();
        if let Some(index) = self.blocks.iter().position(|(start, _)| rest.starts_with(start.as_str())) {
            *state = LexerState::Block(index);
            let start = self.blocks[index].0.len();
            masks.mask_comment(at, at + start);
            return at + start;
        }
        let comment = self.comments.iter().any(|start| rest.starts_with(start.as_str()));
        // `http://` is no comment where nothing says that it is in quotes; `#[` is an attribute of PHP.
        let no_comment = rest.starts_with("//") && at > 0 && line.as_bytes()[at - 1] == b':' || rest.starts_with("#[");
        if comment && !no_comment && (!self.spaced || after_blank) {
            masks.mask_comment(at, line.len());
            return line.len();
        }
        if let Some(index) = self.long.iter().position(|long| rest.starts_with(long.start.as_str())) {
            *state = LexerState::Long(index);
            return at + self.long[index].start.len();
        }
        let first = rest.as_bytes()[0];
        if first == b'\'' && self.chars {
            return at + char_literal(rest).unwrap_or(1);
        }
        if self.strings.contains(&first) {
            let inside = &rest[1..];
            let end = string_end(inside, &rest[..1], true).unwrap_or(inside.len());
            masks.mask_string(at + 1, at + 1 + end);
            return (at + 2 + end).min(line.len());
        }
        if self.heredoc && first == b'<' && heredoc.is_none() {
            *heredoc = heredoc_word(rest);
        }
        at + rest.chars().next().map_or(1, char::len_utf8)
    }
}

/// Where a block comment may begin in a line of which it isn't known what of it is in quotes: `src/*` is a glob.
fn block_start(line: &str, start: &str) -> Option<usize> {
    let begins =
        |before: char| before.is_whitespace() || matches!(before, ';' | ',' | ')' | '(' | '{' | '>' | '&' | '=');
    line.match_indices(start)
        .map(|(at, _)| at)
        .find(|&at| start != "/*" || line[..at].chars().next_back().is_none_or(begins))
}

/// Where one may end in such a line: `**/src` is a glob, as is what is between quotes.
fn block_end(line: &str, end: &str) -> Option<usize> {
    let ends = |rest: &str| rest.chars().next().is_none_or(|c| c.is_whitespace() || matches!(c, ')' | '}' | ';' | ','));
    let quoted = |at: usize| line[..at].matches('"').count() % 2 == 1;
    line.match_indices(end).map(|(at, _)| at).find(|&at| ends(&line[at + end.len()..]) && !quoted(at))
}

/// Where a string ends in `text`.
fn string_end(text: &str, end: &str, escapes: bool) -> Option<usize> {
    if !escapes {
        return text.find(end);
    }
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'\\' {
            at += 2;
        } else if text.is_char_boundary(at) && text[at..].starts_with(end) {
            return Some(at);
        } else {
            at += 1;
        }
    }
    None
}

/// The length of `'x'` or `'\n'`; `None` when the quote is something else.
fn char_literal(text: &str) -> Option<usize> {
    let inside = &text[1..];
    if let Some(escaped) = inside.strip_prefix('\\') {
        let end = escaped.char_indices().skip(1).find(|&(_, c)| c == '\'')?.0;
        return (end <= 10).then_some(end + 3);
    }
    let c = inside.chars().next()?;
    (c != '\'' && inside[c.len_utf8()..].starts_with('\'')).then(|| c.len_utf8() + 2)
}

/// The word that ends the here-document which `<<` at the start of `text` opens.
fn heredoc_word(text: &str) -> Option<String> {
    let rest = text.strip_prefix("<<")?;
    let rest =
        rest.strip_prefix('<').unwrap_or(rest).trim_start_matches(['-', '~', ' ']).trim_start_matches(['"', '\'']);
    let word: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    // `1 << n` shifts; the words of here-documents are written in capitals.
    (word.len() > 1 && word.starts_with(|c: char| c.is_ascii_uppercase())).then_some(word)
}

struct LineMasks {
    code: Vec<u8>,
    text: Vec<u8>,
    comment: Vec<u8>,
    line: Vec<u8>,
}

impl LineMasks {
    fn new(line: &str) -> Self {
        let bytes = line.as_bytes().to_vec();
        LineMasks { code: bytes.clone(), text: bytes.clone(), comment: vec![b' '; bytes.len()], line: bytes }
    }

    fn mask_string(&mut self, start: usize, end: usize) {
        self.code[start..end].fill(b' ');
    }

    fn mask_comment(&mut self, start: usize, end: usize) {
        self.code[start..end].fill(b' ');
        self.text[start..end].fill(b' ');
        self.comment[start..end].copy_from_slice(&self.line[start..end]);
    }

    fn finish_masks(self) -> MaskedLine {
        // What was blanked is whole strings and comments, so characters stay whole.
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        MaskedLine { code: text(self.code), text: text(self.text), comment: text(self.comment) }
    }
}

/// `text` without blanks.
pub(super) fn without_whitespace(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// `text` without blanks and with one kind of quotes.
pub(super) fn plain_spelling(text: &str) -> String {
    let text = without_whitespace(text);
    if text.contains('"') { text } else { text.replace('\'', "\"") }
}

/// The words that may be names.
pub(super) fn identifiers_of(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| word.len() > 1 && !word.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use crate::fix::weakened::language::Language;

    use super::*;

    fn read(path: &str, lines: &str) -> Vec<MaskedLine> {
        let lexis = &Language::of_path(path).expect("a language").lexis;
        let mut state = lexis.state_before(lines.lines());
        lines.lines().map(|line| lexis.mask_line(&mut state, line)).collect()
    }

    #[test]
    fn strings_and_comments_are_no_code() {
        let line = |path, line| read(path, line).remove(0);
        let js = line("a.ts", "f('a // b', \"c\") // eslint-disable-line");
        assert_eq!(js.code.trim_end(), "f('      ', \" \")");
        assert_eq!(js.comment.trim(), "// eslint-disable-line");
        assert_eq!(js.text.trim_end(), "f('a // b', \"c\")");
        assert_eq!(line("a.rs", "fn f<'a>(c: &'a str) { g('\"', '\\n'); } // x").comment.trim(), "// x");
        assert_eq!(line("a.sh", "echo ${#a} \"# b\" # c").comment.trim(), "# c");
        assert_eq!(line("a.py", "x = '''# a''' # b").comment.trim(), "# b");
        assert_eq!(line("é.py", "é = 'é # é' # é").comment.trim(), "# é");
    }

    #[test]
    fn what_goes_over_lines_is_followed() {
        let rust = read("a.rs", "let a = r#\"\n#[must_use]\n\"#; // b\n#[must_use]");
        assert_eq!(rust[1].code.trim(), "");
        assert_eq!(rust[2].comment.trim(), "// b");
        assert_eq!(rust[3].code, "#[must_use]");
        assert_eq!(
            read("a.sh", "cat <<EOF\nset +e\nEOF\nset +e").iter().map(|m| m.code.trim()).collect::<Vec<_>>(),
            ["cat <<EOF", "", "", "set +e"]
        );
        assert_eq!(
            read("a.py", "def f():\n    \"\"\"Says\n    # noqa\n    \"\"\"\n    pass  # noqa")[2].comment.trim(),
            ""
        );
        // A hunk may begin in a text whose end has the call's end behind it.
        assert_eq!(
            read("a.cs", "FROM carts\n\"\"\");\n[Fact(Skip = \"later\")]")[2].code.trim(),
            "[Fact(Skip = \"     \")]"
        );
        assert_eq!(
            read("a.md", "```js\n// eslint-disable\n```\n<!-- markdownlint-disable -->")[3].comment.trim(),
            "<!-- markdownlint-disable -->"
        );
    }

    #[test]
    fn a_hunk_may_begin_inside() {
        assert_eq!(read("a.c", " * about NOLINT\n */\nint a; // b")[0].code.trim(), "");
        // A comment that a line's code ends with is opened there.
        assert_eq!(read("a.c", "int a;\nf();/* once */\n")[0].code.trim(), "int a;");
        assert_eq!(read("a.cc", "f();\neach([](const Item &/*item*/, int) {\n")[0].code.trim(), "f();");
        assert_eq!(read("a.cc", "f();\ng(/* deep */);\n")[0].code.trim(), "f();");
        assert_eq!(read("a.xml", "<a>\n<b>c</b><!-- once -->\n")[0].code.trim(), "<a>");
        assert_eq!(read("a.py", "    Says more\n    # noqa\n    \"\"\"\n    x  # y")[1].comment.trim(), "");
        assert_eq!(read("a.py", "def f():\n    \"\"\"\n    # noqa")[2].comment.trim(), "");
        assert_eq!(read("a.py", "\"\"\"\nimport a\n\nb()  # c")[3].comment.trim(), "# c");
        assert_eq!(read("a.py", "a text\"\"\"))\nb()  # c\n")[1].comment.trim(), "# c");
        assert_eq!(read("a.py", "b()  # c\n\nTEXT = f\"\"\"\na\n")[0].comment.trim(), "# c");
        assert_eq!(read("a.py", "a: int\n\"\"\"\nA price\nb: int  # c")[0].code.trim(), "a: int");
        assert_eq!(read("a.py", "b()  # c\n\"\"\"Adds\na")[0].comment.trim(), "# c");
        assert_eq!(read("a.rs", "let a = b; // c\nf(r#\"\na = \"x\"\n\"#);")[0].comment.trim(), "// c");
        assert_eq!(read("a.rs", "{ \"a\": 1 }\n\"#;\nlet a = b; // c")[2].comment.trim(), "// c");
        assert_eq!(read("a.rs", "an output\n\";\nlet a = b;\nlet c = d; // e")[3].comment.trim(), "// e");
    }
}
