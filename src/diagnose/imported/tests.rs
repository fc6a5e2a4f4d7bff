use super::errorformat::ErrorFormat;
use super::*;
use crate::base::one_or_many::OneOrMany;

/// What is seen, one line each: the lines, the place, the severity, the code, the message.
fn shown(seen: &[MatcherHit]) -> Vec<String> {
    let line = |seen: &MatcherHit| {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let number = |number: Option<u32>| number.map(|number| format!(":{number}")).unwrap_or_default();
        format!(
            "{:?} {}{}{}{} {} {}|{}",
            seen.lines,
            seen.dir.as_ref().map(|dir| format!("{dir}+")).unwrap_or_default(),
            text(&seen.file),
            number(seen.line),
            number(seen.col),
            seen.severity.map_or("-", Severity::as_str),
            text(&seen.code),
            seen.message.replace('\n', "/")
        )
    };
    seen.iter().map(line).collect()
}

fn matcher(json: &str, output: &str) -> Vec<String> {
    let lines: Vec<&str> = output.lines().collect();
    let found = matcher::parse(json).expect("a file of matchers").into_iter();
    shown(&found.flat_map(|matcher| matcher.expect("a matcher").run(&lines)).collect::<Vec<_>>())
}

fn format(patterns: &[&str], output: &str) -> Vec<String> {
    let lines: Vec<&str> = output.lines().collect();
    let patterns = OneOrMany::Many(patterns.iter().map(|text| (*text).to_owned()).collect());
    shown(&ErrorFormat::parse(&patterns).expect("an errorformat").run(&lines))
}

#[test]
fn a_github_matcher_of_one_pattern() {
    let json = r#"{"problemMatcher": [{"owner": "tsc", "pattern": [{
        "regexp": "^([^\\s].*)[\\(:](\\d+)[,:](\\d+)(?:\\):\\s+|\\s+-\\s+)(error|warning|info)\\s+TS(\\d+)\\s*:\\s*(.*)$",
        "file": 1, "line": 2, "column": 3, "severity": 4, "code": 5, "message": 6}]}]}"#;
    let output =
        "noise\nsrc/a.ts(3,7): error TS2304: Cannot find name 'x'.\nsrc/b.ts:4:8 - warning TS6133: 'y' is unused.\n";
    let expected =
        ["[1] src/a.ts:3:7 error 2304|Cannot find name 'x'.", "[2] src/b.ts:4:8 warning 6133|'y' is unused."];
    assert_eq!(matcher(json, output), expected);
}

#[test]
fn a_matcher_that_loops_over_the_lines_below_a_file() {
    let json = r#"{"problemMatcher": [{"owner": "eslint-stylish", "severity": "warning", "pattern": [
        {"regexp": "^([^\\s].*)$", "file": 1},
        {"regexp": "^\\s+(\\d+):(\\d+)\\s+(error|warning|info)\\s+(.*)\\s\\s+(.*)$",
         "line": 1, "column": 2, "severity": 3, "message": 4, "code": 5, "loop": true}]}]}"#;
    let output = "> eslint .\n\n/w/a.js\n  1:2  error    Bad thing  no-bad\n  3:4  warning  Odd        no-odd\n\n/w/b.js\n  5:6  error  Worse  no-worse\n\n✖ 3 problems\n";
    let expected = [
        "[2, 3] /w/a.js:1:2 error no-bad|Bad thing",
        "[4] /w/a.js:3:4 warning no-odd|Odd",
        "[6, 7] /w/b.js:5:6 error no-worse|Worse",
    ];
    assert_eq!(matcher(json, output), expected);
}

