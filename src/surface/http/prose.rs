//! Markdown that was recorded, as HTML: headings, paragraphs, lists, code, quotes and tables. Everything else is text:
//! HTML is shown as it was written, links and pictures with their address beside them.

use minijinja::value::Value;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};

use super::escape::escape_html;
use crate::base::text::ellipsis;

/// Parts within parts that are drawn as such; what is deeper belongs to the part around it.
const DEPTH_MAX: usize = 24;
/// Lines of a diff, and bytes of one of them.
const DIFF_LINES_MAX: usize = 2_000;
const DIFF_LINE_BYTES_MAX: usize = 1_000;

/// The Markdown of a document whose title the page shows already. Its front matter is folded.
pub(super) fn render_document(text: &str) -> Value {
    let mut page = Prose::default();
    let (front, text) = split_front_matter(text);
    if let Some(front) = front {
        let front = escape_html(front);
        page.html.push_str(&format!("<details><summary>Front matter</summary><pre>{front}</pre></details>"));
    }
    for event in Parser::new_ext(without_title(text), Options::ENABLE_TABLES) {
        page.add(event);
    }
    Value::from_safe_string(page.html)
}

/// One line with its code spans; other marks stay as they are.
pub(super) fn render_code_spans(line: &str) -> Value {
    let mut html = String::with_capacity(line.len() + 16);
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        html.push_str(&escape_html(&rest[..start]));
        let opened = &rest[start..];
        let fence = &opened[..opened.len() - opened.trim_start_matches('`').len()];
        let inside = &opened[fence.len()..];
        if let Some(end) = closing_fence(inside, fence.len()) {
            html.push_str(&format!("<code>{}</code>", escape_html(unpadded(&inside[..end]))));
            rest = &inside[end + fence.len()..];
        } else {
            html.push_str(fence);
            rest = inside;
        }
    }
    html.push_str(&escape_html(rest));
    Value::from_safe_string(html)
}

/// A diff with a span for each line.
pub(super) fn render_diff(diff: &str) -> Value {
    let mut html = "<pre class=\"diff\">".to_owned();
    push_diff_lines(&mut html, diff);
    html.push_str("</pre>");
    Value::from_safe_string(html)
}

/// Where the next run of exactly `length` backticks begins.
fn closing_fence(text: &str, length: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text[at..].find('`') {
        let start = at + found;
        let run = text[start..].bytes().take_while(|byte| *byte == b'`').count();
        if run == length {
            return Some(start);
        }
        at = start + run;
    }
    None
}

/// A code span without the space that keeps a backtick off its fence.
fn unpadded(code: &str) -> &str {
    let stripped = code.strip_prefix(' ').and_then(|code| code.strip_suffix(' '));
    stripped.filter(|code| !code.trim().is_empty()).unwrap_or(code)
}

/// The lines between two lines `---` that a text begins with, and the rest.
fn split_front_matter(text: &str) -> (Option<&str>, &str) {
    let split = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    split.map_or((None, text), |(front, rest)| (Some(front), rest))
}

/// The text after its first heading, when it begins with one.
fn without_title(text: &str) -> &str {
    let mut begun = text;
    while let Some((line, rest)) = begun.split_once('\n')
        && (line.trim().is_empty() || is_mark(line))
    {
        begun = rest;
    }
    if begun.starts_with("# ") { begun.split_once('\n').map_or("", |(_, rest)| rest) } else { text }
}

fn push_diff_lines(html: &mut String, diff: &str) {
    for line in diff.lines().take(DIFF_LINES_MAX) {
        let class = match line.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] | [b'@', b'@', ..] => "hunk",
            [b'+', ..] => "add",
            [b'-', ..] => "del",
            _ => "",
        };
        html.push_str(&format!(
            "<span class=\"{class}\">{}</span>\n",
            escape_html(&ellipsis(line, DIFF_LINE_BYTES_MAX))
        ));
    }
}

/// Whether a comment is one of our own marks, or one for a linter: these say nothing to a reader.
fn is_mark(html: &str) -> bool {
    let inside = html.trim().strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->")).map(str::trim);
    inside.is_some_and(|inside| {
        let is_plain = inside.chars().all(|c| c.is_ascii_alphanumeric() || " :/-+".contains(c));
        let starts = ["verify-run:", "/verify-run:", "verify-run ", "markdownlint-", "prettier-ignore"];
        is_plain && starts.iter().any(|start| inside.starts_with(start))
    })
}

