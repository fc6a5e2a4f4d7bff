"""Reads the status block on standard input by the words of the specification, strictly.

    check-block.py SPECIFICATION [STATUS...] <BLOCK

SPECIFICATION is the block of the specification with its placeholders; further words are values of STATUS that are admitted
beside its own. Every line must be there, in order, with its indentation, and nothing else. Prints the values as JSON; exit
code 1 with the first line that differs.
"""
import json
import re
import sys

PLACEHOLDERS = {
    '{ISO-8601}': r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ',
    '{integer}': r'0|[1-9]\d*',
    '{calculated}': r'\d|[1-9]\d|100',
    '{single line}': r'[^\x00-\x1f\x7f]{1,300}',
}


def value_pattern(placeholder, key, further):
    if placeholder in PLACEHOLDERS:
        return PLACEHOLDERS[placeholder]
    words = re.fullmatch(r'\{(.+\|.+)\}', placeholder)
    if words:
        admitted = words[1].split('|') + (further if key == 'STATUS' else [])
        return '|'.join(map(re.escape, admitted))
    # The specification's own figure is an example of a count; its words are themselves.
    return r'\d+' if placeholder.isdigit() else re.escape(placeholder)


def main():
    with open(sys.argv[1], encoding='utf-8') as file:
        wanted = [line.rstrip('\n') for line in file]
    block = sys.stdin.buffer.read().decode('utf-8')
    if not block.endswith('\n'):
        sys.exit('the last line has no end')
    found = block[:-1].split('\n')
    values = {}
    for number, (model, line) in enumerate(zip(wanted, found), 1):
        model = re.sub(r'\s+#.*$', '', model)
        key = re.fullmatch(r'(\s*)(\w+):(?: (.+))?', model)
        if key is None or key[3] is None:
            if line != model:
                sys.exit(f'line {number} is {line!r}, not {model!r}')
            continue
        pattern = f'{key[1]}{key[2]}: ({value_pattern(key[3], key[2], sys.argv[2:])})'
        value = re.fullmatch(pattern, line)
        if value is None or line != line.rstrip():
            sys.exit(f'line {number} is {line!r}, not {model!r}')
        values[key[2]] = value[1]
    if len(found) != len(wanted):
        sys.exit(f'{len(found)} lines, not {len(wanted)}')
    print(json.dumps(values))


main()
