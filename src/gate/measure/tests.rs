use super::*;
use std::collections::BTreeSet;

const LANGUAGES: [SourceLanguage; 7] = [
    SourceLanguage::JavaScript,
    SourceLanguage::TypeScript,
    SourceLanguage::Python,
    SourceLanguage::Go,
    SourceLanguage::Lua,
    SourceLanguage::Rust,
    SourceLanguage::Java,
];

fn measure(language: SourceLanguage, text: &str) -> Vec<FunctionMeasure> {
    measure_functions(language, text).expect("the text is within the limits")
}

/// The functions of a text as `name:line complexity`.
fn summarise(language: SourceLanguage, text: &str) -> Vec<String> {
    let functions = measure(language, text);
    functions
        .iter()
        .map(|one| format!("{}:{}-{} {}", one.name, one.first_line, one.last_line, one.complexity))
        .collect()
}

#[test]
fn the_ending_of_a_name_tells_the_language() {
    assert_eq!(SourceLanguage::from_path("src/app.test.tsx"), Some(SourceLanguage::TypeScript));
    assert_eq!(SourceLanguage::from_path("lib/types.d.ts"), None);
    assert_eq!(SourceLanguage::from_path("a.py/README"), None);
}

#[test]
fn javascript_is_counted_as_by_eslint() {
    let text = "\
function f(a = 1, {b = 2, c: [d = 3]} = {}) {
  if (a && b || c) for (const x of y) while (z?.w?.()) a ??= b ?? c;
  switch (a) { case 1: case 2: break; default: }
  try {} catch { do {} while (a ? b : c) }
}
class A extends B {
  #p = a || b;
  static { if (x) y(); }
  static async get(k) { return /[/]if(/.test(k) ? `${k ? () => 1 : 2}` : 1; }
  get [a && b]() {}
}
const o = { m() {}, n: (a = 1) => a, async *g() {} };
[p = 1, q] = r;
";
    assert_eq!(
        summarise(SourceLanguage::JavaScript, text),
        [
            "f:1-5 19",
            "A.#p:7-7 2",
            "A.static:8-8 2",
            "A.get:9-9 3",
            "A.get.(anonymous):9-9 1",
            "A.(anonymous):10-10 1",
            "m:12-12 1",
            "n:12-12 2",
            "g:12-12 1"
        ]
    );
}

#[test]
fn jsx_text_is_no_code() {
    let text = "const a = (p) => <div title=\"if\">don't && <b>{p.x ? <i/> : null}</b> || </div>;\nfunction g() { return a && b }\n";
    assert_eq!(summarise(SourceLanguage::JavaScript, text), ["a:1-1 2", "g:2-2 2"]);
    // Comments between attributes, with tags and quotes in them, and type arguments behind a name.
    let text = "const a = () => <b\n  {...x}\n  // it isn't <head> && so\n  c={y && z} /* <i> && ' */\n/>;\n\
                const d = () => <Pick<A<B>, (c) => D> e=\"f\">g && h</Pick>;\nfunction g() { return a && b }\n";
    assert_eq!(summarise(SourceLanguage::TypeScript, text), ["a:1-5 2", "d:6-6 1", "g:7-7 2"]);
}

#[test]
fn types_of_typescript_do_not_count() {
    let text = "\
type T<A> = A extends string ? (x: A) => void : { m?(a?: number): A };
interface I { f(a?: string): void; g?: () => void }
declare function d(a: string): void;
abstract class C<K = {}> { abstract a(): void; private b?: Map<K, (x: K) => void> = new Map<K, (x: K) => void>();
  constructor(private readonly x: number = 1, y?: string) { super(); }
  over(a: string): void;
  over(a: any): a is (string | number) { return (a as C<string>)!.x < 3 && a > (4); }
}
const h = <T,>(a: T): T extends 1 ? 2 : 3 => a ? (b): c => d : e;
";
    assert_eq!(
        summarise(SourceLanguage::TypeScript, text),
        ["C.b:4-4 1", "C.constructor:5-5 2", "C.over:7-7 2", "h:9-9 2", "h.(anonymous):9-9 1"]
    );
}