/// A document while it is drawn.
#[derive(Default)]
struct Prose {
    html: String,
    /// What ends each part that is open.
    ends: Vec<String>,
    /// The level of the last heading; the page's title is the first.
    level: usize,
    /// A block of code or of HTML: its text, and whether it is a diff.
    block: Option<(String, bool)>,
    /// Cells of a table are heads.
    is_head: bool,
}

impl Prose {
    fn add(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(TagEnd::CodeBlock) => self.end_code(),
            Event::End(TagEnd::HtmlBlock) => self.end_html(),
            Event::End(end) => {
                self.is_head &= end != TagEnd::TableHead;
                self.html.push_str(&self.ends.pop().unwrap_or_default());
            }
            Event::Text(text) | Event::Html(text) if self.block.is_some() => {
                self.block.get_or_insert_default().0.push_str(&text);
            }
            Event::InlineHtml(text) | Event::Html(text) if is_mark(&text) => {}
            Event::Code(text) => self.html.push_str(&format!("<code>{}</code>", escape_html(&text))),
            Event::SoftBreak => self.html.push('\n'),
            Event::HardBreak => self.html.push_str("<br>"),
            Event::Rule => self.html.push_str("<hr>"),
            Event::TaskListMarker(is_done) => self.html.push_str(if is_done { "☑ " } else { "☐ " }),
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.html.push_str(&escape_html(&text)),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let (start, end) = match tag {
            Tag::CodeBlock(kind) => {
                let is_diff = matches!(kind, CodeBlockKind::Fenced(language) if &*language == "diff");
                self.block = Some((String::new(), is_diff));
                return;
            }
            Tag::HtmlBlock => {
                self.block = Some((String::new(), false));
                return;
            }
            Tag::Heading { level, .. } => self.heading(level),
            Tag::Link { link_type: LinkType::Autolink | LinkType::Email, .. } => (String::new(), String::new()),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                (String::new(), format!(" ({})", escape_html(&dest_url)))
            }
            Tag::Paragraph => pair("<p>", "</p>"),
            Tag::BlockQuote(_) => pair("<blockquote>", "</blockquote>"),
            Tag::List(None) => pair("<ul>", "</ul>"),
            Tag::List(Some(first)) => (format!("<ol start=\"{first}\">"), "</ol>".to_owned()),
            Tag::Item => pair("<li>", "</li>"),
            Tag::Table(_) => pair("<div class=\"scroll\"><table>", "</tbody></table></div>"),
            Tag::TableHead => {
                self.is_head = true;
                pair("<thead><tr>", "</tr></thead><tbody>")
            }
            Tag::TableRow => pair("<tr>", "</tr>"),
            Tag::TableCell if self.is_head => pair("<th scope=\"col\">", "</th>"),
            Tag::TableCell => pair("<td>", "</td>"),
            Tag::Emphasis => pair("<em>", "</em>"),
            Tag::Strong => pair("<strong>", "</strong>"),
            _ => (String::new(), String::new()),
        };
        let is_drawn = self.ends.len() < DEPTH_MAX;
        self.html.push_str(if is_drawn { &start } else { "" });
        self.ends.push(if is_drawn { end } else { String::new() });
    }

    /// A heading below the page's title; no level is left out.
    fn heading(&mut self, level: HeadingLevel) -> (String, String) {
        self.level = (level as usize).clamp(2, self.level.max(1) + 1);
        (format!("<h{}>", self.level), format!("</h{}>", self.level))
    }

    fn end_code(&mut self) {
        let (text, is_diff) = self.block.take().unwrap_or_default();
        self.html.push_str(if is_diff { "<pre class=\"diff\">" } else { "<pre>" });
        if is_diff {
            push_diff_lines(&mut self.html, &text);
        } else {
            self.html.push_str(&escape_html(text.trim_end_matches('\n')));
        }
        self.html.push_str("</pre>");
    }

    fn end_html(&mut self) {
        let (text, _) = self.block.take().unwrap_or_default();
        let shown: Vec<&str> = text.lines().filter(|line| !is_mark(line)).collect();
        if !shown.is_empty() {
            self.html.push_str(&format!("<pre>{}</pre>", escape_html(&shown.join("\n"))));
        }
    }
}

