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
fn conditions_and_loops_are_the_commands_in_them() {
    let of = |line| words(line).concat();
    assert_eq!(of("if ! a; then b; elif c; then d; else e; fi >f; g"), ["a", "b", "c", "d", "e", "g"]);
    assert_eq!(of("for x in 1 \"$(b c)\" *.d; do (e $x && f) || g; done"), ["e", "$x", "f", "g"]);
    assert_eq!(of("for x\ndo a\ndone"), ["a"]);
    assert_eq!(of("until a | b; do { c; }; done && d"), ["a", "b", "c", "d"]);
    assert_eq!(
        of("find -print0 | while read -r x; do a \"$x\"; done"),
        ["find", "-print0", "read", "-r", "x", "a", "$x"]
    );
    assert_eq!(of("time (a; b)"), ["a", "b"]);
    assert_eq!(of("a if then fi"), ["a", "if", "then", "fi"], "words that are arguments");
    let passes_with_all = |line| ShellLine::parse(line).expect("a line").all_joined_by_and;
    assert!(passes_with_all("time (a && b)"));
    assert!(!passes_with_all("if a; then b; fi"));
    assert!(!passes_with_all("for x in a; do b; done"));
}

#[test]
fn eval_of_a_plain_command_is_a_command() {
    assert_eq!(words("eval \"a 'b c'\" && d"), [vec!["eval", "a 'b c'"], vec!["d"]]);
    assert_eq!(words("eval a b"), [["eval", "a", "b"]]);
}

#[test]
fn what_only_running_it_tells_is_given_up_on() {
    let cases = [
        ("a 'b", UnparsedReason::Unfinished),
        ("(a", UnparsedReason::Unfinished),
        ("a &&", UnparsedReason::Unfinished),
        ("a <<EOF\nb\nEOF", UnparsedReason::HereDocument),
        ("for ((i = 0; i < 2; i++)); do a; done", UnparsedReason::Compound),
        ("case a in b) c;; esac", UnparsedReason::Compound),
        ("f() { a; }", UnparsedReason::Compound),
        ("eval \"$a\"", UnparsedReason::Eval),
        ("eval 'a $b'", UnparsedReason::Eval),
        ("eval `a`", UnparsedReason::Eval),
        ("eval 'cd a'; b", UnparsedReason::Eval),
        ("eval 'a; b'", UnparsedReason::Eval),
        ("eval eval a", UnparsedReason::Eval),
        ("eval", UnparsedReason::Eval),
        ("$(which a) b", UnparsedReason::SubstitutedProgram),
        ("\"$(which a)\" b", UnparsedReason::SubstitutedProgram),
        ("`a` b", UnparsedReason::SubstitutedProgram),
        ("a )", UnparsedReason::Syntax),
        ("&& a", UnparsedReason::Syntax),
        ("a > ; b", UnparsedReason::Syntax),
        ("if a; then b", UnparsedReason::Unfinished),
        ("for a in b", UnparsedReason::Unfinished),
        ("if a; do b; done", UnparsedReason::Syntax),
        ("while a; do b; fi", UnparsedReason::Syntax),
        ("a; then b", UnparsedReason::Syntax),
        ("if a; b; fi", UnparsedReason::Syntax),
        ("{ a; )", UnparsedReason::Syntax),
    ];
    for (line, gave_up) in cases {
        assert_eq!(ShellLine::parse(line), Err(gave_up), "{line}");
    }
}

#[test]
fn brackets_of_a_substitution_are_closed_by_their_own_kind() {
    assert_eq!(words("a ${x:-)} \"${x:-it's}\" b"), [["a", "${x:-)}", "${x:-it's}", "b"]]);
    assert_eq!(words(r#"a "$(b "$(c ")")")" $(d }) e"#), [["a", r#"$(b "$(c ")")")"#, "$(d })", "e"]]);
    assert_eq!(ShellLine::parse(&"\"$(".repeat(100_000)), Err(UnparsedReason::TooDeep), "the stack is no limit");
}

/// Pieces of which shell texts are made, with what is unbalanced among them.
fn shell_texts() -> impl Strategy<Value = String> {
    let pieces = vec![
        "a", "b/c", "é", " ", " ", "\t", "\n", "'", "\"", "\\ ", "\\'", "\\\n", "$", "$(", "${", ")", "}", "`", "(",
        "<(", ">", "2>", "<<", "&", "|", ";", "#", "=", "A=", "[[ ", "]]", "$'", "{ ", "!", "if ", "then ", "fi",
        "for x ", "do ", "done", "time ",
    ];
    prop::collection::vec(prop::sample::select(pieces), 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    /// A word is read the same at every place, and the text between words has none.
    #[test]
    fn a_span_is_its_word(text in shell_texts()) {
        let mut tokens = ShellTokenizer::new(&text);
        loop {
            tokens.skip_blank_lines();
            if tokens.is_at_end() {
                break;
            }
            let from = tokens.offset();
            let Ok(word) = tokens.read_word() else {
                if !b"();|&<>".contains(&tokens.peek(0)) {
                    break;
                }
                tokens.advance(1);
                continue;
            };
            prop_assert_eq!((word.span.start, word.span.end), (from, tokens.offset()));
            let alone = ShellTokenizer::new(&text[word.span.clone()]).read_word().expect("it was a word");
            prop_assert_eq!((&alone.text, alone.is_bare, alone.is_assignment), (&word.text, word.is_bare, word.is_assignment));
        }
    }

    /// What a line says of a word is what the tokenizer reads at its start.
    #[test]
    fn a_word_of_a_line_starts_where_it_says(text in shell_texts()) {
        let Ok(line) = ShellLine::parse(&text) else { return Ok(()) };
        for step in line.steps {
            let LineStep::Run(simple) = step else { continue };
            for (word, start) in simple.words.iter().zip(simple.starts) {
                prop_assert_eq!(&ShellTokenizer::new(&text[start..]).read_word().expect("a word").text, word);
            }
        }
    }

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
