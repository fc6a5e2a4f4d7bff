//! The programs that a script of `package.json` starts, where its text says all of them.

use std::fs;
use std::path::Path;

use super::check_inputs::UnknownInput;

/// Scripts that call each other.
const DEPTH_MAX: usize = 4;
/// A larger `package.json` is not read, bytes.
const MANIFEST_BYTES_MAX: u64 = 1 << 20;
/// What makes a line more than commands one after the other.
const SHELL_CHARACTERS: [char; 11] = ['$', '`', '(', ')', '{', '}', '<', '>', '|', ';', '\n'];

/// The programs that the script `name` of the nearest `package.json` starts, as their words say, with those that package
/// managers run before and after it.
///
/// # Errors
/// [`UnknownInput::NoVersion`] where the text does not say all of them: a shell's own constructs, a script that isn't there.
pub(super) fn script_programs(folder: &Path, root: &Path, name: &str) -> Result<Vec<String>, UnknownInput> {
    let unknown = || UnknownInput::NoVersion(format!("the script {name}"));
    let mut above = folder.ancestors().take_while(|folder| folder.starts_with(root));
    let manifest = above.find_map(|folder| read_manifest(&folder.join("package.json"))).ok_or_else(unknown)?;
    let scripts = manifest.get("scripts").ok_or_else(unknown)?;
    let mut programs = Vec::new();
    add_script(scripts, name, 0, &mut programs).ok_or_else(unknown)?;
    Ok(programs)
}

fn read_manifest(path: &Path) -> Option<serde_json::Value> {
    let is_small = fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MANIFEST_BYTES_MAX);
    is_small.then(|| serde_json::from_slice(&fs::read(path).ok()?).ok()).flatten()
}

/// Adds the programs of a script; `None` where they are not known.
fn add_script(scripts: &serde_json::Value, name: &str, depth: usize, programs: &mut Vec<String>) -> Option<()> {
    if depth == DEPTH_MAX {
        return None;
    }
    scripts.get(name)?;
    for name in [format!("pre{name}"), name.to_owned(), format!("post{name}")] {
        let Some(script) = scripts.get(&name) else { continue };
        let script = script.as_str()?;
        if script.contains(SHELL_CHARACTERS) {
            return None;
        }
        let words = shell_words::split(script).ok()?;
        words.split(|word| word == "&&").try_for_each(|command| add_command(scripts, command, depth, programs))?;
    }
    Some(())
}

fn add_command(scripts: &serde_json::Value, words: &[String], depth: usize, programs: &mut Vec<String>) -> Option<()> {
    let is_variable = |word: &&String| word.split_once('=').is_some_and(|(name, _)| !name.contains('/'));
    let words = &words[words.iter().take_while(is_variable).count()..];
    let (program, arguments) = words.split_first()?;
    if words.iter().any(|word| word.contains('&')) {
        return None;
    }
    programs.push(program.clone());
    let first = arguments.first().map(String::as_str);
    match program.as_str() {
        "npm" | "pnpm" | "yarn" | "bun" => match (first, arguments.get(1)) {
            (Some("test"), _) if program != "bun" => add_script(scripts, "test", depth + 1, programs),
            (Some("test"), _) => Some(()),
            (Some("run"), Some(name)) => add_script(scripts, name, depth + 1, programs),
            (Some("exec"), Some(_)) => add_command(scripts, &arguments[1..], depth, programs),
            _ => None,
        },
        // An option may say which package the program is from.
        "npx" | "bunx" | "pnpx" | "uvx" if first.is_some_and(|word| word.starts_with('-')) => None,
        "npx" | "bunx" | "pnpx" | "uvx" => add_command(scripts, arguments, depth, programs),
        _ => Some(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_scripts_are_named_where_the_text_says_all_of_them() {
        let dir = tempfile::tempdir().expect("a folder");
        let of = |scripts: serde_json::Value| {
            let manifest = serde_json::json!({ "scripts": scripts }).to_string();
            fs::write(dir.path().join("package.json"), manifest).expect("written");
            fs::create_dir_all(dir.path().join("web")).expect("a folder");
            script_programs(&dir.path().join("web"), dir.path(), "test").ok().map(|programs| programs.join(" "))
        };
        let test = |script: &str| of(serde_json::json!({ "test": script }));
        let known = [
            ("node --test", "node"),
            ("A=1 B='2 3' vitest run \"src/**\"", "vitest"),
            ("eslint . && tsc --noEmit", "eslint tsc"),
            ("npx jest --ci", "npx jest"),
            ("pnpm exec vitest", "pnpm vitest"),
            ("bun test", "bun"),
        ];
        for (script, programs) in known {
            assert_eq!(test(script).as_deref(), Some(programs), "{script}");
        }
        let unknown = [
            "",
            "A=1",
            "vitest | tee log",
            "sh -c 'a; b'",
            "vitest > out",
            "vitest & wait",
            "vitest&&make",
            "$RUNNER",
            "npm ci",
            "npx -p x y",
            "npm run missing",
            "npm test",
            "'",
            "vitest && ",
        ];
        for script in unknown {
            assert_eq!(test(script), None, "{script}");
        }
        let nested = of(serde_json::json!({
            "pretest": "tsc", "test": "npm run unit && npm run lint", "unit": "vitest run", "lint": "eslint .",
            "postunit": "prettier --check ."
        }));
        assert_eq!(nested.as_deref(), Some("tsc npm vitest prettier npm eslint"));
        assert_eq!(of(serde_json::json!({ "test": "node --test", "posttest": "echo $A" })), None);
        assert_eq!(of(serde_json::json!({ "lint": "eslint ." })), None);
        assert_eq!(of(serde_json::json!({ "test": 1 })), None);
    }
}
