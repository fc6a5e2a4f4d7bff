//! Packagers and checkers that would include a hidden folder of the work tree, although its own ignore file hides it
//! from git: they read other ignore files, or none. The behaviour of each was found by running it.

use std::fs;
use std::path::Path;

use serde_json::Value as Json;
use toml::{Table, Value};

/// A file that is looked at, bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Something that would take the folder along, and what keeps it from that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packager {
    /// Its name.
    pub name: &'static str,
    /// What it does with the folder.
    pub does: &'static str,
    /// Whether what it makes is given to others as a package.
    pub publishes: bool,
    /// The file that says so, relative to the root.
    pub file: String,
    /// The line in it, from 1.
    pub line: Option<usize>,
    /// What to write, and where.
    pub remedy: String,
}

/// A build backend whose includes reach into hidden folders.
struct Backend {
    /// How its `build-backend` starts.
    start: &'static str,
    name: &'static str,
    table: &'static [&'static str],
    include: &'static str,
    exclude: &'static str,
    /// The exclusion of FOLDER; none where an include wins over it.
    item: Option<&'static str>,
}

const BACKENDS: [Backend; 4] = [
    Backend {
        start: "uv_build",
        name: "uv build",
        table: &["tool", "uv", "build-backend"],
        include: "source-include",
        exclude: "source-exclude",
        item: Some("\"/FOLDER\""),
    },
    Backend {
        start: "scikit_build_core",
        name: "scikit-build-core",
        table: &["tool", "scikit-build", "sdist"],
        include: "include",
        exclude: "exclude",
        item: None,
    },
    Backend {
        start: "maturin",
        name: "maturin",
        table: &["tool", "maturin"],
        include: "include",
        exclude: "exclude",
        item: Some("{ path = \"FOLDER/**\", format = \"sdist\" }"),
    },
    Backend {
        start: "poetry",
        name: "poetry",
        table: &["tool", "poetry"],
        include: "include",
        exclude: "exclude",
        item: None,
    },
];

/// What would take `folder` (relative to the root) along.
pub fn packagers(root: &Path, folder: &str) -> Vec<Packager> {
    let project = PackagedProject { root, folder };
    let python = project.python();
    let python = python.as_ref().map(|(table, text)| (table, text.as_str()));
    let others = [project.docker(), project.codespell(python), project.cspell()];
    project.publishers(python).chain(others.into_iter().flatten()).collect()
}

/// Whether a package that the project publishes would have `folder` (relative to the root) in it.
pub fn is_published(root: &Path, folder: &str) -> bool {
    let project = PackagedProject { root, folder };
    let python = project.python();
    project.publishers(python.as_ref().map(|(table, text)| (table, text.as_str()))).next().is_some()
}

struct PackagedProject<'a> {
    root: &'a Path,
    folder: &'a str,
}

