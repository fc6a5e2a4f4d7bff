//! The shells of people: each form of calling one, and what keeps the shims in front of PATH while others change it.

mod hooks;

use std::path::PathBuf;

use verify_run::run::CommandEnd;

use super::{folder, install, path_with, recorded};
use crate::sandbox::{Invocation, Sandbox, VERIFY_RUN, need};

/// A project with a check that fails and its shim, in a home where every shell reads our line when it starts.
fn home() -> Sandbox {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "echo linted; exit 3");
    install(&sandbox, &["eslint"]);
    let start = |shell: &str| match shell {
        "fish" => format!("{VERIFY_RUN} init fish | source\n"),
        _ => format!("eval \"$({VERIFY_RUN} init {shell})\"\n"),
    };
    for (file, shell) in [
        (".bashrc", "bash"),
        (".bash_profile", "bash"),
        (".zshrc", "zsh"),
        (".zprofile", "zsh"),
        (".config/fish/config.fish", "fish"),
    ] {
        let path = sandbox.home().join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, start(shell)).expect("a start-up file");
    }
    sandbox
}

/// A shell; its PATH has no shims.
fn shell<'a>(sandbox: &'a Sandbox, words: &[&str]) -> Invocation<'a> {
    sandbox.bare(words[0]).args(&words[1..])
}

/// The path of a shim.
fn shim(sandbox: &Sandbox, name: &str) -> String {
    folder(sandbox).join(name).display().to_string()
}

#[test]
fn every_form_finds_shims_that_are_inherited() {
    for words in
        [&["bash", "-c"][..], &["sh", "-c"], &["dash", "-c"], &["zsh", "-c"], &["fish", "-c"], &["bash", "-ec"]]
    {
        let Some(_) = need(words[0]) else { continue };
        let sandbox = Sandbox::repository();
        sandbox.tool("eslint", "echo linted; exit 3");
        install(&sandbox, &["eslint"]);
        let line = "command -v eslint; eslint --version; eslint src";
        let run = shell(&sandbox, words).arg(line).env("PATH", path_with(&sandbox, &[])).outcome();
        let found = shim(&sandbox, "eslint");
        let wanted =
            if words[1] == "-ec" { format!("{found}\nlinted\n") } else { format!("{found}\nlinted\nlinted\n") };
        assert_eq!((run.ended, run.stdout()), (CommandEnd::Exit(3), wanted.as_str()), "{words:?}: {}", run.stderr());
        let wanted = if words[1] == "-ec" { &[][..] } else { &["eslint src"] };
        assert_eq!(recorded(&sandbox), wanted, "{words:?}");
    }
}

#[test]
fn a_login_shell_has_them_by_its_own_files() {
    for words in [&["bash", "-lc"][..], &["zsh", "-lc"], &["fish", "-lc"], &["fish", "-c"]] {
        let Some(_) = need(words[0]) else { continue };
        let sandbox = home();
        let run = shell(&sandbox, words).arg("command -v eslint").outcome();
        assert_eq!((run.stdout(), run.stderr()), (format!("{}\n", shim(&sandbox, "eslint")).as_str(), ""), "{words:?}");
    }
}

#[test]
fn a_system_that_sets_path_anew_takes_inherited_shims_away() {
    // Debian's /etc/profile does: the fact that the line belongs into ~/.bash_profile, too.
    let profile = std::fs::read_to_string("/etc/profile").unwrap_or_default();
    if !profile.contains("PATH=\"/usr/local/") {
        return crate::sandbox::skip("this system's /etc/profile leaves PATH alone");
    }
    let sandbox = Sandbox::repository();
    install(&sandbox, &["make"]);
    let line = "command -v make";
    let inherited = |words: &[&str]| shell(&sandbox, words).arg(line).env("PATH", path_with(&sandbox, &[])).prints();
    assert_eq!(inherited(&["bash", "-c"]), format!("{}\n", shim(&sandbox, "make")));
    assert_eq!(inherited(&["bash", "-lc"]), "/usr/bin/make\n");
}

/// Ways in which a shell may be set.
const BASH_STATES: [&str; 7] = [
    "",
    "set -u",
    "set -e",
    "set -eu; set -o pipefail",
    "set -o posix",
    "unset PROMPT_COMMAND; IFS=xyz/",
    "shopt -s extglob nocasematch nullglob failglob; set -f",
];
const ZSH_STATES: [&str; 6] = [
    "",
    "set -u",
    "set -e",
    "setopt ksh_arrays sh_word_split glob_subst",
    "setopt err_return no_unset null_glob",
    "setopt warn_create_global extended_glob",
];

