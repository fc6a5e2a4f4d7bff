use proptest::prelude::*;

use super::*;

fn words(line: &str) -> Vec<Vec<String>> {
    let steps = ShellLine::parse(line).unwrap_or_else(|gave_up| panic!("{line}: {gave_up}")).steps;
    let run = |step| if let LineStep::Run(simple) = step { Some(simple.words) } else { None };
    steps.into_iter().filter_map(run).collect()
}

#[test]
fn quotes_escapes_and_continuations_are_the_shells() {
    assert_eq!(
        words(
            r#"a 'b c' "d \"e\" $f" g\ h i\
j '' $'k\tl'"#
        ),
        [["a", "b c", "d \"e\" $f", "g h", "ij", "", "k\tl"]]
    );
    assert_eq!(words("a 'it'\\''s'"), [["a", "it's"]]);
}

#[test]
fn assignments_comments_and_redirections_are_left_out() {
    assert_eq!(words("A=1 B='x y' a C=2 # b"), [["a", "C=2"]]);
    assert_eq!(words("a >b 2>&1 c <d &>e 3>>f <<<g h"), [["a", "c", "h"]]);
    assert_eq!(words("a 2 >b"), [["a", "2"]], "a number that is an argument");
}

#[test]
fn commands_are_parted_at_joins_and_groups() {
    assert_eq!(words("a && b || c; d | e & f\ng"), ["a", "b", "c", "d", "e", "f", "g"].map(|word| vec![word]));
    assert_eq!(words("(a; b) && { c; }"), [["a"], ["b"], ["c"]]);
    assert_eq!(words("[[ -f x && a < b ]] && c"), [vec![], vec!["c"]]);
    assert_eq!(words("a $(b; c) \"$(d \")\" | e)\" `f`"), [["a", "$(b; c)", "$(d \")\" | e)", "`f`"]]);
    assert_eq!(words("A=(b c) d"), [["d"]]);
}

#[test]
fn what_only_running_it_tells_is_given_up_on() {
    let cases = [
        ("a 'b", GaveUp::Unfinished),
        ("(a", GaveUp::Unfinished),
        ("a &&", GaveUp::Unfinished),
        ("a <<EOF\nb\nEOF", GaveUp::HereDocument),
        ("for i in 1; do a; done", GaveUp::Compound),
        ("case a in b) c;; esac", GaveUp::Compound),
        ("f() { a; }", GaveUp::Compound),
        ("eval a", GaveUp::Eval),
        ("$(which a) b", GaveUp::SubstitutedProgram),
        ("\"$(which a)\" b", GaveUp::SubstitutedProgram),
        ("`a` b", GaveUp::SubstitutedProgram),
        ("a )", GaveUp::Syntax),
        ("&& a", GaveUp::Syntax),
        ("a > ; b", GaveUp::Syntax),
    ];
    for (line, gave_up) in cases {
        assert_eq!(ShellLine::parse(line), Err(gave_up), "{line}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(line in any::<String>()) {
        let _ = ShellLine::parse(&line);
    }

    #[test]
    fn a_quoted_argv_comes_back(argv in prop::collection::vec(any::<String>(), 1..6)) {
        let argv: Vec<String> = std::iter::once("program".to_owned())
            .chain(argv.into_iter().map(|word| word.replace('\0', "")))
            .collect();
        prop_assert_eq!(words(&shell_words::join(&argv)), vec![argv]);
    }

    #[test]
    fn a_quoted_argument_never_becomes_a_command(argument in any::<String>()) {
        let argument = argument.replace('\0', "");
        let single = format!("echo '{}'", argument.replace('\'', "'\\''"));
        prop_assert_eq!(words(&single), vec![vec!["echo".to_owned(), argument]]);
    }
}