#[test]
fn a_matcher_in_tasks_with_comments_named_patterns_and_a_folder() {
    let json = r#"{
        // tasks.json
        "tasks": [{"label": "build", "problemMatcher": [{
            "owner": "cpp", /* gcc */ "fileLocation": ["relative", "${workspaceFolder}/native"],
            "pattern": {"regexp": "^(.*):(\\d+):(\\d+):\\s+(warning|error):\\s+(.*)$",
                        "file": 1, "line": 2, "column": 3, "severity": 4, "message": 5},
        }]}],
        "problemPatterns": [{"name": "where", "regexp": "^at (.+) \\[(\\d+,\\d+)\\]$", "file": 1, "location": 2}],
        "problemMatchers": [{"name": "two", "pattern": "$where", "severity": "info"}],
    }"#;
    let output = "src/x.c:1:2: error: wrong // not a comment\nat lib/y.z [3,4]\n";
    let found = matcher(json, output);
    assert!(found.contains(&"[0] native+src/x.c:1:2 error |wrong // not a comment".to_owned()), "{found:?}");
    assert!(found.contains(&"[1] lib/y.z:3:4 info |at lib/y.z [3,4]".to_owned()), "{found:?}");
}

#[test]
fn a_path_may_be_relative_to_the_project_file_beside_it() {
    let json = r#"{"problemMatcher": [{"owner": "msbuild", "pattern": [{
        "regexp": "^\\s*([^:]+)\\((\\d+),(\\d+)\\): (error|warning) ([A-Z]+\\d+): (.*?) \\[(.*?)\\]$",
        "file": 1, "line": 2, "column": 3, "severity": 4, "code": 5, "message": 6, "fromPath": 7}]}]}"#;
    let output = "Program.cs(6,13): error CS0103: The name 'x' does not exist [src/App/App.csproj]\n";
    assert_eq!(matcher(json, output), ["[0] src/App+Program.cs:6:13 error CS0103|The name 'x' does not exist"]);
}

#[test]
fn what_a_matcher_can_not_have_is_said_and_the_others_hold() {
    let json = r#"{"problemMatcher": [
        {"owner": "ahead", "pattern": [{"regexp": "^(?=x)(.*)$", "file": 1}]},
        {"owner": "fine", "pattern": [{"regexp": "^(.+):(\\d+)$", "file": 1, "line": 2}]},
        {"owner": "far", "pattern": [{"regexp": "^(x)$", "file": 1}, {"regexp": "^(y)$", "line": 2}]}]}"#;
    let found = matcher::parse(json).expect("a file");
    let said: Vec<String> = found.iter().filter_map(|matcher| matcher.as_ref().err().cloned()).collect();
    let expected = [
        "ahead: pattern 1: lookahead can't be used here",
        "far: pattern 2: `line` names group 2, which the regexp doesn't have",
    ];
    assert_eq!(said, expected);
    assert!(matcher::parse("{}").is_err() && matcher::parse("[1,").is_err());
}

#[test]
fn regexes_of_javascript_mean_the_same_here() {
    for (regex, matches, other) in [
        (r"^[^[]+\[(\d+)\]$", "a[3]", "a[[3]"),
        (r"^{x}$", "{x}", "x"),
        (r"^[\w&&-]+$", "a&&-b", "a b"),
        (r"^\u2716 (\d{1,2})\/x$", "✖ 12/x", "✖ 123/x"),
        (r"^[✖×] a$", "× a", "÷ a"),
        (r"^a[^]b$", "a\nb", "ab"),
        (r"^(?<name>a)\-\<b\>$", "a-<b>", "ab"),
    ] {
        let translated = javascript::translate_regex(regex).unwrap_or_else(|error| panic!("{regex}: {error}"));
        let compiled =
            crate::diagnose::rule_regex::compile_regex(&translated).unwrap_or_else(|error| panic!("{regex}: {error}"));
        assert!(compiled.is_match(matches.as_bytes()), "{regex} became {translated}");
        assert!(!compiled.is_match(other.as_bytes()), "{regex} became {translated}");
    }
}

#[test]
fn an_errorformat_of_single_lines_in_the_order_of_its_patterns() {
    let patterns = ["%f:%l:%c: %trror: %m", "%f:%l:%c: %tarning: %m", "%f:%l: %m"];
    let output = "a.c:1:2: error: wrong\na b.c:3:4: WARNING: odd\nc.c:5: plain\nnothing\n";
    let expected = ["[0] a.c:1:2 error |wrong", "[1] a b.c:3:4 warning |odd", "[2] c.c:5 - |plain"];
    assert_eq!(format(&patterns, output), expected);
}

