//! A lesson file, read as its front matter says.

use std::path::PathBuf;

/// A lesson file as a user finds it.
pub struct Lesson {
    /// Where it is.
    pub path: PathBuf,
    /// All of it.
    pub text: String,
}

impl Lesson {
    /// The value of a one-line front matter field, without quotes; `None` when the field is missing or empty.
    pub fn field(&self, name: &str) -> Option<&str> {
        let (front, _) = self.text.strip_prefix("---\n")?.split_once("\n---\n")?;
        let line = front.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let value = line.trim().trim_matches(['"', '\'']);
        (!value.is_empty() && value != "null").then_some(value)
    }

    /// The entries of a front matter list, without quotes.
    pub fn list(&self, name: &str) -> Vec<&str> {
        let front = self.text.strip_prefix("---\n").and_then(|text| text.split_once("\n---\n")).map_or("", |it| it.0);
        let mut lines =
            front.lines().skip_while(|line| line.strip_prefix(name).is_none_or(|rest| !rest.starts_with(':')));
        let Some(first) = lines.next() else { return Vec::new() };
        let inline = first[name.len() + 1..].trim();
        if let Some(inside) = inline.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            return inside.split(',').map(unquoted).filter(|entry| !entry.is_empty()).collect();
        }
        lines.map_while(|line| line.trim_start().strip_prefix("- ")).map(unquoted).collect()
    }
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}