impl PackagedProject<'_> {
    /// `pyproject.toml`, parsed and as it is.
    fn python(&self) -> Option<(Table, String)> {
        let text = self.read("pyproject.toml")?;
        Some((text.parse().ok()?, text))
    }

    /// Those that make packages for others.
    fn publishers(&self, python: Option<(&Table, &str)>) -> impl Iterator<Item = Packager> {
        let found = [
            python.and_then(|python| self.hatchling(python)),
            python.and_then(|python| self.wide_include(python)),
            self.setuptools(),
            self.vsce(),
        ];
        found.into_iter().flatten()
    }

    /// hatchling reads the root's `.gitignore` alone, and packs all else.
    fn hatchling(&self, (table, text): (&Table, &str)) -> Option<Packager> {
        if !backend(table)?.starts_with("hatchling") || self.is_named(&self.read(".gitignore").unwrap_or_default()) {
            return None;
        }
        let build = inner(table, &["tool", "hatch", "build"]);
        let sdist = inner(table, &["tool", "hatch", "build", "targets", "sdist"]);
        let lists = |key: &str| [sdist, build].into_iter().flatten().find_map(|table| table.get(key));
        let includes = ["only-include", "include"].into_iter().find_map(lists).map(texts);
        let is_narrow = includes.is_some_and(|list| list.iter().all(|glob| !is_wide(glob)));
        let is_excluded = lists("exclude").is_some_and(|list| self.is_named_in(list));
        (!is_narrow && !is_excluded).then(|| Packager {
            name: "hatchling",
            does: "packs FOLDER into the sdist: it reads no ignore file but the root's",
            publishes: true,
            file: "pyproject.toml".to_owned(),
            line: line_of(text, "hatchling"),
            remedy: self.filled("write `exclude = [\"/FOLDER\"]` under `[tool.hatch.build.targets.sdist]`"),
        })
    }

    /// Other build backends pack it when an include of any folder says so.
    fn wide_include(&self, (table, text): (&Table, &str)) -> Option<Packager> {
        let named = backend(table)?;
        let Backend { name, table: path, include, exclude, item, .. } =
            BACKENDS.iter().find(|known| named.starts_with(known.start))?;
        let own = inner(table, path)?;
        let is_wide = texts(own.get(*include)?).iter().any(|glob| glob.starts_with("**"));
        let is_excluded = item.is_some() && own.get(*exclude).is_some_and(|list| self.is_named_in(list));
        let remedy = match item {
            Some(item) => self.filled(&format!("write `{exclude} = [{item}]` under `[{}]`", path.join("."))),
            None => format!("name the folders in `{include}` under `[{}]` instead of `**`", path.join(".")),
        };
        (is_wide && !is_excluded).then(|| Packager {
            name,
            does: "packs FOLDER into the sdist: an include of every folder matches hidden ones, too",
            publishes: true,
            file: "pyproject.toml".to_owned(),
            line: line_of(text, include),
            remedy,
        })
    }

    /// setuptools packs what `MANIFEST.in` says, whatever git ignores.
    fn setuptools(&self) -> Option<Packager> {
        let text = self.read("MANIFEST.in")?;
        let mut taken = None;
        for (line, words) in (1..).zip(text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>())) {
            match words.as_slice() {
                ["global-include", ..] | ["graft" | "recursive-include", "." | "*" | "**", ..] => taken = Some(line),
                ["prune" | "recursive-exclude", dir, ..] if self.is_named(dir) => taken = None,
                _ => {}
            }
        }
        taken.map(|line| Packager {
            name: "setuptools",
            does: "packs FOLDER into the sdist: MANIFEST.in includes every folder",
            publishes: true,
            file: "MANIFEST.in".to_owned(),
            line: Some(line),
            remedy: self.filled("write `prune FOLDER` at the end of MANIFEST.in"),
        })
    }

    /// vsce packs a VS Code extension, and reads `.vscodeignore` alone.
    fn vsce(&self) -> Option<Packager> {
        let text = self.read("package.json")?;
        let json: Json = serde_json::from_str(&text).ok()?;
        json.get("engines")?.get("vscode")?;
        // With a list of files no other one is read.
        let files = json.get("files").and_then(Json::as_array);
        let is_wide = files.is_none_or(|files| files.iter().filter_map(Json::as_str).any(is_wide));
        let is_left_out = files.is_none() && self.is_named(&self.read(".vscodeignore").unwrap_or_default());
        let remedy = match files {
            Some(_) => "name the folders in `files` instead of `**`".to_owned(),
            None => self.filled("write `FOLDER/**` into .vscodeignore"),
        };
        (is_wide && !is_left_out).then(|| Packager {
            name: "vsce",
            does: "packs FOLDER into the extension: it reads .vscodeignore, not .gitignore",
            publishes: true,
            file: "package.json".to_owned(),
            line: line_of(&text, "\"engines\""),
            remedy,
        })
    }

    /// `COPY .` takes the whole build context, which `.dockerignore` alone makes smaller.
    fn docker(&self) -> Option<Packager> {
        let ignored = self.read(".dockerignore").unwrap_or_default();
        let is_left_out =
            self.is_named(&ignored) || ignored.lines().any(|line| matches!(line.trim(), "*" | "**" | ".*"));
        let file = ["Dockerfile", "Containerfile"].into_iter().find(|file| self.root.join(file).is_file())?;
        let text = self.read(file)?;
        let takes_all = |line: &str| {
            let mut words = line.split_whitespace().filter(|word| !word.starts_with("--"));
            let verb = words.next().unwrap_or_default();
            let from_image = line.contains("--from=");
            let is_copy = verb.eq_ignore_ascii_case("COPY") || verb.eq_ignore_ascii_case("ADD");
            is_copy && !from_image && matches!(words.next(), Some("." | "./"))
        };
        let line = text.lines().position(takes_all).map(|at| at + 1);
        (line.is_some() && !is_left_out).then(|| Packager {
            name: "docker",
            does: "copies FOLDER into the image: the build context is everything that .dockerignore does not name",
            publishes: false,
            file: file.to_owned(),
            line,
            remedy: self.filled("write `FOLDER` into .dockerignore"),
        })
    }

    /// codespell reads no ignore file, and hidden folders when configured to.
    fn codespell(&self, python: Option<(&Table, &str)>) -> Option<Packager> {
        let of_table = python.and_then(|(table, text)| {
            let own = inner(table, &["tool", "codespell"]).filter(|own| own.contains_key("check-hidden"))?;
            let is_left_out = own.get("skip").is_some_and(|list| self.is_named_in(list));
            (!is_left_out)
                .then(|| ("pyproject.toml", text.to_owned(), "write `skip = \"./FOLDER\"` under `[tool.codespell]`"))
        });
        let of_file = |file| {
            let text = self.read(file)?;
            let own = text.split_once("[codespell]")?.1.split("\n[").next()?.to_owned();
            let is_read = own.lines().any(|line| line.trim_start().starts_with("check-hidden"));
            (is_read && !self.is_named(&own)).then_some((file, text, "write `skip = ./FOLDER` under `[codespell]`"))
        };
        let (file, text, remedy) = of_table.or_else(|| of_file(".codespellrc")).or_else(|| of_file("setup.cfg"))?;
        Some(Packager {
            name: "codespell",
            does: "checks the spelling in FOLDER: it is configured to read hidden folders",
            publishes: false,
            file: file.to_owned(),
            line: line_of(&text, "check-hidden"),
            remedy: self.filled(remedy),
        })
    }

    /// cspell reads hidden folders and ignore files only when configured to.
    fn cspell(&self) -> Option<Packager> {
        const FILES: [&str; 4] = ["cspell.json", ".cspell.json", "cspell.config.json", ".vscode/cspell.json"];
        let (file, text) = FILES.into_iter().find_map(|file| Some((file, self.read(file)?)))?;
        let json: Json = serde_json::from_str(&text).ok()?;
        let is_on = |key: &str| json.get(key).and_then(Json::as_bool) == Some(true);
        let is_left_out = json.get("ignorePaths").is_some_and(|list| self.is_named(&list.to_string()));
        (is_on("enableGlobDot") && !is_on("useGitignore") && !is_left_out).then(|| Packager {
            name: "cspell",
            does: "checks the spelling in FOLDER: it is configured to read hidden folders",
            publishes: false,
            file: file.to_owned(),
            line: line_of(&text, "enableGlobDot"),
            remedy: self.filled("write `\"ignorePaths\": [\"FOLDER\"]`"),
        })
    }

    fn read(&self, file: &str) -> Option<String> {
        let path = self.root.join(file);
        let metadata = fs::metadata(&path).ok()?;
        (metadata.is_file() && metadata.len() <= FILE_BYTES_MAX).then(|| fs::read_to_string(path).ok())?
    }

    fn is_named(&self, text: &str) -> bool {
        text.lines().any(|line| !line.trim_start().starts_with(['#', '!']) && line.contains(self.folder))
    }

    fn is_named_in(&self, list: &Value) -> bool {
        texts(list).iter().any(|text| self.is_named(text))
    }

    fn filled(&self, text: &str) -> String {
        text.replace("FOLDER", self.folder)
    }
}

