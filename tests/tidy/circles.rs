//! Holds that files which use each other stay few: a circle of more than three can only be understood as a whole.
//!
//! The graph is made of what the code names: every path in it, through imports and re-exports, to the file that defines
//! the item. Tests are left out. A parent that only declares or re-exports its children does not use them; calls of
//! methods say no path and count for nothing, so that one type's `impl` may be spread over files.
//!
//! A child that uses what its parent defines while the parent uses the child is a circle of two. A parent of many children
//! would add all those pairs up to one circle, so arrows from a file to the modules around it are not followed.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree, Visibility};

use super::{Source, report, sources};

/// Files that may use each other in a circle.
const CIRCLE_FILES_MAX: usize = 3;

/// Circles that are larger, by a file in each.
const LARGER_CIRCLES: [&str; 0] = [];

/// The path of a module below the crate, and of what is in it.
type ModulePath = Vec<String>;

/// What a module has under its own names.
#[derive(Default)]
struct Module {
    file: String,
    children: BTreeSet<String>,
    /// Items that it defines.
    items: BTreeSet<String>,
    /// Names that it imports or re-exports, with the path as written.
    imports: BTreeMap<String, ModulePath>,
    /// Paths of which it imports everything.
    globs: Vec<ModulePath>,
    /// Every path that its code names.
    used: BTreeSet<ModulePath>,
}

/// Collects what one module has; inline modules are parts of the one around them.
struct Reader<'a> {
    module: &'a mut Module,
}

#[test]
fn files_use_each_other_in_small_circles() {
    let graph = file_graph(&sources("src"));
    let circles = components(&graph);
    let mut findings = Vec::new();
    for circle in circles.iter().filter(|circle| circle.len() > CIRCLE_FILES_MAX) {
        if LARGER_CIRCLES.iter().any(|file| circle.contains(*file)) {
            continue;
        }
        let arrows = circle.iter().map(|file| {
            let targets: Vec<&str> = graph[file].intersection(circle).map(String::as_str).collect();
            format!("    {file} uses {}", targets.join(", "))
        });
        let arrows: Vec<String> = arrows.collect();
        findings.push(format!(
            "{} files use each other, at most {CIRCLE_FILES_MAX}: move what several need to a file below them\n{}",
            circle.len(),
            arrows.join("\n")
        ));
    }
    for file in LARGER_CIRCLES {
        if !circles.iter().any(|circle| circle.len() > CIRCLE_FILES_MAX && circle.contains(file)) {
            findings.push(format!("{file} is in no large circle any more: take it out of LARGER_CIRCLES"));
        }
    }
    report(&findings);
}

/// The files that each file uses.
fn file_graph(sources: &[Source]) -> BTreeMap<String, BTreeSet<String>> {
    let modules: BTreeMap<ModulePath, Module> = sources
        .iter()
        .filter(|source| !source.tests() && !["src/main.rs", "src/build.rs"].contains(&source.path.as_str()))
        .map(|source| (module_path(&source.path), read_module(source)))
        .collect();
    let mut graph = BTreeMap::new();
    for (path, module) in &modules {
        let targets = module.used.iter().filter_map(|used| defining_file(&modules, path, used, 0));
        let around: Vec<&str> =
            (0..=path.len()).filter_map(|end| Some(modules.get(&path[..end])?.file.as_str())).collect();
        let targets: BTreeSet<String> = targets.filter(|file| !around.contains(&file.as_str())).collect();
        graph.insert(module.file.clone(), targets);
    }
    graph
}

/// `src/a/b.rs` and `src/a/b/mod.rs` are the module `a::b`.
fn module_path(file: &str) -> ModulePath {
    let path = file.trim_start_matches("src/").trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').filter(|part| *part != "lib").map(str::to_owned).collect()
}

fn read_module(source: &Source) -> Module {
    let mut module = Module { file: source.path.clone(), ..Module::default() };
    let file = syn::parse_file(&source.text).unwrap_or_else(|error| panic!("{}: {error}", source.path));
    Reader { module: &mut module }.visit_file(&file);
    module
}

