//! A check as a person calls it: by the typed words, not by the whitelist's name.

/// Words of a name, at most.
const WORDS_MAX: usize = 4;
/// A name, bytes.
const BYTES_MAX: usize = 30;

/// A check by its tool where that was typed (`eslint`), else by the words that the command line begins with (`cargo build`,
/// `npm run lint`); by the tool where there are none.
pub(crate) fn typed(tool: &str, command: &str) -> String {
    let words =
        || command.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'')).filter(|word| !word.is_empty());
    if words().any(|word| base_name(word) == tool) {
        return tool.to_owned();
    }
    let mut name = String::new();
    // `env` variables before the program, a toolchain behind it.
    let typed = words().skip_while(|word| word.contains('=')).filter(|word| !word.starts_with('+')).take(WORDS_MAX);
    for word in typed {
        let word = if name.is_empty() { base_name(word) } else { word };
        if !is_plain(word) && word != "-m" || name.len() + word.len() >= BYTES_MAX {
            break;
        }
        name.push_str(if name.is_empty() { "" } else { " " });
        name.push_str(word);
    }
    if name.is_empty() || is_shell(&name) { tool.rsplit(':').next().unwrap_or(tool).to_owned() } else { name }
}

fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Nothing but the name of a program, a sub-command or a script.
fn is_plain(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphanumeric())
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.:-".contains(&b))
}

fn is_shell(word: &str) -> bool {
    matches!(word, "sh" | "bash" | "dash" | "zsh" | "ksh" | "fish")
}

#[cfg(test)]
mod tests {
    use super::typed;

    #[test]
    fn a_check_is_called_as_it_was_typed() {
        for (tool, command, expected) in [
            ("cargo-check", "cargo build", "cargo build"),
            ("cargo-check", "cargo +nightly build --release", "cargo build"),
            ("ruff-check", "ruff check --fix src", "ruff check"),
            ("ruff-check", "uv run ruff check", "uv run ruff check"),
            ("eslint", "npx eslint .", "eslint"),
            ("pytest", "python -m pytest -q tests/unit", "pytest"),
            ("unittest", "python3 -m unittest", "unittest"),
            ("django-test", "python manage.py test", "python manage.py test"),
            ("script:lint", "npm run lint -- --quiet", "npm run lint"),
            ("script:check.sh", "./scripts/check.sh --all", "check.sh"),
            ("go-vet", "go vet ./...", "go vet"),
            ("go-test", "sh -c 'cd web && go test'", "go-test"),
            ("script:all", "bash -c ./all", "all"),
            ("script:test", "", "test"),
        ] {
            assert_eq!(typed(tool, command), expected, "{command}");
        }
    }
}
