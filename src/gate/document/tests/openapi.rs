use super::{added, changed, shown_answer};
use crate::gate::document::openapi::judge_openapi;
use crate::gate::document::route::{find_route_changes, is_handler_file};

const VALID: &str = "openapi: 3.1.0\ninfo:\n  title: Pages\n  version: 1.0.0\npaths:\n  /pages/{id}:\n    parameters:\n      - $ref: '#/components/parameters/Id'\n    get:\n      operationId: getPage\n      responses:\n        \"200\":\n          description: ok\n          content:\n            application/json:\n              schema: {$ref: '#/components/schemas/Page'}\n              example: {$ref: '#/nowhere'}\n    delete:\n      operationId: deletePage\n      responses: {\"204\": {description: ok}}\ncomponents:\n  parameters:\n    Id: {name: id, in: path, required: true, schema: {type: string}}\n  schemas:\n    Page:\n      type: object\n      properties:\n        next: {$ref: '#/components/schemas/Page'}\n        example: {$ref: '#/components/schemas/Page'}\n        other: {$ref: 'common.yaml#/Other'}\n";

fn judge(path: &str, text: &str) -> String {
    shown_answer(&judge_openapi(&[changed(path, text, text)], &[]))
}

#[test]
fn a_valid_document_is_summed_up() {
    assert_eq!(
        judge("openapi.yaml", VALID),
        "met: openapi.yaml: OpenAPI 3.1.0, 2 operations, 1 external reference not looked at"
    );
    let json = "{\"swagger\": \"2.0\", \"info\": {\"title\": \"x\", \"version\": \"1\"}, \"paths\": {}}";
    assert_eq!(judge("swagger.json", json), "met: swagger.json: Swagger 2.0, 0 operations");
    assert!(judge("a.yml", "openapi: 3.2.0\ninfo: {title: x, version: \"1\"}\nwebhooks: {}\n").starts_with("met"));
}

#[test]
fn findings_have_their_line() {
    let cases = [
        (
            VALID.replace("schemas/Page'}\n              example", "schemas/Pages'}\n              example"),
            "openapi.yaml:16 $ref \"#/components/schemas/Pages\" leads nowhere",
        ),
        (
            VALID.replace("deletePage", "getPage"),
            "openapi.yaml:19 operationId \"getPage\" of DELETE /pages/{id} is also the one of GET /pages/{id} in line 10",
        ),
        (
            VALID.replace("in: path", "in: query"),
            "openapi.yaml:6 path parameter {id} of GET /pages/{id} is not declared",
        ),
        (VALID.replace("3.1.0", "4.0.0"), "openapi.yaml:1 openapi is \"4.0.0\""),
        (VALID.replace("  title: Pages\n", ""), "`info.title` is missing"),
        (VALID.replace("openapi: 3.1.0\n", ""), "neither `openapi` nor `swagger`"),
        (VALID.replace("paths:", "path:").replace("3.1.0", "3.0.3"), "`paths` is missing"),
        (VALID.replace("  version: 1.0.0\n", "  version: &v 1.0.0\n"), "openapi.yaml:4 anchors are not supported"),
        ("openapi: [\n".to_owned(), "openapi.yaml:"),
        (String::new(), "neither `openapi` nor `swagger`"),
        ("- a\n".to_owned(), "neither `openapi` nor `swagger`"),
    ];
    for (text, finding) in cases {
        let found = judge("openapi.yaml", &text);
        assert!(found.starts_with("not met: ") && found.contains(finding), "{finding}: {found}");
    }
    assert!(judge("openapi.json", "{\n\"a\": }").contains("openapi.json:2 not JSON"));
}

#[test]
fn references_in_circles_end() {
    let text = VALID.replace(
        "Id: {name: id, in: path, required: true, schema: {type: string}}",
        "Id: {$ref: '#/components/parameters/Id'}",
    );
    // What a circle of parameters means is unknown; it is no missing declaration.
    assert!(judge("openapi.yaml", &text).starts_with("met"));
    let path =
        VALID.replace("  /pages/{id}:\n", "  /a: {$ref: '#/paths/~1b'}\n  /b: {$ref: '#/paths/~1a'}\n  /pages/{id}:\n");
    assert!(judge("openapi.yaml", &path).starts_with("met"));
    let escaped = VALID
        .replace("#/components/schemas/Page'}\n        example", "#/paths/~1pages~1%7Bid%7D/get'}\n        example");
    assert!(judge("openapi.yaml", &escaped).starts_with("met"));
}

#[test]
fn routes_without_a_document_are_named() {
    assert!(shown_answer(&judge_openapi(&[], &[])).starts_with("not applicable"));
    let cases = [
        ("a.py", "@router.post(\"/pages\")"),
        ("a.py", "@app.route('/x', methods=['GET'])"),
        ("app/urls.py", "    path('pages/', views.pages),"),
        ("a.ts", "  @Get(':id')"),
        ("a.js", "app.get('/x', (req, res) => {"),
        ("a.js", "usersRouter.delete(`/x`, f)"),
        ("A.java", "  @GetMapping(\"/x\")"),
        ("a.go", "\tmux.HandleFunc(\"GET /x\", f)"),
        ("a.go", "\tr.GET(\"/x\", f)"),
        ("a.rs", "        .route(\"/x\", get(list))"),
        ("a.rs", "#[get(\"/x\")]"),
        ("a.lua", "app:get(\"/x\", f)"),
        ("src/pages/api/x.ts", "export default f"),
    ];
    for (path, line) in cases {
        let routes = find_route_changes(&[added(path, line)]);
        assert_eq!(routes.len(), 1, "{path} {line}");
        let found = shown_answer(&judge_openapi(&[], &routes));
        assert!(found.starts_with(&format!("not met: {path}")), "{found}");
    }
    for (path, line) in [
        ("a.js", "axios.get('/x')"),
        ("a.js", "cache.get('x')"),
        ("a.py", "# @app.get('/x')"),
        ("a.py", "requests.get(\"/x\")"),
        ("a.js", "// app.get('/x')"),
        ("urlx.py", "path('a', b),"),
    ] {
        assert!(find_route_changes(&[added(path, line)]).is_empty(), "{path} {line}");
    }
    let removed = find_route_changes(&[changed("a.js", "app.get('/x', f)\nb\n", "b\n")]);
    assert_eq!((removed.len(), removed[0].line), (1, None));
    assert!(
        is_handler_file("src/app/x/route.ts")
            && is_handler_file("x/controllers/a.rb")
            && !is_handler_file("docs/routes/a.md")
    );
}
