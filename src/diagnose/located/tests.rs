use super::*;

fn shown(line: &str) -> String {
    let Some(said) = read_located(line) else { return "none".to_owned() };
    let severity = match said.severity {
        Some(Severity::Error) => "E",
        Some(Severity::Warning) => "W",
        Some(Severity::Info) => "I",
        None => "?",
    };
    let (file, col) = (said.file.as_deref().unwrap_or("-"), said.col.map_or(String::new(), |col| format!(":{col}")));
    format!("{file}:{}{col} {severity} [{}] {}", said.line, said.code.as_deref().unwrap_or(""), said.message)
}

#[test]
fn a_place_first_is_read_in_all_its_spellings() {
    for (line, wanted) in [
        ("a.c:3:1: error: expected ';'", "a.c:3:1 E [] expected ';'"),
        ("src/a.c:3: warning: unused [-Wunused]", "src/a.c:3 W [-Wunused] unused [-Wunused]"),
        (r"C:\src\a b.cs(12,3): error CS1002: ; expected", r"C:\src\a b.cs:12:3 E [CS1002] ; expected"),
        (r"1>c:\x\a.cpp(125) : warning C4706: assignment", r"c:\x\a.cpp:125 W [C4706] assignment"),
        ("a.ts[4, 12]: missing semicolon", "a.ts:4:12 ? [] missing semicolon"),
        ("[ERROR] /p/A.java:[7,3] cannot find symbol", "/p/A.java:7:3 E [] cannot find symbol"),
        ("    [javac] /p/A.java:7: warning: deprecated", "/p/A.java:7 W [] deprecated"),
        ("14:57:52 a.c:3: error: x", "a.c:3 E [] x"),
        ("\"a/b.h\", line 12: warning #1-D: no newline", "a/b.h:12 W [1-D] no newline"),
        ("\"a b.c\", line 7.18: 1506-189 (S) not valid", "a b.c:7:18 ? [1506-189] not valid"),
        ("\"src/a.c\",86  Warning[Pe177]: never used", "src/a.c:86 W [Pe177] never used"),
        ("Error: a.f90, line 9: no IMPLICIT type", "a.f90:9 E [] no IMPLICIT type"),
        ("Warning in \"/p/a.c\", line 15, column 19: not defined", "/p/a.c:15:19 W [] not defined"),
        ("w: /p/A.kt: (4, 2): unused", "/p/A.kt:4:2 W [] unused"),
        ("e: file.kt:4:2 unresolved", "file.kt:4:2 E [] unresolved"),
        ("/tmp/a.fish (line 2): unknown command", "/tmp/a.fish:2 ? [] unknown command"),
        ("1. ERROR in /p/A.java (at line 3)", "/p/A.java:3 E [] "),
        ("ncx: *W,ABC (../a.v,31|24): unconnected", "../a.v:31:24 W [ABC] unconnected"),
        ("** Warning: (vlx-26) add.v(7): undefined", "add.v:7 W [vlx-26] undefined"),
        ("Extension(NAG): a.f90, line 8: odd", "a.f90:8 I [] odd"),
        ("w: file:///p/A.kt:8:27 deprecated", "/p/A.kt:8:27 W [] deprecated"),
        ("a.py:pkg.mod:1: [W0611, ] Unused import", "a.py:1 ? [W0611] Unused import"),
        ("stdin:6:5: E111 indentation", "-:6:5 ? [E111] indentation"),
        ("CMakeLists.txt:9,04: [C0113] Missing", "CMakeLists.txt:9:4 ? [C0113] Missing"),
        ("a.c:4:5:{4:1-4:3}{4:7-4:9}: warning: invalid operands", "a.c:4:5 W [] invalid operands"),
        ("a.adb:9:8: (style) too long", "a.adb:9:8 I [] too long"),
        ("[api/a.proto:5:3] the name is taken", "api/a.proto:5:3 ? [] the name is taken"),
        ("[WARNING:/p/a.thrift:7] old type", "/p/a.thrift:7 ? [] old type"),
        ("a.robot: 5:11: too long", "a.robot:5:11 ? [] too long"),
        ("ERROR in ./src/a.js 2:1-29", "./src/a.js:2:1 E [] "),
        ("C/C++: /p/a.cpp:4:2: error: gone", "/p/a.cpp:4:2 E [] gone"),
        ("17:4>a.cpp(4,2): error C1002: gone", "a.cpp:4:2 E [C1002] gone"),
        ("@lib/a.sql(10): wrong sum", "lib/a.sql:10 ? [] wrong sum"),
        ("11% a.c:4:2: error: gone", "a.c:4:2 E [] gone"),
        ("[2026-03-04T12:30:00Z] a.c:4:2: error: gone", "a.c:4:2 E [] gone"),
        ("     7\ta.c:4:2: error: gone", "a.c:4:2 E [] gone"),
        ("<stdout>(980): error: gone", "-:980 E [] gone"),
        ("include/type_traits(1534,1): error C1002: gone", "include/type_traits:1534:1 E [C1002] gone"),
        ("run-all:7:1: E003 indent", "run-all:7:1 ? [E003] indent"),
        ("./a.sh: строка 9: не тот символ", "./a.sh:9 ? [] не тот символ"),
        ("./a.sh: 行9: 構文エラー", "./a.sh:9 ? [] 構文エラー"),
    ] {
        assert_eq!(shown(line), wanted, "{line}");
    }
}