/// The file that defines what `path` names in the module `at`; `None` for modules and for what is of other crates.
fn defining_file(
    modules: &BTreeMap<ModulePath, Module>,
    at: &[String],
    path: &[String],
    depth: usize,
) -> Option<String> {
    const REEXPORTS_MAX: usize = 16;
    let (first, rest) = path.split_first()?;
    let module = modules.get(at).filter(|_| depth < REEXPORTS_MAX)?;
    match first.as_str() {
        "crate" => return defining_file(modules, &[], rest, depth + 1),
        "self" => return defining_file(modules, at, rest, depth + 1),
        "super" => return defining_file(modules, at.split_last()?.1, rest, depth + 1),
        _ => {}
    }
    if module.children.contains(first) {
        let child = [at, std::slice::from_ref(first)].concat();
        return defining_file(modules, &child, rest, depth + 1);
    }
    if module.items.contains(first) {
        return Some(module.file.clone());
    }
    if let Some(import) = module.imports.get(first).filter(|import| import.as_slice() != path) {
        return defining_file(modules, at, &[import.as_slice(), rest].concat(), depth + 1);
    }
    let mut globs = module.globs.iter();
    globs.find_map(|glob| defining_file(modules, at, &[glob.as_slice(), path].concat(), depth + 1))
}

impl Reader<'_> {
    /// Takes up an import: its names, and its paths as uses unless it only passes them on.
    fn read_import(&mut self, tree: &UseTree, before: &[String], is_reexport: bool) {
        let with = |name: &dyn ToString| [before, &[name.to_string()]].concat();
        let (name, path) = match tree {
            UseTree::Path(path) => return self.read_import(&path.tree, &with(&path.ident), is_reexport),
            UseTree::Group(group) => {
                return group.items.iter().for_each(|item| self.read_import(item, before, is_reexport));
            }
            UseTree::Glob(_) => return self.module.globs.push(before.to_vec()),
            UseTree::Name(name) if name.ident == "self" => {
                (before.last().cloned().unwrap_or_default(), before.to_vec())
            }
            UseTree::Name(name) => (name.ident.to_string(), with(&name.ident)),
            UseTree::Rename(rename) if rename.ident == "self" => (rename.rename.to_string(), before.to_vec()),
            UseTree::Rename(rename) => (rename.rename.to_string(), with(&rename.ident)),
        };
        if !is_reexport {
            self.module.used.insert(path.clone());
        }
        self.module.imports.insert(name, path);
    }

    fn define(&mut self, name: &syn::Ident) {
        self.module.items.insert(name.to_string());
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, name) = match item {
            Item::Const(item) => (&item.attrs, Some(&item.ident)),
            Item::Enum(item) => (&item.attrs, Some(&item.ident)),
            Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
            Item::Impl(item) => (&item.attrs, None),
            Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
            Item::Mod(item) => (&item.attrs, None),
            Item::Static(item) => (&item.attrs, Some(&item.ident)),
            Item::Struct(item) => (&item.attrs, Some(&item.ident)),
            Item::Trait(item) => (&item.attrs, Some(&item.ident)),
            Item::Type(item) => (&item.attrs, Some(&item.ident)),
            Item::Union(item) => (&item.attrs, Some(&item.ident)),
            Item::Use(item) => (&item.attrs, None),
            _ => return,
        };
        if is_of_tests(attributes) {
            return;
        }
        if let Some(name) = name {
            self.define(name);
        }
        match item {
            Item::Mod(child) if child.content.is_none() => {
                self.module.children.insert(child.ident.to_string());
            }
            Item::Use(import) => {
                let is_reexport = !matches!(import.vis, Visibility::Inherited);
                self.read_import(&import.tree, &[], is_reexport);
            }
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_of_tests(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.module.used.insert(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    /// The arguments of `format!` and the like are expressions; other macros have a language of their own.
    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let arguments = syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
        if let Ok(arguments) = call.parse_body_with(arguments) {
            arguments.iter().for_each(|argument| self.visit_expr(argument));
        }
        visit::visit_macro(self, call);
    }
}

/// `#[cfg(test)]`, `#[cfg(all(test, …))]`, `#[test]`.
fn is_of_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let mut is_test = attribute.path().is_ident("test");
        if attribute.path().is_ident("cfg") {
            // An error is a condition of another form.
            let _ = attribute.parse_nested_meta(|meta| {
                is_test |= meta.path.is_ident("test");
                if meta.path.is_ident("all") {
                    meta.parse_nested_meta(|meta| {
                        is_test |= meta.path.is_ident("test");
                        Ok(())
                    })?;
                }
                Ok(())
            });
        }
        is_test
    })
}

