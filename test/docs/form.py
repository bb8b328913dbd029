#!/usr/bin/env python3
"""Checks the form of the documents: links and their anchors, files that are named, widths of lines.

    test/docs/form.py

A link within the project must lead to a file, and its anchor to a heading there. A path in
backticks with a folder and an ending of a source must exist, from the root, below meanwhile/ or
beside the document. Lines have at most 100 characters, but for tables and links; README.md has at
most 150 lines. CONTRIBUTING.md names every folder of the root, and names in
doc/a-round.md are in the files that it numbers.
"""

import re
import subprocess
import sys

import markdown

WIDTH, README_LINES = 100, 150
# Names in documents that stand for files of a reader, of a run or of an earlier version.
NOT_OURS = re.compile(r"NAME|PROFILE|^runs/|^checkpoints/|^ID/|^model/|^/|^~|\*|node_modules")
SOURCE = re.compile(r"[\w.-]+(/[\w.-]+)+\.(h|cc|py|sh|toml|md)$")


def complaints_of(path, headings):
    name = path.relative_to(markdown.ROOT)
    lines = path.read_text().split("\n")
    for index, line in enumerate(lines):
        if len(line) > WIDTH and not line.startswith("|") and "](" not in line:
            yield f"{name}:{index + 1}: {len(line)} characters, at most {WIDTH} are allowed"
    for index, line in markdown.prose(lines):
        for text, target in re.findall(r"\[([^\]]*)\]\(([^)\s]+)\)", line):
            if re.match(r"https?:", target):
                continue
            file, _, anchor = target.partition("#")
            place = path if not file else (path.parent / file).resolve()
            if not place.exists():
                yield f"{name}:{index + 1}: link to {target}: there is no such file"
            elif anchor and place.suffix == ".md" and anchor not in headings(place):
                yield f"{name}:{index + 1}: link to {target}: {place.name} has no such heading"
        for word in re.findall(r"`([^`\s]+)`", line):
            if SOURCE.match(word) and not NOT_OURS.search(word):
                if not any((base / word).exists() for base in
                           (markdown.ROOT, markdown.ROOT / "meanwhile", path.parent)):
                    yield f"{name}:{index + 1}: {word}: there is no such file"
    if name.name == "README.md" and name.parent.name == "" and len(lines) > README_LINES:
        yield f"{name}: {len(lines)} lines, at most {README_LINES} are allowed"


def complaints_of_the_round():
    """doc/a-round.md numbers files; names in what it says of a file must be in that file."""
    for line in (markdown.ROOT / "doc/a-round.md").read_text().split("\n"):
        if (row := re.match(r"\| \d+ \| \**`(\S+)`\** \| (.*) \|", line)) is None:
            continue
        source = markdown.ROOT / "meanwhile" / row[1]
        text = "".join(path.read_text() for path in (source, source.with_suffix(".h")) if path.exists())
        for name in re.findall(r"`(\w[\w:]*)(?:\(\))?`", row[2]):
            if not re.search(rf"\b{name.rpartition('::')[2]}\b", text):
                yield f"doc/a-round.md: {row[1]} does not name {name}"


def main():
    known = {}

    def headings(path):
        if path not in known:
            known[path] = markdown.anchors(path)
        return known[path]

    paths = markdown.documents()
    named = (markdown.ROOT / "CONTRIBUTING.md").read_text()
    listed = subprocess.run(["git", "ls-files"], cwd=markdown.ROOT, capture_output=True, text=True, check=True).stdout
    folders = sorted({line.split("/")[0] for line in listed.split("\n") if "/" in line})
    complaints = [f"CONTRIBUTING.md: the folder {folder}/ is not named" for folder in folders
                  if f"`{folder}/`" not in named]
    complaints += complaints_of_the_round()
    complaints += [line for path in paths for line in complaints_of(path, headings)]
    print(*complaints, sep="\n", end="\n" if complaints else "")
    print(f"form of {len(paths)} documents: {len(complaints)} complaints")
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
