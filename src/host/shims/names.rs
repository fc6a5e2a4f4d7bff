//! Which programs get a shim by default.

use std::collections::BTreeSet;

use crate::whitelist::Whitelist;

/// Programs that the whitelist names, and that get a shim only when they are asked for.
const ASKED_FOR: [&[&str]; 5] = [
    // They execute another program, which has a shim of its own.
    &[
        "arch",
        "asdf",
        "aws-vault",
        "builtin",
        "caffeinate",
        "chamber",
        "chronic",
        "chrt",
        "cmd",
        "command",
        "conda",
        "cross-env",
        "cross-env-shell",
        "dbus-run-session",
        "direnv",
        "doas",
        "doppler",
        "dotenv",
        "dotenvx",
        "eatmydata",
        "env",
        "env-cmd",
        "exec",
        "flock",
        "fnm",
        "goenv",
        "gosu",
        "gtime",
        "gtimeout",
        "guix",
        "infisical",
        "ionice",
        "jenv",
        "ltrace",
        "mamba",
        "micromamba",
        "mise",
        "n",
        "nice",
        "nix",
        "nix-shell",
        "nodenv",
        "nohup",
        "numactl",
        "nvm",
        "op",
        "parallel",
        "perf",
        "pkgx",
        "pyenv",
        "rbenv",
        "retry",
        "rosetta",
        "rtx",
        "run0",
        "rustup",
        "script",
        "setsid",
        "sops",
        "spack",
        "stdbuf",
        "strace",
        "su-exec",
        "sudo",
        "taskset",
        "tea",
        "teller",
        "time",
        "timeout",
        "unbuffer",
        "valgrind",
        "varlock",
        "volta",
        "winpty",
        "xargs",
        "xvfb-run",
    ],
    // What they run is on another machine.
    &["kubectl", "oc", "ssh", "wsl"],
    // Everything is started by them.
    &["ash", "bash", "dash", "fish", "ksh", "powershell", "pwsh", "sh", "zsh"],
    // A build calls them a thousand times, and `configure` to see them fail.
    &[
        "c++", "cc", "cl", "clang", "clang++", "clang-cl", "g++", "gcc", "gfortran", "groovyc", "icpx", "icx", "ifort",
        "ifx", "javac", "kotlinc", "luac", "nvcc", "scalac",
    ],
    // A check is the least that they are used for.
    &["git", "jq", "jruby", "nginx", "perl", "ruby", "sshd", "systemd-analyze", "visudo"],
];

/// The programs that get a shim if they are installed, sorted.
pub(super) fn usual_names(whitelist: &Whitelist) -> BTreeSet<String> {
    let mut names = whitelist.program_names();
    for name in ASKED_FOR.iter().copied().flatten() {
        names.remove(*name);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_known() {
        let names = Whitelist::shipped_only().program_names();
        let unknown: Vec<_> = ASKED_FOR.iter().copied().flatten().filter(|name| !names.contains(**name)).collect();
        assert!(unknown.is_empty(), "the whitelist no longer names {unknown:?}");
    }

    #[test]
    fn where_checks_begin_is_in() {
        let usual = usual_names(&Whitelist::shipped_only());
        for name in ["npm", "npx", "pytest", "python3", "cargo", "go", "make", "just", "tsc", "php", "node", "docker"] {
            assert!(usual.contains(name), "{name}");
        }
        for name in ["sh", "env", "gcc", "git", "manage.py/", "acceptance.sh"] {
            assert!(!usual.contains(name), "{name}");
        }
    }
}
