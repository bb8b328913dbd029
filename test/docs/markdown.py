"""Documents as the tests of documents see them: code blocks, commands with their shown output, links."""

import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Code of these languages has no commands for a shell.
OTHER_LANGUAGES = {"cpp", "python", "json", "toml", "diff", "yaml", "text"}


def documents():
    """All documents, in the order in which they are tested."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "demo" / "README.md",
            *sorted((ROOT / "doc").glob("*.md"))]


@dataclasses.dataclass
class Command:
    line: int  # of the document, from 1
    text: str
    shown: list = dataclasses.field(default_factory=list)  # lines of output, without indentation
    first: int = 0  # index of the first shown line among the lines of the document
    last: int = 0  # index behind the last one
    indent: str = ""
    not_run: str = ""  # why it is not run; empty: it is
    hidden: bool = False  # <!-- run: COMMAND -->


@dataclasses.dataclass
class Block:
    lines: list  # (index, text without the indentation of the block)
    language: str
    indent: str
    not_run: str


def blocks(lines):
    """Code blocks, and hidden commands, in order."""
    found = []
    not_run = ""
    fence = None
    for index, line in enumerate(lines):
        if fence is not None:
            if line.strip() == "```":
                found.append(fence)
                fence = None
            else:
                fence.lines.append((index, line))
        elif line.startswith("```"):
            fence = Block([], line[3:].strip().split(" ")[0], "", not_run)
            not_run = ""
        elif (marker := re.fullmatch(r"<!-- (run|not run): (.*) -->", line)) is not None:
            if marker[1] == "run":
                found.append(Command(index + 1, marker[2], first=index + 1, last=index + 1, hidden=True))
            else:
                not_run = marker[2]
        elif line.startswith("    ") and line.strip():
            previous = found[-1] if found and isinstance(found[-1], Block) else None
            if previous is not None and previous.indent and all(
                    not text.strip() for text in lines[previous.lines[-1][0] + 1:index]):
                for gap in range(previous.lines[-1][0] + 1, index):
                    previous.lines.append((gap, ""))
                previous.lines.append((index, line[4:]))
            elif index == 0 or not lines[index - 1].strip() or lines[index - 1].startswith("<!--"):
                found.append(Block([(index, line[4:])], "", "    ", not_run))
                not_run = ""
    return found


def commands(path):
    """The commands of a document, and complaints about lines that look like commands and are none."""
    lines = path.read_text().split("\n")
    found, complaints = [], []
    for block in blocks(lines):
        if isinstance(block, Command):
            found.append(block)
            continue
        if block.language in OTHER_LANGUAGES:
            continue
        current = None
        continued = False
        for index, text in block.lines:
            if continued:
                current.text += "\n" + text
                continued = text.endswith("\\")
                current.first = current.last = index + 1
            elif text.startswith("> ") and current is not None and not current.shown:
                current.text += "\n" + text[2:]
                current.first = current.last = index + 1
            elif text.startswith("$ "):
                current = Command(index + 1, text[2:], indent=block.indent, not_run=block.not_run,
                                  first=index + 1, last=index + 1)
                continued = text.endswith("\\")
                found.append(current)
            elif re.match(r"(meanwhile|mpirun|make|scripts/\S+) ", text) and not (current and current.shown):
                complaints.append(f"{path.relative_to(ROOT)}:{index + 1}: a command without '$ ' before it")
            elif current is not None:
                current.shown.append(text)
                if text.strip():
                    current.last = index + 1
        for command in found:
            while command.shown and not command.shown[-1].strip():
                command.shown.pop()
    return found, complaints


def prose(lines):
    """(index, line) outside of code blocks."""
    in_code = {index for block in blocks(lines) if isinstance(block, Block) for index, _ in block.lines}
    return [(index, line) for index, line in enumerate(lines)
            if index not in in_code and not line.startswith("```")]


def anchors(path):
    """What links can point to in a document: headings, as hosts of code make them."""
    found = set()
    for _, line in prose(path.read_text().split("\n")):
        if (heading := re.match(r"#+ +(.*)", line)) is not None:
            text = re.sub(r"[^\w\- ]", "", heading[1].lower()).strip().replace(" ", "-")
            name, n = text, 0
            while name in found:
                n += 1
                name = f"{text}-{n}"
            found.add(name)
    return found
