//! Adapters: what the exit status of each tool means, and the numbers that it prints. Pure; cannot fail: what an output
//! does not say is an error text, which makes the metric unknown.

mod arguments;
mod complexity;
mod findings;
mod report;

pub(crate) use arguments::reading_command;
pub(crate) use complexity::{FunctionComplexity, read_complexity};
pub(crate) use findings::read_findings;
pub(crate) use report::read_go_test;

/// How the output of a tool is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Adapter {
    /// ESLint's `--format json`.
    Eslint,
    /// `radon cc -j`.
    Radon,
    /// gocyclo.
    Gocyclo,
    /// luacheck's `--formatter plain --codes`.
    Luacheck,
    /// Ruff's `--output-format json`.
    Ruff,
    /// revive's `-formatter json`.
    Revive,
    /// rustc's and clippy's `--message-format json`.
    Rustc,
    /// `go test -json`.
    GoTest,
}

/// What the end of a tool says about its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolVerdict {
    /// It did its job and found nothing.
    Clean,
    /// It did its job and found something.
    Found,
    /// It did not do its job: bad configuration, nothing to check, killed.
    Failed,
}

/// The exit codes of a tool that did its job.
struct ExitCodes {
    /// Names of the program.
    programs: &'static [&'static str],
    /// Codes that mean that something was found.
    found: &'static [i32],
}

/// What the documentation of each tool says of its exit codes; 0 is always clean. Where a code is in no list, the tool did
/// not do its job.
const EXIT_CODES: [ExitCodes; 17] = [
    ExitCodes { programs: &["eslint"], found: &[1] },
    ExitCodes { programs: &["ruff"], found: &[1] },
    ExitCodes { programs: &["golangci-lint"], found: &[1] },
    ExitCodes { programs: &["go"], found: &[1] },
    ExitCodes { programs: &["luacheck"], found: &[1, 2] },
    ExitCodes { programs: &["radon"], found: &[] },
    ExitCodes { programs: &["gocyclo"], found: &[1] },
    ExitCodes { programs: &["revive"], found: &[1] },
    ExitCodes { programs: &["pytest"], found: &[1] },
    ExitCodes { programs: &["cargo"], found: &[101, 100] },
    ExitCodes { programs: &["cargo-nextest"], found: &[100] },
    ExitCodes { programs: &["busted"], found: &[1] },
    ExitCodes { programs: &["mvn", "gradle", "gradlew"], found: &[1] },
    ExitCodes { programs: &["tsc"], found: &[1, 2] },
    ExitCodes { programs: &["redocly"], found: &[1] },
    ExitCodes { programs: &["spectral"], found: &[1] },
    ExitCodes { programs: &["openapi-spec-validator"], found: &[1] },
];

impl Adapter {
    const ALL: [(Adapter, &'static str); 8] = [
        (Adapter::Eslint, "eslint"),
        (Adapter::Radon, "radon"),
        (Adapter::Gocyclo, "gocyclo"),
        (Adapter::Luacheck, "luacheck"),
        (Adapter::Ruff, "ruff"),
        (Adapter::Revive, "revive"),
        (Adapter::Rustc, "rustc"),
        (Adapter::GoTest, "go-test"),
    ];

    /// The adapter of this name.
    pub(crate) fn from_name(name: &str) -> Option<Adapter> {
        Adapter::ALL.iter().find(|(_, known)| *known == name).map(|(adapter, _)| *adapter)
    }

    /// Its name in a tools mapping.
    pub(crate) fn name(self) -> &'static str {
        Adapter::ALL.iter().find(|(adapter, _)| *adapter == self).map_or("", |(_, name)| name)
    }
}

/// The names of all adapters.
pub(crate) fn names() -> Vec<&'static str> {
    Adapter::ALL.iter().map(|(_, name)| *name).collect()
}

/// What this exit code of `program` says. Of a program that is not known, any code but 0 means that something was found.
pub(crate) fn judge_exit(program: &str, code: i32) -> ToolVerdict {
    let known = EXIT_CODES.iter().find(|row| row.programs.contains(&program));
    match (code, known) {
        (0, _) => ToolVerdict::Clean,
        // Not executable, not found, ended by a signal.
        (126.., None) => ToolVerdict::Failed,
        (_, None) => ToolVerdict::Found,
        (code, Some(row)) if row.found.contains(&code) => ToolVerdict::Found,
        (_, Some(_)) => ToolVerdict::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_mean_what_each_tool_documents() {
        let cases = [
            ("eslint", 0, ToolVerdict::Clean),
            ("eslint", 1, ToolVerdict::Found),
            ("eslint", 2, ToolVerdict::Failed),
            ("pytest", 1, ToolVerdict::Found),
            ("pytest", 5, ToolVerdict::Failed),
            ("cargo", 101, ToolVerdict::Found),
            // `cargo nextest`
            ("cargo", 100, ToolVerdict::Found),
            ("cargo", 1, ToolVerdict::Failed),
            ("luacheck", 2, ToolVerdict::Found),
            ("luacheck", 3, ToolVerdict::Failed),
            ("radon", 1, ToolVerdict::Failed),
            ("make", 2, ToolVerdict::Found),
            ("make", 127, ToolVerdict::Failed),
            ("make", 137, ToolVerdict::Failed),
        ];
        for (program, code, verdict) in cases {
            assert_eq!(judge_exit(program, code), verdict, "{program} {code}");
        }
    }

    #[test]
    fn every_adapter_has_a_name_of_its_own() {
        for name in names() {
            assert_eq!(Adapter::from_name(name).map(Adapter::name), Some(name));
        }
        assert_eq!(Adapter::from_name("pylint"), None);
    }
}