#[test]
fn a_place_last_is_read_where_the_line_says_how_bad_it_is() {
    for (line, wanted) in [
        ("PHP Parse error:  unexpected ')' in /p/a.php on line 7", "/p/a.php:7 E [] PHP Parse error:  unexpected ')'"),
        ("syntax error at a.pl line 3, near \"x\"", "a.pl:3 E [] near \"x\""),
        ("Error: bad thing (file: /p/a.pp, line: 4, column: 2)", "/p/a.pp:4:2 E [] Error: bad thing"),
        ("parse error: expected a value at line 1, column 9", "-:1:9 E [] parse error: expected a value"),
        ("manifests/a.pp - WARNING: no documentation on line 1", "manifests/a.pp:1 ? [] WARNING: no documentation"),
        ("FC012: no changelog: ./a.rb:8", "./a.rb:8 ? [FC012] FC012: no changelog"),
        ("warning file=/p/A.scala message=too long line=9 column=3", "/p/A.scala:9:3 W [] too long"),
        ("something in the text a.rb:4", "none"),
    ] {
        assert_eq!(shown(line), wanted, "{line}");
    }
}

#[test]
fn addresses_times_and_prose_are_no_places() {
    for line in [
        "http://10.1.2.3:8080/app.js:443: refused",
        "localhost:3000: listening",
        "12:34:56 done",
        "2026-03-04T12:30:00Z server started on port 80",
        "ratio 16:9: wide",
        "node_modules: 12 packages",
        "error: 3 problems",
        "Downloading a.jar (12 kB)",
        "    at f (a.js:1:2)",
        "10.0.0.1:22: connection reset",
        "app.log 12:30 started",
        "step:3:1: done",
    ] {
        assert_eq!(shown(line), "none", "{line}");
    }
}

#[test]
fn a_line_may_be_only_a_place() {
    let place =
        |line| bare_place(line).map(|bare| (bare.place.file, bare.place.line, bare.place.col, bare.colon, bare.framed));
    assert_eq!(place(" --> src/a.x:3:1"), Some(("src/a.x", Some(3), Some(1), false, true)));
    assert_eq!(place("   at /p/a.nix:18:23:"), Some(("/p/a.nix", Some(18), Some(23), true, false)));
    assert_eq!(place("   ╭─[ src/a b.ts:2:13 ]"), Some(("src/a b.ts", Some(2), Some(13), false, true)));
    assert_eq!(place("  ┌─ app/(shop)/[id]/a.x:2:13"), Some(("app/(shop)/[id]/a.x", Some(2), Some(13), false, true)));
    assert_eq!(
        place("./app/(shop)/[id]/page.x:3:20"),
        Some(("./app/(shop)/[id]/page.x", Some(3), Some(20), false, false))
    );
    assert_eq!(place("  scss/a.scss 2:13  root stylesheet"), Some(("scss/a.scss", Some(2), Some(13), false, false)));
    assert_eq!(place("location:   math.rkt:7:2"), Some(("math.rkt", Some(7), Some(2), false, false)));
    assert_eq!(place("at 12:30:00"), None);
    assert_eq!(place("    at f (a.js:1:2)"), None);
}
