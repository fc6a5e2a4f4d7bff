//! XML documents. `quick_xml` escapes and indents; the texts are bounded first.

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, Event};

use super::text::bounded_text;

/// Where elements are written to.
pub(super) type XmlWriter = Writer<Vec<u8>>;

/// A document whose outermost element is `root`, with what `write_content` puts into it.
pub(super) fn render_document(
    root: &str,
    attributes: &[(&str, &str)],
    write_content: impl FnOnce(&mut XmlWriter) -> io::Result<()>,
) -> String {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    let written = writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None))).and_then(|()| {
        let root = writer.create_element(root).with_attributes(attributes.iter().copied());
        root.write_inner_content(write_content).map(|_| ())
    });
    debug_assert!(written.is_ok(), "a vector takes every byte");
    String::from_utf8_lossy(&writer.into_inner()).into_owned() + "\n"
}

/// `text` cut to a message's length, without the characters that XML 1.0 has no way to write (section 2.2).
pub(super) fn xml_text(text: &str) -> String {
    bounded_text(text).replace(['\u{fffe}', '\u{ffff}'], "")
}