#[test]
fn python_is_counted_as_by_radon() {
    let text = r#"
@decorate(lambda x: x if x else 1)
def f(a=1 if b else 2):
    assert a and b, "no" if c else d
    for x in [y for y in z if y if y > 1]:
        if x and y or z: pass
        elif x: pass
    else:
        pass
    try:
        with a, b: pass
    except* A: pass
    else: pass
    try: pass
    except A: pass
    except B: pass
    else: pass
    text = f"{a if b else c:>{w or 1}} if"
    def inner():
        while 1: pass
        else: pass
    match a:
        case 1 if b: pass
        case _: pass
    return lambda: \
        a or b

class C:
    class D:
        async def m(self):
            """Documented."""
            async for x in y: pass
"#;
    assert_eq!(summarise(SourceLanguage::Python, text), ["f:3-26 18", "f.inner:19-21 3", "C.D.m:30-32 2"]);
    assert!(measure(SourceLanguage::Python, text)[2].has_documentation);
}

#[test]
fn go_counts_literals_where_they_are() {
    let text = "\
package a
var hook func() bool
func (s *Server[T]) Run(f func(int) bool) (x struct{ a int }, err error) {
\tgo func() { for range c { if a && b {} } }()
\tselect { case <-c: default: }
\tswitch { case a, b: case c: }
}
func assembly(a int) int
func Generic[T any](a T) T { return a || `if` == \"x\" }
";
    assert_eq!(summarise(SourceLanguage::Go, text), ["Server.Run:3-7 7", "Generic:9-9 2"]);
}

#[test]
fn lua_is_counted_as_by_luacheck() {
    let text = "\
local function f(a)
  if a and b then elseif c then end
  do if hidden then end x = a or b end
  t[a or b].c = 1
  repeat until x
  for i = 1, 2 do while x do local s = [==[ if ]] ]==] end end
end
function M.a:b() return function() end end
M.c = function() -- documented
end
";
    assert_eq!(
        summarise(SourceLanguage::Lua, text),
        ["f:1-7 8", "M.a:b:8-8 1", "M.a:b.(anonymous):8-8 1", "M.c:9-10 1"]
    );
    // A string goes on behind `\\z` and behind a line end with a backslash.
    let text = "function f()\n  g(\"a \\z\n    if and or\")\n  g('b\\\n if and')\n  return x or y\nend\n";
    assert_eq!(summarise(SourceLanguage::Lua, text), ["f:1-7 2"]);
}

#[test]
fn rust_is_counted_as_by_lizard() {
    let text = "\
impl<'a, T: Into<U>> Trait for Parser<'a, T> where T: X {
    /// Documented.
    #[inline]
    fn parse<F>(&self, c: char) -> Result<[u8; 2], ()> where F: Fn(u8) -> bool {
        if c == '\"' && c != '\\'' { a()?; }
        let r = r#\"if \"match\" \"#; let b = b'{';
        match x { 1 => 2, _ if y => 3 }
    }
    fn none(&self);
}
fn free() { fn nested() { loop {} } let f: fn(u8) -> u8 = |a| a; }
";
    assert_eq!(summarise(SourceLanguage::Rust, text), ["Parser.parse:4-8 7", "free:11-11 1", "free.nested:11-11 1"]);
    assert!(measure(SourceLanguage::Rust, text)[0].has_documentation);
}

#[test]
fn java_is_counted_as_by_lizard() {
    let text = "\
public class A<T> {
  int field = a(1) ? 2 : 3;
  /** Documented. */
  @Override(a = {1})
  public <R> List<? extends R> m(Map<?, R> a) throws X {
    for (;;) { if (a && b || c) while (x ? y : z) {} }
    switch (a) { case 1: case 2: default: }
    run(new Runnable() { public void run() { try {} catch (E e) {} } });
  }
  A() { super(); }
  abstract void none();
  enum E { X(1), Y; void e() {} }
}
";
    assert_eq!(summarise(SourceLanguage::Java, text), ["A.m:5-9 9", "A.m.run:8-8 2", "A.A:10-10 1", "A.E.e:12-12 1"]);
    assert!(measure(SourceLanguage::Java, text)[0].has_documentation);
}

#[test]
fn a_directive_or_a_distant_comment_is_no_documentation() {
    let text = "\
/** Adds. */
export const add = (a, b) => a + b;

// A remark.

function far() { return 1; }
let x; // A remark of another line.
function near() { return 2; }
// eslint-disable-next-line complexity
function directive() { /* istanbul ignore next */ return 3; }
function inside() {
  // Why.
}
";
    let found: Vec<_> = measure(SourceLanguage::JavaScript, text)
        .into_iter()
        .filter(|one| one.has_documentation)
        .map(|one| one.name)
        .collect();
    assert_eq!(found, ["add", "inside"]);
}

