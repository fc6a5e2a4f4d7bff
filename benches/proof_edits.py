"""Edits of sources, drawn by a seed: classic mutations that break something, and changes beside a fix that mean nothing.

Nothing is chosen by its result, but that a mutation has to make the check fail: the first one in the seeded order that does is taken.
"""
import ast
import io
import keyword
import random
import re
import tokenize

SUFFIX = {'pypi': '.py', 'npm': '.js', 'crate': '.rs'}
COMMENT = {'pypi': '#', 'npm': '//', 'crate': '//'}
FUNCTION = {'pypi': re.compile(r'^(def|class) \w'), 'npm': re.compile(r'^(var|function|module\.exports|exports)\b.*'), 'crate': re.compile(r'^(pub |fn |impl )')}
# Name, pattern, replacement: of operators, constants and results.
OPERATORS = [
    ('+ to -', re.compile(r'(?<=[\w)\]] )\+(?= [\w(])'), '-'),
    ('- to +', re.compile(r'(?<=[\w)\]] )-(?= [\w(])'), '+'),
    ('* to /', re.compile(r'(?<=[\w)\]] )\*(?= [\w(])'), '/'),
    ('< to <=', re.compile(r'(?<=[\w)\]] )<(?= [\w(-])'), '<='),
    ('> to >=', re.compile(r'(?<=[\w)\]] )>(?= [\w(-])'), '>='),
    ('<= to <', re.compile(r'(?<= )<=(?= )'), '<'),
    ('>= to >', re.compile(r'(?<= )>=(?= )'), '>'),
    ('== to !=', re.compile(r'(?<= )={2,3}(?= )'), '!='),
    ('!= to ==', re.compile(r'(?<= )!={1,2}(?= )'), '=='),
    ('and to or', re.compile(r'(?<= )(and|&&)(?= )'), {'and': 'or', '&&': '||'}),
    ('or to and', re.compile(r'(?<= )(or|\|\|)(?= )'), {'or': 'and', '||': '&&'}),
    ('true to false', re.compile(r'\b(True|true)\b'), {'True': 'False', 'true': 'false'}),
    ('false to true', re.compile(r'\b(False|false)\b'), {'False': 'True', 'false': 'true'}),
    ('not removed', re.compile(r'\b(if not |if \(!)'), {'if not ': 'if ', 'if (!': 'if ('}),
    ('0 to 1', re.compile(r'(?<![\w.\'"])0(?![\w.\'"])'), '1'),
    ('1 to 2', re.compile(r'(?<![\w.\'"])1(?![\w.\'"])'), '2'),
]
QUOTED = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|`[^`]*`|//.*|(?<!\w)#[^\[!].*')


def sources(project, is_test):
    """the files that may be edited, in their order"""
    left_out = ('setup.py', 'docs/', 'dist/', 'benches/', 'example', 'build.rs', 'bench')
    wanted = lambda path: path.endswith(SUFFIX[project.kind]) and not is_test(path) and not path.startswith(left_out)
    return sorted(filter(wanted, project.files()))


def code_lines(kind, text):
    """the numbers of the lines that are code"""
    lines = text.split('\n')
    if kind == 'pypi':
        inside = set()
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.STRING and token.end[0] > token.start[0]:
                inside.update(range(token.start[0] - 1, token.end[0]))
        return [at for at in range(len(lines)) if at not in inside]
    # A unit test of a crate is in its own source.
    end = next((at for at, line in enumerate(lines) if line.startswith('#[cfg(test)]')), len(lines))
    is_comment = lambda line: line.lstrip().startswith(('//', '*', '/*', '#['))
    return [at for at in range(end) if not is_comment(lines[at])]


def mutations(project, paths, seed):
    """every mutation as (path, line from 1, name, text of the file), in a seeded order"""
    found = []
    for path in paths:
        text = project.read(path)
        lines = text.split('\n')
        for at in code_lines(project.kind, text):
            blank = QUOTED.sub(lambda match: '\0' * len(match[0]), lines[at])
            for name, pattern, replacement in OPERATORS:
                for match in pattern.finditer(blank):
                    new = replacement if isinstance(replacement, str) else replacement[match[0]]
                    line = lines[at][:match.start()] + new + lines[at][match.end():]
                    found.append((path, at + 1, name, '\n'.join([*lines[:at], line, *lines[at + 1:]])))
    random.Random(seed).shuffle(found)
    return found


def distract(project, paths, seed):
    """comments, blank lines, a note and, in Python, a renamed variable; what was done"""
    draw = random.Random(seed)
    places = []
    for path in paths:
        lines = project.read(path).split('\n')
        places += [(path, at) for at in code_lines(project.kind, project.read(path)) if at and FUNCTION[project.kind].match(lines[at]) and not lines[at - 1].strip()]
    # From the end, so that the numbers stay right.
    for number, (path, at) in enumerate(sorted(draw.sample(places, min(4, len(places))), reverse=True)):
        lines = project.read(path).split('\n')
        lines.insert(at, f'{COMMENT[project.kind]} Reviewed, part {number + 1}.' if number % 2 == 0 else '')
        project.write(path, '\n'.join(lines))
    project.write('NOTES.md', '# Notes\n\nThe sources were reviewed.\n')
    renamed = project.kind == 'pypi' and rename_variable(project, paths, draw)
    return min(4, len(places)) + 1, renamed or None


def rename_variable(project, paths, draw):
    """another name for a local variable of one function; its names, or None"""
    candidates = [(path, *found) for path in paths for found in local_variables(project.read(path))]
    if not candidates:
        return None
    path, name, places = draw.choice(candidates)
    lines = project.read(path).split('\n')
    for line, column in sorted(places, reverse=True):
        # Columns count bytes.
        text = lines[line - 1].encode()
        assert text[column:column + len(name)].decode() == name
        lines[line - 1] = (text[:column] + f'{name}_value'.encode() + text[column + len(name):]).decode()
    project.write(path, '\n'.join(lines))
    return f'{name} to {name}_value'


def local_variables(text):
    """names that one function alone assigns and uses, at least twice, with their places"""
    tree, found = ast.parse(text), []
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        inner = [node for node in ast.walk(function) if node is not function]
        if any(isinstance(node, (ast.FunctionDef, ast.Lambda, ast.Global, ast.Nonlocal, ast.ClassDef, ast.ListComp, ast.GeneratorExp, ast.JoinedStr)) for node in inner):
            continue
        # `locals`, keyword arguments and exceptions have their names elsewhere.
        names = [node for node in inner if isinstance(node, ast.Name)]
        taken = {node.arg for node in inner if isinstance(node, (ast.arg, ast.keyword))} | {node.name for node in inner if isinstance(node, ast.ExceptHandler)}
        if 'locals' in {node.id for node in names} or any(isinstance(node, (ast.Import, ast.ImportFrom)) for node in inner):
            continue
        for name in sorted({node.id for node in names if isinstance(node.ctx, ast.Store)} - taken):
            places = [(node.lineno, node.col_offset) for node in names if node.id == name]
            if len({line for line, _ in places}) >= 2 and not keyword.iskeyword(name):
                found.append((name, places))
    return found
