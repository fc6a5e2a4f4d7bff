use super::*;

/// The definition for a sample, after its own test was run.
fn made(sample: &str) -> Skeleton {
    let made = draft_skeleton("acme", Category::LintError, sample.as_bytes()).expect("a skeleton");
    let file = DefinitionFile { file: "acme.toml".into(), layer: 0, text: made.text.clone(), attached: Vec::new() };
    let files = [file];
    let (definitions, faults) = DefinitionSet::from_layers(&files, &CategoryTable::default());
    assert_eq!((faults, definitions.check_files(&files)), (Vec::new(), Vec::new()), "{}", made.text);
    made
}

#[test]
fn the_form_that_most_lines_have_is_found_with_all_its_parts() {
    for (sample, found, parts) in [
        (
            "src/a.x:3:7: error: wrong thing [no-wrong]\nsrc/b.x:4:1: warning: odd [no-odd]\n",
            1,
            vec![
                "file = \"src/a.x\"",
                "code = \"no-wrong\"",
                "severity = \"error\"",
                "message = \"wrong thing\"",
                "line = 3, col = 7",
            ],
        ),
        ("src/a.x(3,7): error AB12: wrong\n", 1, vec!["code = \"AB12\"", "message = \"wrong\"", "line = 3, col = 7"]),
        ("a.x:3: E101 wrong\nb.x:4: E102 odd\n", 2, vec!["code = \"E101\"", "message = \"wrong\"", "line = 3"]),
        (
            "src/a.x\n  3:7  error  It's wrong  no-wrong\n\n1 problem\n",
            1,
            vec!["file = \"src/a.x\"", "code = \"no-wrong\"", "message = \"It's wrong\"", "kind = \"file\""],
        ),
        ("File \"a.x\", line 3: wrong ''' quote\n", 1, vec!["file = \"a.x\"", "line = 3"]),
    ] {
        let made = made(sample);
        assert_eq!(made.found, found, "{}", made.text);
        for part in parts {
            assert!(made.text.contains(part), "{part} is not in\n{}", made.text);
        }
    }
}

#[test]
fn without_a_place_the_words_that_say_so_are_taken() {
    assert_eq!(made("starting\nERROR the widget is upside down\n").found, 1);
    assert!(draft_skeleton("acme", Category::LintError, b"all is well\n").is_err());
}

#[test]
fn a_secret_in_the_sample_is_not_written() {
    let sample = "src/a.x:3:7: error: token=ghp_0123456789abcdefghijABCDEFGHIJ012345 is wrong\n";
    assert!(!made(sample).text.contains("ghp_0123456789"));
}
