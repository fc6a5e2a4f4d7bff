//! Runs that differ in something that a fix should not depend on: time zone, locale, order, number of threads.

/// A perturbed run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Perturbation {
    /// What is different, for people: `TZ=Pacific/Chatham`.
    pub name: String,
    /// Variables.
    pub environment: Vec<(&'static str, &'static str)>,
    /// Words behind the command.
    pub arguments: Vec<&'static str>,
    /// The file mode mask.
    pub umask: Option<u32>,
}

impl Perturbation {
    /// Whether nothing is different: a repetition.
    pub(crate) fn is_plain(&self) -> bool {
        self.environment.is_empty() && self.arguments.is_empty() && self.umask.is_none()
    }
}

/// Variables that are changed for every tool.
const VARIABLES: [(&str, &str); 2] = [("TZ", "Pacific/Chatham"), ("LC_ALL", "C")];
/// The name of a runner, variables, and words behind its command.
type RunnerDifference = (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);

/// Variables and words that only runners of this name know. Words go behind the command, so there are none of runners that
/// read what follows as tests.
const RUNNERS: [RunnerDifference; 9] = [
    ("pytest", &[("PYTHONHASHSEED", "0")], &[]),
    ("pytest", &[("PYTHONHASHSEED", "1")], &[]),
    ("python", &[("PYTHONHASHSEED", "0")], &[]),
    ("python", &[("PYTHONHASHSEED", "1")], &[]),
    ("go", &[], &["-shuffle=on"]),
    ("vitest", &[], &["--sequence.shuffle"]),
    ("jest", &[], &["--runInBand"]),
    ("busted", &[], &["--shuffle"]),
    ("cargo", &[("RUST_TEST_THREADS", "1")], &[]),
];

/// The perturbed runs of a command: two repetitions, then one difference at a time.
pub(crate) fn perturbations_of(argv: &[String]) -> Vec<Perturbation> {
    let plain = |name: &str| Perturbation {
        name: name.to_owned(),
        environment: Vec::new(),
        arguments: Vec::new(),
        umask: None,
    };
    let mut list = vec![plain("again"), plain("once more")];
    list.extend(
        VARIABLES.iter().map(|&(name, value)| Perturbation {
            environment: vec![(name, value)],
            ..plain(&format!("{name}={value}"))
        }),
    );
    // Words behind `--` belong to something else.
    let takes_words = !argv.iter().any(|word| word == "--");
    for &(runner, environment, arguments) in &RUNNERS {
        if !runs_with(argv, runner) || !arguments.is_empty() && !takes_words {
            continue;
        }
        let variables: Vec<String> = environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let words = variables.iter().map(String::as_str).chain(arguments.iter().copied()).collect::<Vec<_>>();
        list.push(Perturbation {
            environment: environment.to_vec(),
            arguments: arguments.to_vec(),
            ..plain(&words.join(" "))
        });
    }
    list.push(Perturbation { umask: Some(0o077), ..plain("umask 077") });
    list
}

/// Whether the program, or one behind a runner, has this name (`python3.11` is `python`).
fn runs_with(argv: &[String], runner: &str) -> bool {
    argv.iter().take_while(|word| !word.starts_with('-') || *word == "-m").any(|word| {
        let name = word.rsplit('/').next().unwrap_or(word);
        let version = name.strip_prefix(runner);
        version.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(line: &str) -> Vec<String> {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        perturbations_of(&argv).into_iter().map(|it| it.name).collect()
    }

    #[test]
    fn each_runner_has_its_own_differences() {
        let always = ["again", "once more", "TZ=Pacific/Chatham", "LC_ALL=C"];
        let with = |own: &[&'static str]| [&always[..], own, &["umask 077"]].concat();
        assert_eq!(names("pytest -q"), with(&["PYTHONHASHSEED=0", "PYTHONHASHSEED=1"]));
        assert_eq!(names("python3.11 -m unittest"), with(&["PYTHONHASHSEED=0", "PYTHONHASHSEED=1"]));
        assert_eq!(names("go test ./..."), with(&["-shuffle=on"]));
        assert_eq!(names("npx vitest run"), with(&["--sequence.shuffle"]));
        assert_eq!(names("npx vitest run -- a"), with(&[]));
        assert_eq!(names("cargo test -- --exact a"), with(&["RUST_TEST_THREADS=1"]));
        assert_eq!(names("make check"), with(&[]));
    }

    #[test]
    fn repetitions_differ_in_nothing() {
        let plain = perturbations_of(&["pytest".to_owned()]).iter().filter(|it| it.is_plain()).count();
        assert_eq!(plain, 2);
    }
}
