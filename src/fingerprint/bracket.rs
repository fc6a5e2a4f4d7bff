//! Brackets that belong to what precedes them, and the representations that programs print of their values.

/// A value's representation or a call's arguments, bytes.
const BRACKET_BYTES_MAX: usize = 300;

/// `<class 'x.Y'>`, `<function f at 0x7f00>`, `<span class="a">`: the length of a representation that starts here. A
/// single word in angle brackets (`<module>`, `<T>`) is none.
pub(super) fn representation_len(rest: &str) -> Option<usize> {
    if !rest[1..].starts_with(|c: char| c.is_alphabetic() || c == '_') {
        return None;
    }
    let end = closing_len(rest)?;
    let inside = &rest[1..end - 1];
    (inside.contains([' ', '=']) && !inside.ends_with(' ')).then_some(end)
}

/// The length of what is attached to a word: `[int]` of `list[int]`, `(a=1)` of `open(a=1)`, also repeated and in a
/// union (`list[int] | str`). A sentence in brackets isn't, nor are the brackets of `file(s)`.
pub(super) fn attached_len(rest: &str) -> usize {
    let mut end = 0;
    while rest[end..].starts_with(['[', '(']) {
        let Some(len) = closing_len(&rest[end..]) else { break };
        let inside = &rest[end + 1..end + len - 1];
        let more = &rest[end + len..];
        if matches!(inside, "s" | "es") || !is_list(inside) || more.starts_with(|c: char| c.is_alphanumeric()) {
            break;
        }
        end += len;
    }
    if end > 0 {
        while let Some(next) = rest[end..].strip_prefix(" | ") {
            let word = next.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.'))).unwrap_or(next.len());
            if word == 0 {
                break;
            }
            end += 3 + word + attached_len(&next[word..]);
        }
    }
    end
}

/// Whether the elements are single words or have no letters: arguments, not a sentence.
fn is_list(inside: &str) -> bool {
    inside.split([',', '|', '=', ':']).all(|element| {
        let element = element.trim();
        !element.contains(char::is_whitespace)
            || !element.contains(char::is_alphabetic)
            || element.starts_with(['\'', '"', '<', '[', '(', '{'])
    })
}

/// The length up to the bracket that closes the one at the start; brackets of other kinds in between are paired too.
pub(super) fn closing_len(rest: &str) -> Option<usize> {
    let mut open = Vec::new();
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in rest.char_indices().take_while(|&(at, c)| at < BRACKET_BYTES_MAX && c != '\n') {
        match (quote, c) {
            (Some(close), c) if c == close => quote = None,
            (Some(_), _) => {}
            // The apostrophe of `don't` opens nothing.
            (None, '\'' | '"') if !before.is_alphanumeric() => quote = Some(c),
            (None, '(') => open.push(')'),
            (None, '[') => open.push(']'),
            (None, '{') => open.push('}'),
            (None, '<') => open.push('>'),
            // The head of an arrow.
            (None, '>') if matches!(before, '-' | '=') => {}
            (None, ')' | ']' | '}' | '>') => {
                if open.pop() != Some(c) {
                    return None;
                }
                if open.is_empty() {
                    return Some(at + c.len_utf8());
                }
            }
            _ => {}
        }
        before = c;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_attached_is_a_list_and_closed() {
        for (text, len) in [
            ("[int] is", 5),
            ("[[int], int] is", 12),
            ("(record=True) twice", 13),
            ("()", 2),
            ("[int] | str is", 11),
            ("[0][1] x", 6),
            ("(a sentence in brackets) x", 0),
            ("(s) x", 0),
            ("(shallow)copyable", 0),
            ("[224\\ 228\\ 232]", 15),
            ("[never closed", 0),
            (" (apart)", 0),
        ] {
            assert_eq!(attached_len(text), len, "{text}");
        }
    }

    #[test]
    fn representations_are_told_from_names_and_comparisons() {
        for (text, len) in [
            ("<class 'int'> x", Some(13)),
            ("<function f.<locals>.<lambda> at 0x7f> x", Some(38)),
            ("<Future pending>", Some(16)),
            ("<module>", None),
            ("<T>", None),
            ("< b and c >", None),
            ("<a -> b>", Some(8)),
            ("<never closed", None),
        ] {
            assert_eq!(representation_len(text), len, "{text}");
        }
    }
}