#[test]
fn an_errorformat_of_several_lines_with_a_pointer() {
    // From Vim's own runtime, compiler/javac.vim and compiler/python: `%A … %p^ … %C … %Z`.
    let javac = ["%E%f:%l: error: %m", "%W%f:%l: warning: %m", "%-Z%p^", "%-C%.%#", "%-G%.%#"];
    let output =
        "Note: x\nA.java:3: error: cannot find symbol\n    foo();\n    ^\n1 error\nB.java:4: warning: old\n  x\n\t^\n";
    assert_eq!(
        format(&javac, output),
        ["[1, 2, 3] A.java:3:5 error |cannot find symbol", "[5, 6, 7] B.java:4:9 warning |old"]
    );
    let python = ["%A  File \"%f\"\\, line %l%.%#", "%C    %.%#", "%+Z%[%^ ]%\\@=%m"];
    assert!(ErrorFormat::parse(&OneOrMany::Many(python.map(str::to_owned).to_vec())).is_err(), "lookahead");
    let python = ["%A  File \"%f\"\\, line %l%.%#", "%C    %.%#", "%Z%m"];
    let output = "  File \"a.py\", line 3, in f\n    x()\nNameError: name 'x' is not defined\n";
    assert_eq!(format(&python, output), ["[0, 1, 2] a.py:3 - |NameError: name 'x' is not defined"]);
}

#[test]
fn an_errorformat_with_folders_and_lines_that_say_nothing() {
    let text = "%-G%.%#first use%.%#,%f:%l:%m,%D%*\\a[%*\\d]: Entering directory %*[`']%f',%X%*\\a[%*\\d]: Leaving directory %*[`']%f',%DMaking %*\\a in %f";
    let output = "make[1]: Entering directory '/w/sub'\na.c:3: wrong\na.c:4: (first use in this function)\n\
                  make[1]: Leaving directory '/w/sub'\nb.c:5: odd\nMaking all in lib\nc.c:6: bad\n";
    let lines: Vec<&str> = output.lines().collect();
    let parsed = ErrorFormat::parse(&OneOrMany::One(text.to_owned())).expect("one text, split at its commas");
    let expected = ["[1] /w/sub+a.c:3 - |wrong", "[4] b.c:5 - |odd", "[6] lib+c.c:6 - |bad"];
    assert_eq!(shown(&parsed.run(&lines)), expected);
}

#[test]
fn an_errorformat_whose_files_enclose_their_messages() {
    // The example of `:help errorformat-separate-filename`.
    let patterns = ["%+P[%f]", "(%l\\,%c)%*[\\ ]%t%*[^:]:\\ %m", "%-Q"];
    let output = "[a1.tt]\n(1,17)  error: ';' missing\n(21,2)  warning: variable 'z' not defined\n\
                  (67,3)  error: end of file found before string ended\n\n[a2.tt]\n\n[a3.tt]\nNEW compiler v1.1\n\
                  (2,2)   warning: variable 'x' not defined\n(67,3)  warning: 's' already defined\n";
    let expected = [
        "[1] a1.tt:1:17 error |';' missing",
        "[2] a1.tt:21:2 warning |variable 'z' not defined",
        "[3] a1.tt:67:3 error |end of file found before string ended",
        "[9] a3.tt:2:2 warning |variable 'x' not defined",
        "[10] a3.tt:67:3 warning |'s' already defined",
    ];
    assert_eq!(format(&patterns, output), expected);
}

#[test]
fn what_an_errorformat_can_not_have_names_the_pattern() {
    for (pattern, reason) in [
        ("%f:%l:%y", "`%y` is not known"),
        ("%f%f", "`%f` stands twice"),
        ("%q", "`%q` is not known at the start"),
        ("%m%\\@=", "`\\@` can't be used here"),
        ("%*x", "`%*` wants `[` or `\\` behind it"),
    ] {
        let error = ErrorFormat::parse(&OneOrMany::Many(vec![pattern.to_owned()])).expect_err(pattern);
        assert_eq!(error, std::format!("`{pattern}`: {reason}"));
    }
}
