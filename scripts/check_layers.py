#!/usr/bin/env python3
"""Rules of the tree that no compiler checks.

check_layers.py                    all rules about the text of the sources
check_layers.py --built DIR END    every source whose name ends in END is compiled in build DIR
"""
import json
import pathlib
import re
import subprocess
import sys

# A folder includes itself and folders before it in this list. Below a folder of the list, a folder may
# also include the folders above it on its path, and a source (not a header) may include folders below
# its own: learn/registry.cc names every learner, and no learner names the registry.
ORDER = ['base', 'data', 'data/table', 'data/text', 'data/files', 'graph', 'transport', 'storage', 'storage/azure', 'exchange', 'tables',
         'measures', 'learn', 'job', 'tune', 'runtime', 'runtime/storage', 'plan', 'plan/simulate', 'report', 'exports',
         'cli/output', 'cli/flags', 'cli/commands', 'cli', 'python']
# Neighbours in the list that know nothing of each other.
APART = {('storage', 'transport'), ('storage/azure', 'transport')}


def folder_of(parts):
    """The longest folder of ORDER that holds the path below meanwhile/, or None."""
    for size in (2, 1):
        folder = '/'.join(parts[:size])
        if len(parts) > size and folder in ORDER:
            return folder
    return None


def may_include(parts, target):
    """Whether the file at `parts` may include the header at `target`; both below meanwhile/."""
    mine, other = folder_of(parts), folder_of(target)
    if other is None or mine is None:
        return False
    own, below = parts[:-1], target[:-1]
    if own == below or own[:len(below)] == below:
        return True
    if below[:len(own)] == own:
        return parts[-1].endswith('.cc')
    return ORDER.index(other) < ORDER.index(mine) and (mine, other) not in APART


# Acts of the program alone. Each is looked for in code: comments and strings are blanked before.
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
# Acts of these files of the product alone: others go through them.
OWNED = {
    'parses JSON without limits (base/json.h has parse_json)':
        (r'\b[Jj]son::(parse|accept|sax_parse|from_\w+)\s*\(',
         ('meanwhile/base/json.cc', 'meanwhile/data/safetensors.cc')),
    'parses a number by a function whose error says nothing (use from_chars)':
        (r'\bstd::sto(i|l|ll|ul|ull|f|d|ld)\s*\(', ()),
}
MOST_LINES = 400
# clang-format leaves comments as they are, since it breaks tables.
WIDEST_COMMENT = 100
# The rule for titles of commits holds after this one.
FIRST_COMMIT, LONGEST_TITLE = '10602c7', 72

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
    if parts[0] == 'meanwhile' and folder_of(parts[1:]) is None:
        found.append((1, f'folder {"/".join(parts[1:-1])} is not in the ORDER of check_layers.py'))
    for match in INCLUDE.finditer(text):
        target = match.group(1)
        folders = pathlib.PurePath(target).parts
        line = line_of(text, match.start(1))
        if folders[0] != 'meanwhile' and not (folders[0] == parts[0] and parts[0] in ('test', 'bench')):
            found.append((line, f'includes "{target}", expected a path from the root of the tree'))
        elif parts[0] == 'meanwhile' and folder_of(parts[1:]) and not may_include(parts[1:], folders[1:]):
            found.append((line, f'{"/".join(parts[1:-1])} must not include {"/".join(folders[1:-1])}'))
    rules = dict(EVERYWHERE)
    if in_library:
        rules.update({f'{what} (only cli may)': rule for what, rule in CLI_ONLY.items()})
    for what, (rule, owners) in OWNED.items():
        if parts[0] == 'meanwhile' and path not in owners:
            rules[what] = rule
    for what, rule in rules.items():
        for match in re.finditer(rule, code):
            found.append((line_of(code, match.start()), what))
    lines = text.count('\n')
    if lines > MOST_LINES:
        found.append((lines, f'{lines} lines, the limit is {MOST_LINES}'))
    for number, line in enumerate(text.split('\n'), 1):
        if line.lstrip().startswith('//') and len(line) > WIDEST_COMMENT:
            found.append((number, f'a comment of {len(line)} columns, the limit is {WIDEST_COMMENT}'))
    if path.endswith('.h') and '#pragma once' not in text and not path.endswith('-inl.h'):
        found.append((1, 'a header without #pragma once'))
    return found


# Declarations of an unnamed namespace, at the left edge as clang-format has them.
LOCAL_NAME = re.compile(
    r'^(?:(?:struct|class|enum class|enum)\s+(?P<type>\w+)(?=[^;()]*\{)'
    r'|using\s+(?P<alias>\w+)\s*=(?P<value>[^;]*)'
    r'|(?:const|constexpr)\s[\w:<>, ]*?\b(?P<constant>k[A-Z]\w*)\s*[={\[]'
    r'|\w[\w:<>,*& ]*[ *&](?P<function>\w+)\((?P<parameters>[^;{}]*?)\)(?: const| noexcept)*\s*\{)',
    re.MULTILINE)
