#!/usr/bin/env python3
"""Rules of the tree that no compiler checks.

check_layers.py                    all rules about the text of the sources
check_layers.py --built DIR END    every source whose name ends in END is compiled in build DIR
"""
import json
import pathlib
import re
import sys

# A folder includes itself and folders of lower rank.
RANKS = {'base': 0, 'data': 1, 'transport': 2, 'storage': 2, 'exchange': 3, 'learn': 4, 'job': 5,
         'service': 6, 'plan': 7, 'report': 8,
         'cli': 9}

# What only the program does. Each is looked for in code: comments and strings are blanked before.
CLI_ONLY = {
    'prints': r'#\s*include\s*<iostream>|\bstd::(cout|cerr|clog|puts|printf|fprintf)\b'
              r'|(?<![\w:.>])(printf|fprintf|puts|putchar)\s*\(|\bfmt::print\s*\(',
    'reads the environment': r'\b(secure_)?getenv\s*\(',
    'ends the process': r'(?<![\w.>])(std::)?(exit|_exit|quick_exit|abort|terminate)\s*\(',
}
EVERYWHERE = {
    'parses with regex, sscanf or atoi': r'#\s*include\s*<regex>|\b(sscanf|atoi|atol|atoll|atof)\s*\(',
    'disables a test': r'\bDISABLED_|\bGTEST_SKIP\b',
}
LONG, TOO_LONG = 400, 600

# Comments, then strings and characters; a raw string ends at its own delimiter.
NOISE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<d>[^()\s\\]{0,16})\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"|'
    r"(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.DOTALL)
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def code_of(text):
    """The text with comments and strings blanked; line numbers stay."""
    return NOISE.sub(lambda m: re.sub(r'[^\n]', ' ', m.group()), text)


def line_of(text, position):
    return text.count('\n', 0, position) + 1


def problems_of(path, text):
    """(line, what) for everything wrong with one file; path is relative to the tree."""
    parts = pathlib.PurePath(path).parts
    code = code_of(text)
    found = []
    in_library = parts[0] == 'meanwhile' and parts[1] != 'cli'
    if parts[0] == 'meanwhile' and parts[1] not in RANKS:
        found.append((1, f'folder {parts[1]} has no rank in check_layers.py'))
    for match in INCLUDE.finditer(text):
        target = match.group(1)
        folders = pathlib.PurePath(target).parts
        line = line_of(text, match.start(1))
        if folders[0] != 'meanwhile' and not (folders[0] == parts[0] and parts[0] in ('test', 'bench')):
            found.append((line, f'includes "{target}", expected a path from the root of the tree'))
        elif parts[0] == 'meanwhile' and parts[1] in RANKS:
            mine, other = RANKS[parts[1]], RANKS.get(folders[1], 99)
            if folders[1] != parts[1] and other >= mine:
                found.append((line, f'{parts[1]} must not include {folders[1]}'))
    rules = dict(EVERYWHERE)
    if in_library:
        rules.update({f'{what} (only cli may)': rule for what, rule in CLI_ONLY.items()})
    for what, rule in rules.items():
        for match in re.finditer(rule, code):
            found.append((line_of(code, match.start()), what))
    lines = text.count('\n')
    if lines > TOO_LONG:
        found.append((lines, f'{lines} lines, the limit is {TOO_LONG}'))
    if path.endswith('.h') and '#pragma once' not in text and not path.endswith('-inl.h'):
        found.append((1, 'a header without #pragma once'))
    return found


def sources(root, end=None):
    for folder in ('meanwhile', 'test', 'bench', 'examples'):
        for path in sorted((root / folder).rglob('*')):
            if path.is_file() and path.name.endswith(end or ('.h', '.cc')):
                yield path.relative_to(root).as_posix()


def check_text(root):
    bad = 0
    for path in sources(root):
        text = (root / path).read_text(encoding='utf-8')
        for line, what in problems_of(path, text):
            print(f'{path}:{line}: {what}', file=sys.stderr)
            bad += 1
        if LONG < text.count('\n') <= TOO_LONG:
            print(f'{path}: long: {text.count(chr(10))} lines')
    return bad


def check_built(root, build, end):
    commands = json.loads((root / build / 'compile_commands.json').read_text(encoding='utf-8'))
    compiled = {pathlib.Path(command['file']).resolve() for command in commands}
    bad = count = 0
    for path in sources(root, end):
        if end == '.cc' and path.startswith(('test/fuzz/', 'examples/')):  # builds of their own
            continue
        count += 1
        if (root / path).resolve() not in compiled:
            print(f'{path}: is in no target of {build}', file=sys.stderr)
            bad += 1
    print(f'{count} files end in {end}, {count - bad} of them are built in {build}')
    return bad + (count == 0)


def main(arguments):
    root = pathlib.Path(__file__).resolve().parent.parent
    if arguments[:1] == ['--built'] and len(arguments) == 3:
        return 1 if check_built(root, arguments[1], arguments[2]) else 0
    if arguments:
        print(__doc__, file=sys.stderr)
        return 2
    return 1 if check_text(root) else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
