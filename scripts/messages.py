#!/usr/bin/env python3
"""Lists every text of the library and the program that a person may read: messages, help, report lines.

messages.py           prints the listing
messages.py --write   writes it to test/messages.txt
messages.py --check   compares it with test/messages.txt; exit 1 where they differ

A change of wording is thus seen in review, and the whole can be read at once.
"""
import difflib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LISTING = ROOT / 'test/messages.txt'
# Comments and character literals are matched to be passed over; raw strings hold scripts and styles.
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"((?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\\n]|\\.)\'', re.DOTALL)
LEAST_WORDS = 3


def literals(text):
    """String literals in order; those that only blanks part are one."""
    found, end = [], None
    for token in TOKEN.finditer(text):
        if token[2] is None:
            continue
        line = text[text.rfind('\n', 0, token.start()) + 1:token.start()]
        if line.lstrip().startswith('#'):
            continue
        if found and end is not None and not text[end:token.start()].strip():
            found[-1] += token[2]
        else:
            found.append(token[2])
        end = token.end()
    return found


def listing():
    lines = []
    for path in sorted(p for end in ('*.h', '*.cc') for p in (ROOT / 'meanwhile').rglob(end)):
        texts = [text for text in literals(path.read_text(encoding='utf-8'))
                 if len(text.split()) >= LEAST_WORDS and re.search('[a-z]{2}', text)]
        if texts:
            lines += ['', f'## {path.relative_to(ROOT / "meanwhile").as_posix()}', *texts]
    return '\n'.join(lines[1:]) + '\n'


def main(arguments):
    text = listing()
    if arguments == ['--write']:
        LISTING.write_text(text, encoding='utf-8')
    elif arguments == ['--check']:
        before = LISTING.read_text(encoding='utf-8')
        if before != text:
            sys.stderr.writelines(difflib.unified_diff(before.splitlines(True), text.splitlines(True),
                                                       'test/messages.txt', 'the sources', n=0))
            print('texts have changed: read them, then run scripts/messages.py --write', file=sys.stderr)
            return 1
    elif arguments:
        print(__doc__, file=sys.stderr)
        return 2
    else:
        sys.stdout.write(text)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
