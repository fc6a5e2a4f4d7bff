//! Files that are not written by hand: what changes in them follows from another change, and is no fix of its own.

/// Lock files whose name doesn't say so by its end.
const LOCKS: [&str; 6] =
    ["npm-shrinkwrap.json", "pnpm-lock.yaml", "go.sum", "bun.lockb", "Package.resolved", ".terraform.lock.hcl"];
/// Ends of names of lock files, of snapshots of a test runner, and of what a generator writes.
const ENDINGS: [&str; 19] = [
    ".lock",
    "-lock.json",
    "-lock.yaml",
    ".snap",
    ".ambr",
    ".min.js",
    ".min.css",
    ".map",
    "_pb2.py",
    "_pb2.pyi",
    "_pb2_grpc.py",
    ".pb.go",
    ".pb.cc",
    ".pb.h",
    ".g.dart",
    ".freezed.dart",
    ".designer.cs",
    ".tsbuildinfo",
    ".gen.go",
];
/// Parts of such names.
const PARTS: [&str; 3] = [".generated.", "_generated.", "-generated."];
/// Folders whose content is third-party code or a tool's.
const FOLDERS: [&str; 11] = [
    "__snapshots__",
    "__generated__",
    "node_modules",
    "vendor",
    "vendored",
    "third_party",
    "site-packages",
    "dist",
    ".yarn",
    ".lessons",
    "bower_components",
];

/// Whether a file is a lock file, generated, a snapshot of a test runner, vendored, or a lesson. The path is relative to
/// the root.
pub(crate) fn is_derived(path: &str) -> bool {
    let mut folders: Vec<&str> = path.split('/').collect();
    let name = folders.pop().unwrap_or_default();
    LOCKS.contains(&name)
        || ENDINGS.iter().any(|ending| name.len() > ending.len() && name.ends_with(ending))
        || PARTS.iter().any(|part| name.contains(part))
        || folders.iter().any(|folder| FOLDERS.contains(folder))
        || (folders.last() == Some(&"lessons") && is_lesson(name))
}

/// A lesson's file is named by the day: `2026-11-22-…-y2m3jv83.md`.
fn is_lesson(name: &str) -> bool {
    let day = name.as_bytes().get(..10).unwrap_or_default();
    let is_day =
        day.iter().enumerate().all(|(at, byte)| if at == 4 || at == 7 { *byte == b'-' } else { byte.is_ascii_digit() });
    day.len() == 10 && is_day && name.ends_with(".md")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_from_another_change_is_told_from_what_people_write() {
        for path in [
            "package-lock.json",
            "web/yarn.lock",
            "Cargo.lock",
            "go.sum",
            "src/__snapshots__/a.test.ts.snap",
            "tests/snapshots/x.snap",
            "vendor/github.com/x/y.go",
            "web/node_modules/a/index.js",
            "api/user_pb2.py",
            "src/schema.generated.ts",
            "lessons/2026-11-22-cargo-nextest-y2m3jv83.md",
            ".lessons/anything.md",
            "public/app.min.js",
        ] {
            assert!(is_derived(path), "{path}");
        }
        for path in [
            "package.json",
            "Cargo.toml",
            "go.mod",
            "src/lock.rs",
            "src/vendor.ts",
            "lessons/index.md",
            "lessons/chapter.py",
            "src/snapshot.py",
            ".lock",
        ] {
            assert!(!is_derived(path), "{path}");
        }
    }
}
