#!/usr/bin/env python3
"""Gathers the pages of the site, and checks the links of what was built.

    doc/site/build.py pages PROGRAM    documents and the reference of commands to build/site/pages
    doc/site/build.py headers          a Doxyfile of the public headers to build/site/Doxyfile
    doc/site/build.py check            every link of build/site/html leads somewhere
"""

import concurrent.futures
import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES, HTML = ROOT / "build/site/pages", ROOT / "build/site/html"
# README.md becomes the first page; its links, and those to pages outside of doc/, change with it.
PLACES = {"README.md": "index.md", "CONTRIBUTING.md": "CONTRIBUTING.md", "CHANGELOG.md": "CHANGELOG.md"}


def moved(text, origin):
    """Links of a document, as they are among the pages; what has no page becomes plain text."""
    def link(match):
        words, target = match[1], match[2]
        if re.match(r"https?:|#", target):
            return match[0]
        file, mark, anchor = target.partition("#")
        path = (origin.parent / file).resolve().relative_to(ROOT)
        if str(path) in PLACES:
            return f"[{words}]({PLACES[str(path)]}{mark}{anchor})"
        if path.parts[0] == "doc":
            return f"[{words}]({path.relative_to('doc')}{mark}{anchor})"
        return words if words.startswith("`") else f"{words} (`{path}`)" if words != str(path) else f"`{path}`"
    return re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", link, text).replace("](doc/figures/", "](figures/")


def help_of(program, words):
    return subprocess.run([program, *words, "--help-all"], capture_output=True, text=True, check=True).stdout


def subcommands(text):
    names, inside = [], False
    for line in text.split("\n"):
        if line == "Subcommands:":
            inside = True
        elif inside and (match := re.match(r"  (\S+) ", line)):
            names.append(match[1])
        elif inside and not line.startswith("    "):
            break
    return names


def command_reference(program):
    """Help of all commands, and of the learners of those that have them."""
    top = help_of(program, [])
    words = []
    for command in subcommands(top):
        words.append([command])
        words += [[command, learner] for learner in subcommands(help_of(program, [command]))]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        texts = list(pool.map(lambda w: help_of(program, w), words))
    page = ["# Commands", "", "What `--help-all` prints, for every command and learner.", "",
            "```text", top.rstrip(), "```", ""]
    for name, text in zip(words, texts):
        page += [f"{'##' if len(name) == 1 else '###'} meanwhile {' '.join(name)}", "", "```text", text.rstrip(), "```", ""]
    return "\n".join(page)


def menu():
    """The settings of the site; pages that its menu does not name come last in it."""
    settings = (ROOT / "doc/site/mkdocs.yml").read_text()
    more = [path.name for path in sorted(PAGES.glob("*.md")) if not re.search(rf"[-:] {re.escape(path.name)}$", settings, re.M)]
    if more:
        settings = settings.rstrip() + "\n  - More:\n" + "".join(f"      - {name}\n" for name in more)
    for name in ("docs_dir", "site_dir"):
        settings = settings.replace(f"{name}: ../../build/site/", f"{name}: ")
    (ROOT / "build/site/mkdocs.yml").write_text(settings)


def pages(program):
    shutil.rmtree(PAGES, ignore_errors=True)
    PAGES.mkdir(parents=True)
    shutil.copytree(ROOT / "doc/figures", PAGES / "figures")
    for path in [*(ROOT / name for name in PLACES), *sorted((ROOT / "doc").glob("*.md"))]:
        name = PLACES.get(path.name, path.name) if path.parent == ROOT else path.name
        (PAGES / name).write_text(moved(path.read_text(), path))
    (PAGES / "commands.md").write_text(command_reference(program))
    (PAGES / "cpp.md").write_text(
        "# The C++ library\n\nEvery public header has its contract in its comments: what it requires, what it\n"
        "throws, which threads may use it, who owns what.\n\n"
        '<p><a href="cpp/files.html">All headers</a>, <a href="cpp/annotated.html">all classes</a>,\n'
        '<a href="cpp/namespaces.html">all namespaces</a></p>\n\n'
        "`examples/` has programs that link the library: `find_package(meanwhile)` finds it after\n"
        "`make install`.\n")
    menu()
    print(f"{len(list(PAGES.glob('*.md')))} pages")


def headers():
    listed = [line for line in (ROOT / "cmake/public_headers.txt").read_text().split("\n") if line and line[0] != "#"]
    settings = (ROOT / "doc/site/Doxyfile").read_text() + "INPUT = " + " ".join(listed) + "\n"
    (ROOT / "build/site/Doxyfile").write_text(settings)


class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.names = [], set()

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value and tag in ("a", "img", "link", "script"):
                self.links.append(value)
            if name in ("id", "name") and value:
                self.names.add(value)


def check():
    parsed = {}
    for path in HTML.rglob("*.html"):
        parsed[path] = Links()
        parsed[path].feed(path.read_text(encoding="utf-8"))
    broken, links = [], 0
    for path, page in parsed.items():
        for target in page.links:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme or parts.netloc or path.name == "404.html":
                continue
            links += 1
            file = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            if file.is_dir():
                file /= "index.html"
            if not file.exists():
                broken.append(f"{path.relative_to(HTML)}: {target}")
            elif parts.fragment and file in parsed and parts.fragment not in parsed[file].names and "cpp" not in file.parts:
                broken.append(f"{path.relative_to(HTML)}: {target}: no such place")
    print(*broken, sep="\n", end="\n" if broken else "")
    print(f"{links} links of {len(parsed)} pages, {len(broken)} broken")
    sys.exit(1 if broken or not links else 0)


if __name__ == "__main__":
    {"pages": lambda: pages(sys.argv[2]), "headers": headers, "check": check}[sys.argv[1]]()
