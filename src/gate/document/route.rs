//! Routes of a web service in source lines: decorators, calls of a router, files that hold handlers.

use std::sync::LazyLock;

use regex::Regex;

use super::ChangedDocument;
use crate::base::text;

/// Places of routes in a change; further ones are not looked for.
pub(crate) const ROUTES_MAX: usize = 200;
/// A line is read up to here, bytes.
const LINE_BYTES_MAX: usize = 1_000;

/// A route that a change adds or removes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RouteChange {
    /// The file.
    pub path: String,
    /// The line of the tree, from 1; `None` for a removed line or a whole file.
    pub line: Option<u32>,
    /// What shows the route, for people.
    pub evidence: String,
}

/// A route in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RouteMention {
    /// The path of the route, where the line has it.
    pub target: Option<String>,
}

/// `@app.get("/users")`, `@GetMapping("/users")`, `#[get("/users")]`.
static DECORATOR: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r#"^\s*(?:@(?:\w+\.)*(?:route|api_route|get|post|put|patch|delete|head|options|websocket|Get|Post|Put|Patch|Delete|Head|Options|All|Controller|(?:Get|Post|Put|Patch|Delete|Request)Mapping|Path)\b\s*\(\s*(?:\w+\s*=\s*)?(?:f?["'`]([^"'`]*))?|#\[(?:\w+::)*(?:get|post|put|patch|delete|head|options|route)\("(/[^"]*))"#;
    Regex::new(pattern).expect("a valid pattern")
});
/// `router.get("/users", …)`, `http.HandleFunc("/users", …)`, `.route("/users", get(list))`.
static ROUTER_CALL: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r#"(?:\b(?:\w*[Aa]pp|\w*[Rr]outer|\w*[Rr]outes?|server|fastify|mux|e|r|g|rg|\w*[Gg]roup|api)[.:](?:get|post|put|patch|delete|all|head|options|route|match|use|ws|GET|POST|PUT|PATCH|DELETE|Any|Handle|HandleFunc|Get|Post|Put|Patch|Delete|Route|add_url_rule|add_api_route|add_route)|\bhttp\.Handle(?:Func)?|\bHandleFunc|^\s*\.(?:route|nest)|\.route)\(\s*["'`](/[^"'`]*|(?:GET|POST|PUT|PATCH|DELETE) /[^"'`]*)"#;
    Regex::new(pattern).expect("a valid pattern")
});
/// `path("users/", …)` of Django.
static DJANGO_PATH: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"^\s*(?:re_)?path\(\s*r?["']([^"']*)["']\s*,"#).expect("a valid pattern"));

/// The route in a line of this file.
pub(crate) fn find_route(path: &str, line: &str) -> Option<RouteMention> {
    let line = text::prefix(line, LINE_BYTES_MAX);
    let trimmed = line.trim_start();
    if trimmed.starts_with("//") || trimmed.starts_with("# ") || trimmed.starts_with("* ") {
        return None;
    }
    let target = |text: &str| text.starts_with('/').then(|| text.to_owned());
    if let Some(groups) = DECORATOR.captures(line) {
        let written = groups.get(1).or(groups.get(2)).map_or("", |group| group.as_str());
        // A decorator of another kind may have the same name, with a text that is no path.
        let is_route = written.starts_with('/')
            || written.is_empty()
            || trimmed.starts_with('@') && trimmed[1..].starts_with(|c: char| c.is_uppercase());
        return is_route.then(|| RouteMention { target: target(written) });
    }
    if let Some(groups) = ROUTER_CALL.captures(line) {
        let written = groups.get(1).map_or("", |group| group.as_str());
        let written = written.split_once(' ').map_or(written, |(_, route)| route);
        return Some(RouteMention { target: target(written) });
    }
    let is_django = path == "urls.py" || path.ends_with("/urls.py");
    let groups = DJANGO_PATH.captures(line).filter(|_| is_django)?;
    Some(RouteMention { target: Some(format!("/{}", groups.get(1).map_or("", |group| group.as_str()))) })
}

/// Whether a file holds handlers of routes by its place: `pages/api/…`, `app/…/route.ts`, `routes/…`, `controllers/…`.
pub(crate) fn is_handler_file(path: &str) -> bool {
    const SOURCES: [&str; 15] =
        ["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "py", "go", "rs", "java", "kt", "rb", "php"];
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    if !SOURCES.contains(&extension) {
        return false;
    }
    let folders: Vec<&str> = folder.split('/').collect();
    let is_next = folders.contains(&"app") && stem == "route";
    let is_pages = folders.windows(2).any(|pair| pair == ["pages", "api"]);
    let is_routes = folders.iter().any(|folder| ["routes", "controllers", "handlers", "endpoints"].contains(folder));
    let is_named = ["urls", "routes", "router"].contains(&stem)
        || stem.ends_with("_controller")
        || stem.ends_with("Controller")
        || stem.ends_with(".controller");
    is_next || is_pages || is_routes || is_named
}

/// The routes that a change adds or removes, in its source files. The caller leaves out tests.
pub(crate) fn find_route_changes(sources: &[ChangedDocument<'_>]) -> Vec<RouteChange> {
    let mut found = Vec::new();
    for source in sources {
        let first = found.len();
        let fresh = source.fresh_texts();
        let removed = source.removed_texts();
        let added = fresh.iter().map(|(line, text)| (Some(*line), *text));
        for (line, text) in added.chain(removed.iter().map(|text| (None, *text))) {
            if find_route(source.path, text).is_some() {
                let verb = if line.is_some() { "adds" } else { "removes" };
                let evidence = format!("{verb} {}", super::shown(text.trim()));
                found.push(RouteChange { path: source.path.to_owned(), line, evidence });
            }
            if found.len() == ROUTES_MAX {
                return found;
            }
        }
        let has_changes = !fresh.is_empty() || !removed.is_empty();
        if found.len() == first && has_changes && is_handler_file(source.path) {
            let evidence = "changes a file of handlers".to_owned();
            found.push(RouteChange { path: source.path.to_owned(), line: None, evidence });
        }
    }
    found
}
