//! What `verify-run init bash|zsh|fish` prints: the file of `hooks/shell/`, with the folder of shims in it.

use std::path::Path;

use anyhow::Context as _;

/// A shell that people type into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Shell {
    /// `command -v verify-run >/dev/null && eval "$(verify-run init bash)"` in ~/.bashrc
    Bash,
    /// `command -v verify-run >/dev/null && eval "$(verify-run init zsh)"` in ~/.zshrc
    Zsh,
    /// `type -q verify-run; and verify-run init fish | source` in ~/.config/fish/config.fish
    Fish,
}

/// Where a script has the folder.
const PLACE: &str = "@SHIMS@";

/// The script for `shell`; `shims` is the folder of shims.
///
/// # Errors
/// When the folder's name is not text.
pub(super) fn script(shell: Shell, shims: &Path) -> anyhow::Result<String> {
    let shims = shims.to_str().with_context(|| {
        format!("the shims can't be in {}: its name is not UTF-8; set XDG_DATA_HOME to another place", shims.display())
    })?;
    Ok(match shell {
        Shell::Bash => include_str!("../../../hooks/shell/init.bash").replace(PLACE, &posix(shims)),
        Shell::Zsh => include_str!("../../../hooks/shell/init.zsh").replace(PLACE, &posix(shims)),
        Shell::Fish => include_str!("../../../hooks/shell/init.fish").replace(PLACE, &fish(shims)),
    })
}

/// One word of bash and zsh.
fn posix(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// One word of fish.
fn fish(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_has_the_folder_once_and_quoted() {
        let folder = Path::new("/home/o'neil/a\\b $x/shims");
        for (shell, quoted) in [
            (Shell::Bash, r"__verify_run_shims='/home/o'\''neil/a\b $x/shims'"),
            (Shell::Zsh, r"__verify_run_shims='/home/o'\''neil/a\b $x/shims'"),
            (Shell::Fish, r"__verify_run_shims '/home/o\'neil/a\\b $x/shims'"),
        ] {
            let script = script(shell, folder).expect("a script");
            assert_eq!(script.matches(quoted).count(), 1, "{script}");
            assert!(!script.contains(PLACE));
        }
    }
}