/// The sets of files that reach each other, by Tarjan's algorithm.
fn components(graph: &BTreeMap<String, BTreeSet<String>>) -> Vec<BTreeSet<String>> {
    let mut search = ComponentSearch { graph, places: BTreeMap::new(), stack: Vec::new(), found: Vec::new() };
    for file in graph.keys() {
        if !search.places.contains_key(file.as_str()) {
            search.visit(file);
        }
    }
    search.found
}

struct ComponentSearch<'a> {
    graph: &'a BTreeMap<String, BTreeSet<String>>,
    /// When each file was reached; `None` once its component is found.
    places: BTreeMap<&'a str, Option<usize>>,
    stack: Vec<&'a str>,
    found: Vec<BTreeSet<String>>,
}

impl<'a> ComponentSearch<'a> {
    /// The earliest place on the stack that `file` reaches.
    fn visit(&mut self, file: &'a str) -> usize {
        let own = self.places.len();
        let depth = self.stack.len();
        self.places.insert(file, Some(own));
        self.stack.push(file);
        let mut earliest = own;
        for target in self.graph.get(file).into_iter().flatten() {
            match self.places.get(target.as_str()) {
                None => earliest = earliest.min(self.visit(target)),
                Some(Some(place)) => earliest = earliest.min(*place),
                Some(None) => {}
            }
        }
        if earliest == own {
            let component = self.stack.split_off(depth);
            self.places.extend(component.iter().map(|file| (*file, None)));
            self.found.push(component.into_iter().map(str::to_owned).collect());
        }
        earliest
    }
}

#[test]
fn circles_are_found_through_imports_and_reexports() {
    let file = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    let parent = [
        file("src/a.rs", "mod one;\nmod two;\npub struct A;\nfn f() { one::g(); two::g() }"),
        file("src/a/one.rs", "use super::{A, two};\npub fn g() { two::g() }"),
        file("src/a/two.rs", "use super::A;\npub fn g() {}"),
    ];
    let is_parent_alone = |circle: &BTreeSet<String>| circle.len() == 1;
    assert!(components(&file_graph(&parent)).iter().all(is_parent_alone), "pairs with the parent are not added up");
    let sources = [
        file("src/lib.rs", "mod a;\nmod b;"),
        file("src/a/mod.rs", "mod one;\nmod two;\npub use one::One;\nuse crate::b::{self, Third as T};"),
        file("src/a/one.rs", "use super::two;\npub struct One;\nfn f() { let _ = format!(\"{}\", two::g()); }"),
        file("src/a/two.rs", "pub fn g() { b() }\n#[cfg(test)]\nmod tests { use crate::b::Third; }"),
        file("src/b.rs", "use crate::a::One as O;\npub struct Third;\nimpl O {}\nfn h() { super::a::i::<O>() }"),
    ];
    let graph = file_graph(&sources);
    let uses = |file: &str| graph[file].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(uses("src/a/mod.rs"), ["src/b.rs"], "what is only passed on is not used");
    assert_eq!(uses("src/a/one.rs"), ["src/a/two.rs"]);
    assert_eq!(uses("src/a/two.rs"), Vec::<&str>::new(), "tests are left out");
    assert_eq!(uses("src/b.rs"), ["src/a/one.rs"], "a re-export leads to the definition");
    let arrows = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("e", "d"), ("f", "a")];
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (from, to) in arrows {
        graph.entry(from.into()).or_default().insert(to.into());
    }
    let circles = components(&graph);
    let mut circles: Vec<String> =
        circles.iter().map(|circle| circle.iter().map(String::as_str).collect::<String>()).collect();
    circles.sort();
    assert_eq!(circles, ["abc", "de", "f"]);
}