fn pair(start: &str, end: &str) -> (String, String) {
    (start.to_owned(), end.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(text: &str) -> String {
        render_document(text).to_string()
    }

    #[test]
    fn a_lesson_is_headings_text_and_code() {
        let text = "# tsc failed\n\n<!-- markdownlint-disable MD013 MD014 -->\n<!-- verify-run:lesson 60e5 -->\n\n## Fix\n\n\
                    It is `a < b`:\n\n```diff\n--- a\n+++ b\n-x\n+<y>\n```\n\n1. one\n2. **two**\n\n<!-- /verify-run:fix -->\n";
        let expected = "<h2>Fix</h2><p>It is <code>a &lt; b</code>:</p><pre class=\"diff\"><span class=\"hunk\">--- a</span>\n\
                        <span class=\"hunk\">+++ b</span>\n<span class=\"del\">-x</span>\n<span class=\"add\">+&lt;y&gt;</span>\n</pre>\
                        <ol start=\"1\"><li>one</li><li><strong>two</strong></li></ol>";
        assert_eq!(html(text), expected);
        let page =
            "---\ntitle: \"<a>\"\n---\n\n<!-- markdownlint-disable MD010 -->\n\n# a\n\n<!-- prettier-ignore -->\n\nb\n";
        let front = "<details><summary>Front matter</summary><pre>title: &quot;&lt;a&gt;&quot;</pre></details>";
        assert_eq!(html(page), format!("{front}<p>b</p>"));
        assert_eq!(html("---\n\na\n"), "<hr><p>a</p>");
        assert_eq!(html("| a | b |\n| - | - |\n| 1 | <i> |\n"), TABLE);
    }

    const TABLE: &str = "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">a</th><th scope=\"col\">b</th></tr></thead>\
                         <tbody><tr><td>1</td><td>&lt;i&gt;</td></tr></tbody></table></div>";

    #[test]
    fn what_could_act_is_text() {
        let cases = [
            ("<script>alert(1)</script>", "<pre>&lt;script&gt;alert(1)&lt;/script&gt;</pre>"),
            ("a <img src=x onerror=y> b", "<p>a &lt;img src=x onerror=y&gt; b</p>"),
            ("[x](javascript:alert(1))", "<p>x (javascript:alert(1))</p>"),
            ("![x](https://evil.example/p.png)", "<p>x (https://evil.example/p.png)</p>"),
            ("<https://evil.example>", "<p>https://evil.example</p>"),
            ("[x](<\"><b>>)", "<p>[x](&lt;&quot;&gt;&lt;b&gt;&gt;)</p>"),
            ("<!-- verify-run: <b>hidden</b> -->", "<pre>&lt;!-- verify-run: &lt;b&gt;hidden&lt;/b&gt; --&gt;</pre>"),
            ("```\" onload=\"x\n</pre><b>\n```", "<pre>&lt;/pre&gt;&lt;b&gt;</pre>"),
        ];
        for (text, expected) in cases {
            assert_eq!(html(text), expected, "{text}");
        }
    }

    #[test]
    fn headings_leave_no_level_out_and_depth_has_an_end() {
        assert_eq!(html("#### a\n\n# b\n\n### c\n"), "<h2>a</h2><h2>b</h2><h3>c</h3>");
        let deep = html(&format!("{}x", "> ".repeat(2_000)));
        assert_eq!(
            (deep.matches("<blockquote>").count(), deep.matches("</blockquote>").count()),
            (DEPTH_MAX, DEPTH_MAX)
        );
    }

    #[test]
    fn a_line_shows_its_code_spans_alone() {
        let spans = |line: &str| render_code_spans(line).to_string();
        assert_eq!(spans("failed: `a < b` and **c**"), "failed: <code>a &lt; b</code> and **c**");
        assert_eq!(spans("`` a`b `` ` <i>"), "<code>a`b</code> ` &lt;i&gt;");
        assert_eq!(spans("a ``` b"), "a ``` b");
    }
}
