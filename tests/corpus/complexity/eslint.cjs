// Prints a line of JSON for each function below a folder: its path, name, line and complexity by eslint's own rule
// `complexity`. The packages `eslint` and `@typescript-eslint/parser` are looked for from the second argument on.
const fs = require("fs");
const path = require("path");
const [folder, modules] = process.argv.slice(2);
const load = require("module").createRequire(path.join(path.resolve(modules), "index.js"));
const { Linter } = load("eslint");
const { builtinRules } = load("eslint/use-at-your-own-risk");
const parser = load("@typescript-eslint/parser");
const rule = builtinRules.get("complexity");
const found = { rules: { complexity: {
  ...rule,
  // The rule reports the head of a function; the comparison needs the line at which the function begins.
  create: (context) => rule.create(Object.create(context, {
    report: { value: (descriptor) => {
      const parent = descriptor.node.parent;
      const isMember = parent && ["MethodDefinition", "PropertyDefinition", "Property"].includes(parent.type)
        && parent.value === descriptor.node && (parent.method || parent.kind === "get" || parent.kind === "set"
          || parent.type === "MethodDefinition");
      const node = isMember ? parent.key : descriptor.node;
      context.report({ ...descriptor, loc: { start: node.loc.start, end: descriptor.node.loc.end } });
    } },
  })),
} } };
const linter = new Linter({ configType: "flat", cwd: path.resolve(folder) });
const files = fs.readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.(c|m)?(j|t)sx?$/.test(entry.name) && !/\.d\.(c|m)?ts$/.test(entry.name))
  .map((entry) => path.join(entry.parentPath ?? entry.path, entry.name)).sort();
for (const file of files) {
  const name = path.relative(folder, file);
  const isTypeScript = /tsx?$/.test(file);
  const languageOptions = { ecmaVersion: "latest", sourceType: /\.cjs$/.test(file) ? "commonjs" : "module",
    parserOptions: { ecmaFeatures: { jsx: !/\.(c|m)?ts$/.test(file) } } };
  if (isTypeScript) languageOptions.parser = parser;
  const options = { files: ["**/*.{js,cjs,mjs,jsx,ts,cts,mts,tsx}"], plugins: { found }, languageOptions, rules: { "found/complexity": ["error", 0] },
    linterOptions: { reportUnusedDisableDirectives: "off" } };
  let messages = linter.verify(fs.readFileSync(file, "utf8"), [options], { filename: path.resolve(file), allowInlineConfig: false });
  if (messages.some((message) => message.fatal)) {
    languageOptions.sourceType = "script";
    messages = linter.verify(fs.readFileSync(file, "utf8"), [options], { filename: path.resolve(file), allowInlineConfig: false });
  }
  if (messages.some((message) => message.fatal)) {
    console.log(JSON.stringify({ path: name, error: messages.find((message) => message.fatal).message }));
    continue;
  }
  for (const message of messages) {
    const complexity = Number(/complexity of (\d+)/.exec(message.message)?.[1]);
    console.log(JSON.stringify({ path: name, name: message.message.split(" has a ")[0], line: message.line, complexity }));
  }
}
