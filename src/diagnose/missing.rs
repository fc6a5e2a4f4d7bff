//! Messages about a missing program or package: one table of the forms of all ecosystems.

use super::form::{FormedText, TextForm};

/// The forms, by who prints them.
static FORMS: [(&str, TextForm); 22] = [
    (
        "shells",
        TextForm::new(
            &["not found", "is not recognized as an internal"],
            r"command not found|(?m:^(?:\S+: )+not found$)|is not recognized as an internal or external command",
        ),
    ),
    (
        "interpreters",
        TextForm::new(
            &["bad interpreter: ", "env: "],
            r"bad interpreter: |(?m:^(?:/usr/bin/)?env: .{1,80}: No such file or directory)",
        ),
    ),
    (
        "programs that start others",
        TextForm::new(
            &["executable file not found in ", "spawn ", "cannot run program ", "errno 2]"],
            r"executable file not found in |\bspawn \S+ ENOENT|Cannot run program |Errno 2\] No such file or directory: '[A-Za-z0-9_+-]+'",
        ),
    ),
    (
        "node",
        TextForm::new(
            &[
                "cannot find ",
                "can't resolve '",
                "err_module_not_found",
                "unable to resolve dependency",
                "couldn't find the ",
            ],
            r"Cannot find (?:module|package) '[^./]|Can't resolve '[A-Za-z@][^'/.]*'|ERR_MODULE_NOT_FOUND|[Uu]nable to resolve dependency|couldn't find the (?:plugin|config) \x22|Cannot find plugin \x22",
        ),
    ),
    (
        "python",
        TextForm::new(
            &[
                "o module named",
                "distributionnotfound",
                "packagenotfounderror",
                "no matching distribution found",
                "' distribution was not found",
            ],
            r"[Nn]o module named|DistributionNotFound|PackageNotFoundError|No matching distribution found|The '[^']+' distribution was not found",
        ),
    ),
    (
        "ruby",
        TextForm::new(
            &["cannot load such file", "could not find ", "gemnotfound", "missingspecerror"],
            r"cannot load such file|Could not find gem '|Could not find \S+ in (?:any of the sources|locally installed gems)|Bundler::GemNotFound|Gem::MissingSpecError",
        ),
    ),
    ("lua", TextForm::new(&["' not found:"], r"module '[^']+' not found:")),
    ("perl", TextForm::new(&["can't locate "], r"Can't locate \S+ in @INC")),
    ("r", TextForm::new(&["there is no package called"], r"there is no package called")),
    (
        "jvm",
        TextForm::new(
            &["could not ", "could not be resolved"],
            r"Could not (?:find artifact|resolve dependencies|resolve all (?:artifacts|dependencies|files))|(?:artifacts|dependencies) could not be resolved",
        ),
    ),
    (
        "go",
        TextForm::new(
            &["is not in ", "no required module provides package", "cannot find package "],
            r"package \S+ is not in (?:GOROOT|std)|no required module provides package|cannot find package ",
        ),
    ),
    (
        "rust",
        TextForm::new(
            &["can't find crate for `", "no matching package named `"],
            r"can't find crate for `|no matching package named `",
        ),
    ),
    ("php", TextForm::new(&["your requirements could not be resolved"], r"Your requirements could not be resolved")),
    ("elixir", TextForm::new(&["unchecked dependencies for environment"], r"Unchecked dependencies for environment")),
    ("ocaml", TextForm::new(&["\" not found"], r#"Library "[^"]+" not found"#)),
    ("meson", TextForm::new(&["not found"], r#"(?i:(?:dependency|program|library)) ['"]?[^ '"]+['"]? not found"#)),
    (
        "pkg-config",
        TextForm::new(
            &["no package '", "was not found in the pkg-config search path"],
            r"No package '[^']+' found|was not found in the pkg-config search path",
        ),
    ),
    (
        "cmake",
        TextForm::new(
            &["could not find "],
            r"Could NOT find [A-Z]|Could not find a package configuration file provided by",
        ),
    ),
    (
        "autoconf",
        TextForm::new(
            &["configure: error: "],
            r"configure: error: .{0,200}(?:is required|are required|not found|is missing|not installed|no acceptable C compiler)",
        ),
    ),
    ("dpkg", TextForm::new(&["nmet build dependencies: "], r"[Uu]nmet build dependencies: ")),
    ("linkers", TextForm::new(&["cannot find -l"], r"cannot find -l")),
    (
        "everybody",
        TextForm::new(
            &["not installed", "must be installed", "has to be installed", "is required"],
            r"\b(?:is|are|be|package \S+) not installed\b|\bnot installed[.:] |must be installed|\bhas to be installed|is required[;,] (?:please )?install",
        ),
    ),
];

/// Whether a text says that something isn't installed.
pub(super) fn is_said_in(text: &FormedText<'_>) -> bool {
    FORMS.iter().any(|(_, form)| text.has_any(std::slice::from_ref(form)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::form::has_its_words;

    #[test]
    fn every_ecosystem_has_its_words_for_it() {
        let said = [
            "sh: 1: frobnicate: not found",
            "./run.sh: /opt/py/bin/python9: bad interpreter: No such file or directory",
            "exec: \"frobnicate\": executable file not found in $PATH",
            "Error: Cannot find module 'left-of-pad'",
            "ModuleNotFoundError: No module named 'frob'",
            "Could not find gem 'frob (~> 2.0)' in locally installed gems.",
            "lua5.4: main.lua:1: module 'frob' not found:",
            "Can't locate Frob/Nicate.pm in @INC (you may need to install the Frob::Nicate module)",
            "Error in library(frob) : there is no package called 'frob'",
            "Could not find artifact org.example:frob:jar:1.0 in central",
            "main.go:3:8: no required module provides package example.com/frob; to add it:",
            "error[E0463]: can't find crate for `frob`",
            "Your requirements could not be resolved to an installable set of packages.",
            "Unchecked dependencies for environment test:",
            "Error: Library \"frob\" not found.",
            "meson.build:4:0: ERROR: Dependency \"frob\" not found, tried pkgconfig and cmake",
            "No package 'frob' found",
            "Could NOT find FROB (missing: FROB_LIBRARY)",
            "configure: error: frob headers not found",
            "dpkg-checkbuilddeps: error: Unmet build dependencies: libfrob-dev",
            "/usr/bin/ld: cannot find -lfrob",
            "frob must be installed to run this check",
        ];
        assert_eq!(said.len(), FORMS.len());
        for (text, (who, form)) in said.iter().zip(&FORMS) {
            let formed = FormedText::new(text);
            assert!(formed.has_any(std::slice::from_ref(form)), "{who}: {text}");
            assert!(is_said_in(&formed), "{who}: {text}");
            assert!(has_its_words(form), "{who}");
        }
    }

    #[test]
    fn what_is_missing_inside_of_the_project_is_none() {
        for text in
            ["Cannot find module './frob'", "cannot find symbol", "expected 3 but found 4", "404 page not found"]
        {
            assert!(!is_said_in(&FormedText::new(text)), "{text}");
        }
    }
}