const BODY: &str = "let total = 0; for (const row of rows) { if (row.price > limit && row.count) total += row.price * row.count; \
                    else skipped.push(row.id); } return { total, skipped: skipped.length };";

#[test]
fn a_function_is_found_by_its_name_and_then_by_its_body() {
    let earlier =
        measure(SourceLanguage::JavaScript, &format!("function other() {{}} function sum(rows) {{ {BODY} }}"));
    let find = |text: &str| {
        let later = measure(SourceLanguage::JavaScript, text);
        find_earlier_version(&later[0], &later, &earlier).map(|found| found.name.clone())
    };
    assert_eq!(find("function sum(rows) { return 1 }").as_deref(), Some("sum"));
    assert_eq!(find(&format!("function total(rows) {{ {BODY} }}")).as_deref(), Some("sum"));
    assert_eq!(find(&format!("function total(rows) {{ {BODY} }} function sum() {{}}")), None, "sum is still there");
    assert_eq!(
        find("function unknown(a, b) { return b.map((c) => c.d).filter(a).concat(b, a).reverse().join(4) }"),
        None
    );
}

fn block(name: &str) -> String {
    (0..12).map(|line| format!("    {name}_{line} = compute({line}, offset)\n")).collect()
}

fn changed_lines(lines: std::ops::RangeInclusive<u32>) -> BTreeSet<u32> {
    lines.collect()
}

#[test]
fn a_copied_block_is_found_at_both_places() {
    let mut index = DuplicationIndex::default();
    let copy = format!("def g():\n    first = 1\n{}    return 2\n", block("row").replace('\n', "  # why\n\n"));
    index.add_file("a.py", SourceLanguage::Python, &format!("def f():\n{}", block("row"))).unwrap();
    index.add_file("b.py", SourceLanguage::Python, &copy).unwrap();
    index.add_file("c.py", SourceLanguage::Python, &block("other")).unwrap();
    let lines = changed_lines(1..=27);
    let measure = index.measure_change(&[ChangedFile { path: "b.py", lines: &lines }]);
    assert_eq!(measure.blocks.len(), 1);
    let found = &measure.blocks[0];
    assert_eq!((found.place.path.as_str(), found.place.first_line, found.place.last_line), ("b.py", 3, 25));
    assert_eq!((found.other.path.as_str(), found.other.first_line, found.other.last_line), ("a.py", 2, 13));
    assert_eq!((measure.lines, measure.duplicated_lines), (27, 23));
    let elsewhere = changed_lines(26..=27);
    let measure = index.measure_change(&[ChangedFile { path: "b.py", lines: &elsewhere }]);
    assert_eq!((measure.duplicated_lines, measure.blocks.len()), (0, 0));
    let tree = index.measure_tree();
    assert_eq!((tree.lines, tree.duplicated_lines, tree.blocks.len()), (13 + 27 + 12, 12 + 23, 2));
}

#[test]
fn a_block_is_no_copy_of_itself_and_not_shorter_than_the_limits() {
    let mut index = DuplicationIndex::default();
    let one_line = block("x").replace('\n', ";");
    let short = block("y").lines().take(5).collect::<Vec<_>>().join("\n");
    index.add_file("once.py", SourceLanguage::Python, &block("row")).unwrap();
    index.add_file("line1.py", SourceLanguage::Python, &one_line).unwrap();
    index.add_file("line2.py", SourceLanguage::Python, &one_line).unwrap();
    index.add_file("short1.py", SourceLanguage::Python, &short).unwrap();
    index.add_file("short2.py", SourceLanguage::Python, &short).unwrap();
    index.add_file("row.go", SourceLanguage::Go, &block("row")).unwrap();
    assert_eq!(index.measure_tree().blocks, []);
}

#[test]
fn a_block_twice_in_one_file_is_found() {
    let mut index = DuplicationIndex::default();
    let text = format!("{}middle = 1\n{}", block("row"), block("row"));
    index.add_file("a.py", SourceLanguage::Python, &text).unwrap();
    let measure = index.measure_tree();
    assert_eq!((measure.lines, measure.duplicated_lines), (25, 24));
    assert!((measure.percentage() - 96.0).abs() < 0.01);
}