# Its end carries a comment, which is blank by then.
UNNAMED = re.compile(r'^namespace \{$(.*?)^\} {2,}$', re.MULTILINE | re.DOTALL)


def local_names(text):
    """(line, name, value) of what a source declares for itself: using-declarations and, in unnamed
    namespaces, types, aliases, constants, and functions with the types of their parameters, since
    overloads differ. `value` is what an alias stands for."""
    code = code_of(text)
    for match in re.finditer(r'^using (?!namespace)([\w:]+::(\w+));', code, re.MULTILINE):
        yield line_of(code, match.start()), match[2], match[1]
    for space in UNNAMED.finditer(code):
        for match in LOCAL_NAME.finditer(code, space.start(1), space.end(1)):
            name = match['type'] or match['alias'] or match['constant']
            if match['function']:
                types = [re.sub(r'\s*\b\w+\s*(=.*)?$', '', parameter.strip())
                         for parameter in match['parameters'].split(',')]
                name = f'{match["function"]}({", ".join(types)})'
            yield line_of(code, match.start()), name, match['value']


def entries(file):
    """The lines of a list in cmake/, without its comments."""
    return [line for line in file.read_text(encoding='utf-8').split('\n')
            if line and not line.startswith('#')]


def public_problems(public, texts):
    """What is wrong with the list of public headers; `texts`: path -> text of every header."""
    found = [f'{path}: is listed, but there is no such header' for path in public if path not in texts]
    found += [f'{path}: is listed twice' for path in sorted(set(public)) if public.count(path) > 1]
    for path in public:
        found += [f'{path}: a public header includes {target}, which is not one'
                  for target in INCLUDE.findall(texts.get(path, '')) if target not in public]
    return found


def check_public(root):
    texts = {path: (root / path).read_text(encoding='utf-8') for path in sources(root, '.h')}
    public = entries(root / 'cmake/public_headers.txt')
    found = public_problems(public, texts)
    # A program that uses the library shows what is missing.
    for path in sources(root, '.cc'):
        if path.startswith('examples/'):
            text = (root / path).read_text(encoding='utf-8')
            found += [f'{path}: an example includes {target}, which is not installed'
                      for target in INCLUDE.findall(text) if target not in public]
    for problem in found:
        print(f'{problem} (cmake/public_headers.txt)', file=sys.stderr)
    return len(found)


# Names of the headers that units and precompiled headers bring along, so that no compiler misses an
# include of theirs.
OWNERS = {
    'CLI/CLI.hpp': r'\bCLI::',
    'algorithm': r'\bstd::(sort|stable_sort|nth_element|find_if|max_element|min_element|clamp|copy|fill'
                 r'|lower_bound|upper_bound|all_of|any_of|reverse|transform)\s*[(<]',
    'filesystem': r'\bstd::filesystem\b',
    'fmt/': r'\bfmt::',
    'functional': r'\bstd::function\b',
    'map': r'\bstd::(multi)?map\s*<',
    'memory': r'\bstd::(unique_ptr|make_unique|shared_ptr|make_shared)\b',
    'nlohmann/json': r'\bnlohmann::|\bbase::Json\b',
    'string': r'\bstd::(string|to_string)\b',
    'variant': r'\bstd::(variant|visit)\b',
    'vector': r'\bstd::vector\b',
}
ANY_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def missing_includes(texts):
    """(path, line, header) for names whose header a file does not include, directly or through headers of
    `texts` (path -> text). Highway's -inl.h are parts of their sources."""
    reached = {}

    def reach(path):
        if path not in reached:
            reached[path] = found = set()
            for target in ANY_INCLUDE.findall(texts[path]):
                found.add(target)
                if target in texts:
                    found |= reach(target)
        return reached[path]

    for path, text in texts.items():
        if path.endswith('-inl.h'):
            continue
        code = code_of(text)
        for header, rule in OWNERS.items():
            match = re.search(rule, code)
            if not match or any(target == header or ('/' in header and target.startswith(header))
                                for target in reach(path)):
                continue
            if header == 'CLI/CLI.hpp' and path.endswith('.h'):  # headers declare what they name
                continue
            yield path, line_of(code, match.start()), header


def check_includes(root):
    texts = {path: (root / path).read_text(encoding='utf-8')
             for path in sources(root) if path.startswith('meanwhile/')}
    bad = 0
    for path, line, header in missing_includes(texts):
        print(f'{path}:{line}: uses names of <{header}>, which it does not include', file=sys.stderr)
        bad += 1
    return bad


# Folders whose sources may share a unit; as in cmake/units.cmake.
UNIT_FOLDER = re.compile(r'meanwhile/(learn/[^/]+/|storage/azure/|[^/]+/)')


