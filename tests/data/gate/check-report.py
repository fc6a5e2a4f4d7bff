"""Compares the skeleton of a report on standard input with that of the specification's template.

    check-report.py TEMPLATE <REPORT

The skeleton is made of the headings, the table headers, the ids of each table's rows and the names in bold at the start of
a line. Each has to occur as often as in the template and in its order; what follows the last one of the template is free.
Placeholders of the template stand for anything. Exit code 1 with the first difference.
"""
import re
import sys

CONDITIONS = re.compile(r'\{IF (\w+)\}')


def skeleton(text):
    """kind and text of each part, in order; code blocks are left out"""
    lines, fenced = text.split('\n'), False
    for number, line in enumerate(lines):
        fenced ^= line.startswith('```')
        if fenced:
            continue
        narrow = re.sub(r' +', ' ', line).strip()
        follows = lines[number + 1] if number + 1 < len(lines) else ''
        if re.match(r'#{1,6} ', line):
            yield 'heading', narrow
        elif line.startswith('|') and re.fullmatch(r'[|\s:-]+', follows) and follows:
            yield 'table', narrow
        elif re.match(r'\| [A-Z]\d+ ', line):
            yield 'row', narrow.split(' ')[1]
        elif re.match(r'\*\*[^*]+:\*\*', line):
            yield 'label', re.match(r'\*\*[^*]+:\*\*', line)[0]


def pattern(text):
    parts = re.split(r'\{[^}]*\}', text)
    return '.+'.join(map(re.escape, parts))


def next_action(template, report):
    """the sentences of the verdict's own branch"""
    verdict = 'APPROVED' if '✅ APPROVED' in report else 'REJECTED'
    branch = re.split(CONDITIONS, template)
    wanted = branch[branch.index(verdict) + 1].strip().split('\n')
    action = report.split('## Next Action', 1)[1]
    for line in wanted:
        # One attempt is not many.
        line = pattern(line).replace('issues', 'issues?').replace('attempts', 'attempts?')
        if not re.search(rf'^{line}', action, re.MULTILINE):
            sys.exit(f'the next action has no line {line!r}')


def main():
    with open(sys.argv[1], encoding='utf-8') as file:
        template = file.read()
    report = sys.stdin.buffer.read().decode('utf-8')
    wanted, found = list(skeleton(template)), list(skeleton(report))
    for number, (kind, text) in enumerate(wanted):
        if number == len(found):
            sys.exit(f'the report ends before {kind} {text!r}')
        if found[number][0] != kind or not re.fullmatch(pattern(text), found[number][1]):
            sys.exit(f'{found[number]} is where {(kind, text)} should be')
    repeated = [part for part in found[len(wanted):] if part[0] == 'heading' and part in found[:len(wanted)]]
    if repeated:
        sys.exit(f'{repeated[0]} occurs again')
    next_action(template, report)
    print(f'{len(wanted)} parts')


main()
