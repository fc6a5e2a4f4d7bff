//! A page as its reader sees it: sections, tables, links, and their text.

/// The part of a page from a heading to the end of its section.
#[track_caller]
pub(super) fn section<'a>(html: &'a str, heading: &str) -> &'a str {
    let begin = format!("<h2>{heading}");
    let (_, rest) = html.split_once(&begin).unwrap_or_else(|| panic!("no section {heading}: {html}"));
    rest.split("</section>").next().unwrap_or_default()
}

/// The text of markup, with one space between its words.
pub(super) fn plain_text(html: &str) -> String {
    let mut text = String::new();
    for (number, part) in html.split('<').enumerate() {
        let visible = if number == 0 { part } else { part.split_once('>').map_or("", |(_, visible)| visible) };
        text.push_str(visible);
        text.push(' ');
    }
    let named = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&#x2f;", "/"), ("&amp;", "&")];
    let text = named.iter().fold(text, |text, (name, character)| text.replace(name, character));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The rows of the first table of a part of a page: the markup of their cells.
pub(super) fn table_rows(html: &str) -> Vec<Vec<&str>> {
    let body = html.split("<tbody>").nth(1).and_then(|rest| rest.split("</tbody>").next()).unwrap_or_default();
    let rows = body.split("<tr").skip(1);
    rows.map(|row| row.split("<td").skip(1).filter_map(|cell| Some(cell.split_once('>')?.1)).collect()).collect()
}

/// The items of a list in a part of a page.
pub(super) fn list_items(html: &str) -> Vec<&str> {
    html.split("<li>").skip(1).filter_map(|item| item.split("</li>").next()).collect()
}

/// The links of a part of a page: address and text.
pub(super) fn linked_texts(html: &str) -> Vec<(String, String)> {
    let found = html.split("<a ").skip(1).filter_map(|rest| {
        let (tag, rest) = rest.split_once('>')?;
        let address = tag.split_once("href=\"")?.1.split('"').next()?.replace("&amp;", "&");
        Some((address, plain_text(rest.split_once("</a>")?.0)))
    });
    found.collect()
}

/// The addresses of the links of a part of a page.
pub(super) fn addresses(html: &str) -> Vec<String> {
    linked_texts(html).into_iter().map(|(address, _)| address).collect()
}

/// A page without the question marks beside its figures.
pub(super) fn without_question_marks(html: &str) -> String {
    let mut parts = html.split(" <a class=\"why\"");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |page, part| page + part.split_once("</a>").map_or("", |(_, rest)| rest))
}
