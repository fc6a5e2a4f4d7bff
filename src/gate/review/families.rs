//! Language models by vendor and line. A name that no row has is a family of its own.

use std::fmt;

/// Words of a name, the vendor, the line; the first row of which all words are in the name counts.
const FAMILIES: &[(&[&str], &str, &str)] = &[
    (&["opus"], "anthropic", "opus"),
    (&["sonnet"], "anthropic", "sonnet"),
    (&["haiku"], "anthropic", "haiku"),
    (&["claude"], "anthropic", "claude"),
    (&["gpt", "oss"], "openai", "gpt-oss"),
    (&["codex"], "openai", "gpt-codex"),
    (&["gpt"], "openai", "gpt"),
    (&["chatgpt"], "openai", "gpt"),
    (&["o1"], "openai", "o"),
    (&["o3"], "openai", "o"),
    (&["o4"], "openai", "o"),
    (&["gemini", "flash"], "google", "gemini-flash"),
    (&["gemini"], "google", "gemini-pro"),
    (&["gemma"], "google", "gemma"),
    (&["grok", "code"], "xai", "grok-code"),
    (&["grok"], "xai", "grok"),
    (&["deepseek", "r1"], "deepseek", "deepseek-r"),
    (&["deepseek", "reasoner"], "deepseek", "deepseek-r"),
    (&["deepseek"], "deepseek", "deepseek"),
    (&["qwen", "coder"], "alibaba", "qwen-coder"),
    (&["qwen"], "alibaba", "qwen"),
    (&["qwq"], "alibaba", "qwen"),
    (&["kimi"], "moonshot", "kimi"),
    (&["glm"], "zhipu", "glm"),
    (&["minimax"], "minimax", "minimax"),
    (&["codestral"], "mistral", "codestral"),
    (&["devstral"], "mistral", "devstral"),
    (&["magistral"], "mistral", "magistral"),
    (&["mixtral"], "mistral", "mistral"),
    (&["mistral"], "mistral", "mistral"),
    (&["ministral"], "mistral", "mistral"),
    (&["llama"], "meta", "llama"),
    (&["command"], "cohere", "command"),
    (&["nova"], "amazon", "nova"),
    (&["phi"], "microsoft", "phi"),
    (&["granite"], "ibm", "granite"),
    (&["composer"], "cursor", "composer"),
];

/// A vendor's line of models.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ModelFamily {
    /// `anthropic`
    pub vendor: String,
    /// `opus`
    pub line: String,
}

impl ModelFamily {
    /// The family of a model by its name, in whichever way a vendor, a cloud or a host writes it:
    /// `claude-opus-4-1`, `us.anthropic.claude-opus-4-1-v1:0`, `Opus 4.1`.
    pub(crate) fn from_name(name: &str) -> ModelFamily {
        let name = name.trim().to_lowercase();
        let words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let row =
            FAMILIES.iter().find(|(wanted, ..)| wanted.iter().all(|wanted| words.iter().any(|it| is_word(it, wanted))));
        match row {
            Some((_, vendor, line)) => ModelFamily { vendor: (*vendor).to_owned(), line: (*line).to_owned() },
            None => {
                let (vendor, line) = name.split_once('/').unwrap_or((&name, &name));
                ModelFamily { vendor: vendor.to_owned(), line: line.to_owned() }
            }
        }
    }
}

impl fmt::Display for ModelFamily {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.vendor == self.line {
            formatter.write_str(&self.line)
        } else {
            write!(formatter, "{}/{}", self.vendor, self.line)
        }
    }
}

/// The word itself, or the word with a version: `gpt`, `gpt4o`, `qwen3`.
fn is_word(found: &str, wanted: &str) -> bool {
    found.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_known_however_the_model_is_written() {
        for (name, family) in [
            ("claude-opus-4-1-20250805", "anthropic/opus"),
            ("us.anthropic.claude-sonnet-4-20250514-v1:0", "anthropic/sonnet"),
            ("anthropic/claude-sonnet-5", "anthropic/sonnet"),
            ("Opus 4.1", "anthropic/opus"),
            ("opus[1m]", "anthropic/opus"),
            ("claude-3-5-haiku@20241022", "anthropic/haiku"),
            ("claude-2.1", "anthropic/claude"),
            ("gpt-5.1-codex-max", "openai/gpt-codex"),
            ("gpt-4o-mini", "openai/gpt"),
            ("gpt4o", "openai/gpt"),
            ("o4-mini", "openai/o"),
            ("gemini-2.5-flash-lite", "google/gemini-flash"),
            ("models/gemini-3-pro", "google/gemini-pro"),
            ("grok-code-fast-1", "xai/grok-code"),
            ("Qwen3-Coder-480B", "alibaba/qwen-coder"),
            ("deepseek-chat", "deepseek"),
            ("Acme/Thinker-1", "acme/thinker-1"),
            ("thinker", "thinker"),
            ("protocol-3", "protocol-3"),
        ] {
            assert_eq!(ModelFamily::from_name(name).to_string(), family, "{name}");
        }
    }
}