#[test]
fn a_shell_that_is_not_interactive_gets_path_and_nothing_else() {
    let sandbox = home();
    let places = std::env::join_paths([PathBuf::from("/usr/bin"), PathBuf::from("/bin")]).expect("a path");
    let wanted = format!("{}:/usr/bin:/bin\n0\n", folder(&sandbox).display());
    let states = BASH_STATES.map(|state| ("bash", state)).into_iter().chain(ZSH_STATES.map(|state| ("zsh", state)));
    for (name, state) in states {
        let Some(_) = need(name) else { continue };
        let init = format!("eval \"$({VERIFY_RUN} init {name})\"");
        // Twice is once.
        let line = format!("{state}\n{init}\n{init}\necho \"$PATH\"; echo \"$?\"");
        let run = shell(&sandbox, &[name, "-c", &line]).env("PATH", &places).without("ENV");
        assert_eq!(run.prints(), wanted, "{name}: {state}");
        let hooks = "echo \"${PROMPT_COMMAND-none} ${precmd_functions-none} ${preexec_functions-none}\"; trap";
        let run = shell(&sandbox, &[name, "-fc", &format!("{init}; {hooks}")]).env("PATH", &places);
        assert_eq!(run.prints(), "none none none\n", "{name}");
    }
    if need("fish").is_some() {
        let init = format!("{VERIFY_RUN} init fish | source");
        let line = format!("{init}; {init}; string join : $PATH; echo $status");
        let run = shell(&sandbox, &["fish", "--no-config", "-c", &line]).env("PATH", &places);
        assert_eq!(run.prints(), wanted);
    }
}

#[test]
fn odd_paths_are_kept_as_they_are() {
    let sandbox = home();
    let shims = folder(&sandbox).display().to_string();
    let cases = [
        ("/usr/bin:SHIMS:/bin:SHIMS", "SHIMS:/usr/bin:/bin"),
        ("/usr/bin:SHIMS:SHIMS:SHIMS", "SHIMS:/usr/bin"),
        (":/usr/bin", "SHIMS::/usr/bin"),
        ("/usr/bin::/bin:", "SHIMS:/usr/bin::/bin:"),
        ("/a b*:/c[d]:/usr/bin", "SHIMS:/a b*:/c[d]:/usr/bin"),
        ("SHIMS", "SHIMS"),
        ("SHIMS-more:/usr/bin", "SHIMS:SHIMS-more:/usr/bin"),
        ("", ""),
    ];
    for (name, print) in [("bash", "echo \"$PATH\""), ("zsh", "echo \"$PATH\"")] {
        let Some(program) = need(name) else { continue };
        let script = sandbox.verify_run(["init", name]).prints();
        for (before, after) in cases {
            let line = format!("PATH='{}'\n{script}\n{print}", before.replace("SHIMS", &shims));
            let run = sandbox.bare(&program).args(["-fc", &line]);
            assert_eq!(run.prints(), format!("{}\n", after.replace("SHIMS", &shims)), "{name}: {before}");
        }
    }
    // Without a folder of shims PATH stays as it is, and where it may not be set, it is not.
    for (name, before) in [("bash", ""), ("bash", "readonly PATH;"), ("zsh", ""), ("zsh", "readonly PATH;")] {
        let Some(program) = need(name) else { continue };
        let empty = sandbox.tmp().join("no-shims");
        let data = if before.is_empty() { empty } else { sandbox.home().join(".local/share") };
        let script = sandbox.verify_run(["init", name]).env("XDG_DATA_HOME", data).prints();
        let line = format!("{before}\n{script}\necho \"$PATH\"");
        let run = sandbox.bare(&program).args(["-fc", &line]).env("PATH", "/usr/bin:/bin");
        assert_eq!(run.prints(), "/usr/bin:/bin\n", "{name}: {before}");
    }
}

#[test]
fn a_folder_with_an_odd_name_is_quoted() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "echo linted");
    let data = sandbox.home().join("it's $HOME \\ \"odd\" [a]*");
    let installed = sandbox.verify_run(["shims", "install", "eslint"]).env("XDG_DATA_HOME", &data).outcome();
    assert_eq!(installed.ended, CommandEnd::Exit(0), "{}", installed.stderr());
    for name in ["bash", "zsh", "fish"] {
        let Some(_) = need(name) else { continue };
        let line = match name {
            "fish" => format!("{VERIFY_RUN} init fish | source; command -v eslint; eslint --version"),
            _ => format!("eval \"$({VERIFY_RUN} init {name})\"; command -v eslint; eslint --version"),
        };
        let run = shell(&sandbox, &[name, "-c", &line]).env("XDG_DATA_HOME", &data).env("TERM", "dumb");
        let wanted = format!("{}\nlinted\n", data.join("verify-run/shims/eslint").display());
        assert_eq!(run.prints(), wanted, "{name}");
    }
}

#[test]
fn a_shell_must_be_one_of_three() {
    let sandbox = Sandbox::repository();
    for words in [&["init", "tcsh"][..], &["init", "bash", "zsh"]] {
        assert_eq!(sandbox.verify_run(words).outcome().ended, CommandEnd::Exit(2), "{words:?}");
    }
}
