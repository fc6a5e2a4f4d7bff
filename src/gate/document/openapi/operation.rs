//! The operations of an API document: their ids are unique, the parameters of their paths are declared.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use super::document::DocumentCheck;
use super::tree::ApiNode;

/// The keys of a path that are operations.
const METHODS: [&str; 9] = ["get", "put", "post", "delete", "options", "head", "patch", "trace", "query"];
/// References that are followed from one parameter or path to what it means.
const REFERENCES_MAX: usize = 8;
/// Callbacks in callbacks.
const CALLBACK_DEPTH_MAX: usize = 4;

/// An operation that gave its id first.
struct OperationId {
    name: String,
    line: Option<u32>,
}

/// The parameters in a path that are declared; `None` when some of them are in another document.
type DeclaredParameters = Option<BTreeSet<String>>;

/// What is known of the operations so far.
#[derive(Default)]
struct OperationCheck<'a> {
    ids: HashMap<&'a str, OperationId>,
    /// By the address of what declares them: many paths may refer to one item.
    declared: HashMap<*const ApiNode, Rc<DeclaredParameters>>,
}

impl<'a> OperationCheck<'a> {
    fn parameters_of(&mut self, root: &'a ApiNode, node: &'a ApiNode) -> Rc<DeclaredParameters> {
        let declared = self.declared.entry(std::ptr::from_ref(node));
        Rc::clone(declared.or_insert_with(|| Rc::new(declared_parameters(root, node))))
    }
}

/// Checks each operation of a document; returns how many of paths and webhooks there are.
pub(super) fn check_operations(check: &mut DocumentCheck<'_>) -> usize {
    let root = check.root;
    let mut known = OperationCheck::default();
    let mut operations = 0;
    for (part, is_path) in [("paths", true), ("webhooks", false)] {
        for (key, line, item) in root.get(part).map(ApiNode::entries_by_line).unwrap_or_default() {
            if key.starts_with("x-") {
                continue;
            }
            let path = is_path.then_some((key, line));
            operations += check_path_item(check, &mut known, key, path, item, 0);
        }
    }
    operations
}

fn check_path_item<'a>(
    check: &mut DocumentCheck<'a>,
    known: &mut OperationCheck<'a>,
    key: &str,
    path: Option<(&str, Option<u32>)>,
    item: &'a ApiNode,
    depth: usize,
) -> usize {
    let root = check.root;
    // Operations behind a reference belong to where they are written.
    let Some(target) = follow_references(root, item) else { return 0 };
    let is_referenced = !std::ptr::eq(target, item);
    let shared = known.parameters_of(root, target);
    let additional =
        target.get("additionalOperations").filter(|_| !is_referenced).into_iter().flat_map(ApiNode::entries);
    let usual = target.entries_by_line().into_iter().filter(|(method, ..)| METHODS.contains(method));
    let mut operations = 0;
    for (method, line, operation) in usual.chain(additional) {
        operations += 1;
        let name = format!("{} {key}", method.to_uppercase());
        if let Some(id) = operation.get("operationId").and_then(ApiNode::text).filter(|_| !is_referenced) {
            let id_line = operation.get("operationId").and_then(|node| node.line).or(line);
            match known.ids.get(id) {
                Some(OperationId { name: first, line: first_line }) => {
                    let place = first_line.map_or_else(String::new, |line| format!(" in line {line}"));
                    check.add_finding(
                        id_line,
                        format!("operationId \"{id}\" of {name} is also the one of {first}{place}"),
                    );
                }
                None => {
                    known.ids.insert(id, OperationId { name: name.clone(), line: id_line });
                }
            }
        }
        let own = known.parameters_of(root, operation);
        if let (Some((path, path_line)), Some(shared), Some(own)) = (path, &*shared, &*own) {
            for parameter in template_parameters(path).filter(|name| !shared.contains(*name) && !own.contains(*name)) {
                check.add_finding(
                    path_line.or(line),
                    format!("path parameter {{{parameter}}} of {name} is not declared"),
                );
            }
        }
        let callbacks = operation.get("callbacks").into_iter().flat_map(ApiNode::entries);
        for (_, _, callback) in callbacks.filter(|_| depth < CALLBACK_DEPTH_MAX && !is_referenced) {
            for (expression, _, item) in callback.entries().filter(|(key, ..)| !key.starts_with(['$', 'x'])) {
                check_path_item(check, known, expression, None, item, depth + 1);
            }
        }
    }
    operations
}

/// What a value means, references followed; `None` when that is in another document or nowhere.
fn follow_references<'a>(root: &'a ApiNode, node: &'a ApiNode) -> Option<&'a ApiNode> {
    let mut node = node;
    for _ in 0..REFERENCES_MAX {
        match node.get("$ref").and_then(ApiNode::text) {
            Some(reference) => node = root.resolve(reference)?,
            None => return Some(node),
        }
    }
    None
}

fn declared_parameters(root: &ApiNode, node: &ApiNode) -> DeclaredParameters {
    let mut names = BTreeSet::new();
    for parameter in node.get("parameters").map_or(&[][..], ApiNode::items) {
        let parameter = follow_references(root, parameter)?;
        if parameter.get("in").and_then(ApiNode::text) == Some("path") {
            names.extend(parameter.get("name").and_then(ApiNode::text).map(str::to_owned));
        }
    }
    Some(names)
}

/// The names in braces of a path.
fn template_parameters(path: &str) -> impl Iterator<Item = &str> {
    path.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name)
}