/// A row of pseudo-random numbers.
fn numbers(seed: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(seed | 1), |state| {
        let mixed = state ^ (state << 13);
        let mixed = mixed ^ (mixed >> 7);
        Some(mixed ^ (mixed << 17))
    })
}

/// Texts that are no program: rows of pieces that mean something to one of the scanners.
fn broken_text(seed: u64, pieces: usize) -> String {
    const PIECES: [&str; 44] = [
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "<",
        ">",
        "=>",
        "?",
        ":",
        "`",
        "${",
        "'",
        "\"",
        "\"\"\"",
        "f\"{",
        "/",
        "/*",
        "*/",
        "//",
        "\n",
        "\n    ",
        "#",
        "--[[",
        "r#\"",
        "if ",
        "else ",
        "for ",
        "function ",
        "def f",
        "class A",
        "fn f",
        "func f",
        "end ",
        "do ",
        "case ",
        "new ",
        "async ",
        "é",
        "\\",
        ";",
        ",",
        "= ",
    ];
    numbers(seed).take(pieces).map(|number| PIECES[usize::try_from(number >> 11).unwrap_or(0) % PIECES.len()]).collect()
}

#[test]
fn text_that_is_no_program_neither_panics_nor_leaves_the_file() {
    for seed in 1..400 {
        let text = broken_text(seed, 120);
        let noise: Vec<u8> = numbers(seed).take(300).map(|number| number.to_le_bytes()[3]).collect();
        for text in [text, String::from_utf8_lossy(&noise).into_owned()] {
            let lines = u32::try_from(text.matches('\n').count()).unwrap() + 1;
            for language in LANGUAGES {
                for function in measure_functions(language, &text).unwrap_or_default() {
                    assert!(
                        function.first_line >= 1 && function.first_line <= function.last_line,
                        "{language:?} {text:?}"
                    );
                    assert!(function.last_line <= lines, "{language:?} {text:?} {function:?}");
                }
                let mut index = DuplicationIndex::default();
                index.add_file("a", language, &text).unwrap();
                index.measure_tree();
            }
        }
    }
}

#[test]
fn a_source_cut_anywhere_is_measured() {
    let sources = [include_str!("functions/script/classes.rs"), include_str!("tests.rs")];
    for source in sources {
        for end in (0..source.len()).step_by(97).filter(|end| source.is_char_boundary(*end)) {
            for language in LANGUAGES {
                let measured = measure_functions(language, &source[..end]);
                assert!(!matches!(measured, Err(MeasureError::TooLong | MeasureError::TooManyFunctions)));
            }
        }
    }
}

/// A scanner or parser that looks ahead without a limit takes hours for these.
#[test]
fn long_rows_of_one_piece_take_linear_time() {
    let pieces = [
        "(",
        "{",
        "[",
        "<",
        "a<",
        "< ",
        "<a>",
        "`${",
        "f'{",
        "f'''{a:{",
        "if ",
        "=/[",
        "(a):",
        "a?(b):",
        "(a:b)=>",
        "else if(a)",
        "function ",
        "function f(){",
        "fn f",
        "fn f(",
        "func f",
        ";func f(",
        "class A ",
        "class A{",
        "new A(){",
        "a(){",
        "0,",
        "=0\n",
        "/*",
        "--[[",
        "[==[",
        "r#\"",
        "'",
        "\"\"\"",
        "case a:\n",
        "def f():\n ",
        "a.b=function() --noqa\n",
        "@a ",
        "a[b]=",
        "type A<B=",
        "a as ",
        "impl A for ",
        "x if ",
        "\\\n",
    ];
    for piece in pieces {
        let text = piece.repeat(60_000 / piece.len());
        for language in LANGUAGES {
            let _ = measure_functions(language, &text);
            let mut index = DuplicationIndex::default();
            index.add_file("a", language, &text).unwrap();
            index.measure_tree();
        }
    }
}

#[test]
fn too_much_is_refused() {
    let long = "x;".repeat(SOURCE_BYTES_MAX / 2 + 1);
    assert_eq!(measure_functions(SourceLanguage::Go, &long), Err(MeasureError::TooLong));
    let many = "def f(): pass\n".repeat(SOURCE_FUNCTIONS_MAX + 1);
    assert_eq!(measure_functions(SourceLanguage::Python, &many), Err(MeasureError::TooManyFunctions));
    assert_eq!(measure_functions(SourceLanguage::JavaScript, &"[".repeat(1000)), Err(MeasureError::TooDeep));
}