impl Packager {
    /// What it does with `folder`, in one sentence.
    pub fn sentence(&self, folder: &str) -> String {
        format!("{} {}", self.name, self.does.replace("FOLDER", folder))
    }
}

fn backend(table: &Table) -> Option<&str> {
    table.get("build-system")?.get("build-backend")?.as_str()
}

fn inner<'a>(table: &'a Table, path: &[&str]) -> Option<&'a Table> {
    path.iter().try_fold(table, |table, key| table.get(*key)?.as_table())
}

/// The texts of a list, of paths in it, or of one text.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Table(table) => table.get("path").map(texts).unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// Whether a pattern may be of a hidden folder at the root.
fn is_wide(glob: &str) -> bool {
    let glob = glob.trim_start_matches(['.', '/']);
    glob.is_empty() || glob.starts_with('*')
}

fn line_of(text: &str, wanted: &str) -> Option<usize> {
    text.lines().position(|line| line.contains(wanted)).map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HATCH: &str = "[build-system]\nbuild-backend = \"hatchling.build\"\n";

    /// What is named in a project with these files, each with what it wants written.
    fn named(files: &[(&str, &str)]) -> Vec<(&'static str, String)> {
        let dir = tempfile::tempdir().expect("a folder");
        for (file, text) in files {
            fs::write(dir.path().join(file), text).expect("a file");
        }
        packagers(dir.path(), ".lessons").into_iter().map(|found| (found.name, found.remedy)).collect()
    }

    fn python(backend: &str, rest: &str) -> String {
        format!("[build-system]\nbuild-backend = \"{backend}\"\n{rest}")
    }

    #[test]
    fn hatchling_is_named_until_its_files_leave_the_folder_out() {
        let sdist = |line: &str| format!("{HATCH}[tool.hatch.build.targets.sdist]\n{line}\n");
        let remedy = "write `exclude = [\"/.lessons\"]` under `[tool.hatch.build.targets.sdist]`";
        assert_eq!(named(&[("pyproject.toml", HATCH)]), [("hatchling", remedy.to_owned())]);
        for wide in ["include = [\"**/*.md\"]", "exclude = [\"/docs\"]"] {
            assert_eq!(named(&[("pyproject.toml", &sdist(wide))]).len(), 1, "{wide}");
        }
        for fine in ["exclude = [\"/.lessons\"]", "only-include = [\"src\"]", "include = [\"/src\"]"] {
            assert_eq!(named(&[("pyproject.toml", &sdist(fine))]), [], "{fine}");
        }
        assert_eq!(named(&[("pyproject.toml", HATCH), (".gitignore", "dist/\n/.lessons/\n")]), []);
    }

    #[test]
    fn an_include_of_any_folder_is_named_and_one_by_name_is_not() {
        for (backend, table, exclude) in [
            ("uv_build", "[tool.uv.build-backend]\nsource-include", Some("source-exclude = [\"/.lessons\"]")),
            ("maturin", "[tool.maturin]\ninclude", Some("exclude = [{ path = \".lessons/**\", format = \"sdist\" }]")),
            ("poetry.core.masonry.api", "[tool.poetry]\ninclude", None),
            ("scikit_build_core.build", "[tool.scikit-build.sdist]\ninclude", None),
        ] {
            let with = |list: &str| python(backend, &format!("{table} = [{list}]\n"));
            assert_eq!(named(&[("pyproject.toml", &python(backend, ""))]), [], "{backend}");
            assert_eq!(named(&[("pyproject.toml", &with("\"src/**/*.md\""))]), [], "{backend}");
            let found = named(&[("pyproject.toml", &with("{ path = \"**/*.md\", format = \"sdist\" }"))]);
            assert_eq!(found.len(), 1, "{backend}");
            if let Some(exclude) = exclude {
                assert!(found[0].1.starts_with(&format!("write `{exclude}`")), "{found:?}");
                assert_eq!(named(&[("pyproject.toml", &format!("{}{exclude}\n", with("\"**/*.md\"")))]), []);
            }
        }
    }

    #[test]
    fn what_reads_other_files_than_git_s_is_named_by_those() {
        let extension = r#"{"name": "x", "engines": {"vscode": "^1.80.0"}}"#;
        let spelling = "{\n  \"enableGlobDot\": true\n}";
        for (name, file, text, (other, line)) in [
            ("setuptools", "MANIFEST.in", "graft .\n", ("MANIFEST.in", "graft .\nprune .lessons\n")),
            (
                "setuptools",
                "MANIFEST.in",
                "global-include *.md\n",
                ("MANIFEST.in", "global-include *.md\nprune .lessons\n"),
            ),
            ("vsce", "package.json", extension, (".vscodeignore", ".lessons/**\n")),
            ("docker", "Dockerfile", "FROM x\nCOPY --chown=a . /app\n", (".dockerignore", ".lessons\n")),
            (
                "codespell",
                ".codespellrc",
                "[codespell]\ncheck-hidden =\n",
                (".codespellrc", "[codespell]\ncheck-hidden =\nskip = ./.lessons\n"),
            ),
            (
                "cspell",
                "cspell.json",
                spelling,
                ("cspell.json", r#"{"enableGlobDot": true, "ignorePaths": [".lessons"]}"#),
            ),
        ] {
            let found: Vec<_> = named(&[(file, text)]).into_iter().map(|(name, _)| name).collect();
            assert_eq!(found, [name], "{text}");
            assert_eq!(named(&[(file, text), (other, line)]), [], "{line}");
        }
        for quiet in [
            ("MANIFEST.in", "include README.md\nrecursive-include src *.md\n"),
            ("package.json", r#"{"name": "x"}"#),
            ("Dockerfile", "FROM x AS y\nCOPY src /app\nCOPY --from=y . /z\n"),
            ("cspell.json", r#"{"enableGlobDot": true, "useGitignore": true}"#),
        ] {
            assert_eq!(named(&[quiet]), [], "{quiet:?}");
        }
    }
}