def check_units(root):
    """Sources below one folder may share a unit (cmake/units.cmake), and so their local names."""
    alone = entries(root / 'cmake/alone.txt')
    seen, bad = {}, 0
    for entry in alone:
        if not (root / entry).exists():
            print(f'cmake/alone.txt: there is no {entry}', file=sys.stderr)
            bad += 1
    # A type of a header hides behind a local one of another source.
    for path in sources(root, '.h'):
        if path.startswith('meanwhile/'):
            folder = UNIT_FOLDER.match(path)[0]
            for match in re.finditer(r'^(?:class|struct|enum class) (\w+)[^;(]*\{',
                                     code_of((root / path).read_text(encoding='utf-8')), re.MULTILINE):
                seen.setdefault((folder, match[1]), (path, None))
    for path in sources(root, '.cc'):
        if not path.startswith('meanwhile/') or path.startswith(tuple(alone)):
            continue
        for line, name, value in local_names((root / path).read_text(encoding='utf-8')):
            folder = UNIT_FOLDER.match(path)[0]
            first, meant = seen.setdefault((folder, name), (path, value))
            if first != path and (value is None or value != meant):
                print(f'{path}:{line}: {name} is a local name of {first}, too: they may share a unit',
                      file=sys.stderr)
                bad += 1
    return bad


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
    for path in [*sources(root, ('.py', '.sh')), *sorted((root / 'scripts').glob('*.*'))]:
        lines = (root / path).read_text(encoding='utf-8').count('\n')
        if lines > MOST_LINES:
            print(f'{path}: {lines} lines, the limit is {MOST_LINES}', file=sys.stderr)
            bad += 1
    return bad


# A comment begins with the noun it speaks of (CONTRIBUTING.md, "Style").
PRONOUN = re.compile(r'^(.*?)(?://+|#) (Of|Who|What|Whoever|Somebody|Whose)\b')


def pronoun_comments(text, mark):
    """Comments that begin with a pronoun, or with "Of": (line, word). A line that goes on is none."""
    before = ''
    for number, line in enumerate(text.split('\n'), 1):
        match = PRONOUN.match(line)
        goes_on = before.startswith(mark) and not before.endswith(('.', ':', mark))
        if match and not set(match[1]) & set('"\'`') and (match[1].strip() or not goes_on):
            yield number, match[2]
        before = line.strip()


def check_comments(root):
    bad = 0
    for path in [*sources(root, ('.h', '.cc', '.py', '.sh')),
                 *(file.relative_to(root).as_posix() for file in sorted((root / 'scripts').glob('*.*')))]:
        mark = '//' if path.endswith(('.h', '.cc')) else '#'
        for line, word in pronoun_comments((root / path).read_text(encoding='utf-8'), mark):
            print(f'{path}:{line}: a comment begins with "{word}"; name the thing it speaks of', file=sys.stderr)
            bad += 1
    return bad


def check_built(root, build, end):
    commands = json.loads((root / build / 'compile_commands.json').read_text(encoding='utf-8'))
    compiled = set()
    for command in commands:
        file = pathlib.Path(command['file']).resolve()
        compiled.add(file)
        if file.parent.name == 'units':  # made by cmake/units.cmake: only includes
            compiled.update((root / source).resolve() for source in INCLUDE.findall(file.read_text()))
    bad = count = 0
    for path in sources(root, end):
        if end == '.cc' and path.startswith(('test/fuzz/', 'examples/', 'meanwhile/python/')):  # builds of their own
            continue
        count += 1
        if (root / path).resolve() not in compiled:
            print(f'{path}: is in no target of {build}', file=sys.stderr)
            bad += 1
    print(f'{count} files end in {end}, {count - bad} of them are built in {build}')
    return bad + (count == 0)


def check_named_files(root):
    """Files that the walk through a round names are there."""
    bad = 0
    for name in re.findall(r'`([a-z0-9_/]+\.(?:cc|h))`', (root / 'doc/a-round.md').read_text(encoding='utf-8')):
        if not (root / 'meanwhile' / name).is_file():
            print(f'doc/a-round.md: there is no meanwhile/{name}', file=sys.stderr)
            bad += 1
    return bad


def long_titles(log):
    """Lines "HASH TITLE" of a log whose title is too long."""
    return [line for line in log.splitlines() if len(line.partition(' ')[2]) > LONGEST_TITLE]


def check_titles(root):
    """Titles of commits, where the history is at hand: an archive or a shallow clone has none."""
    git = subprocess.run(['git', 'log', '--format=%h %s', f'{FIRST_COMMIT}..HEAD'], cwd=root,
                         capture_output=True, text=True, check=False)
    found = long_titles(git.stdout) if git.returncode == 0 else []
    for line in found:
        print(f'commit {line}: the title has more than {LONGEST_TITLE} characters', file=sys.stderr)
    return len(found)


def main(arguments):
    root = pathlib.Path(__file__).resolve().parent.parent
    if arguments[:1] == ['--built'] and len(arguments) == 3:
        return 1 if check_built(root, arguments[1], arguments[2]) else 0
    if arguments:
        print(__doc__, file=sys.stderr)
        return 2
    checks = (check_text, check_comments, check_includes, check_units, check_public, check_named_files, check_titles)
    return 1 if sum(check(root) for check in checks) else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
