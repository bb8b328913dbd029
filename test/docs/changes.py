"""The worked changes of documents: applies them beside the tree, and builds a program of them.

In a document, `<!-- file: PATH -->` before a code block gives a new file, and blocks of language
diff change files: '@@' begins a hunk, whose lines must be found together, once, in the file. Only
these files are compiled, without optimisation; the rest is the library of the release build.
"""

import os
import pathlib
import re
import shlex
import subprocess

import markdown


def files_of(path):
    """(path, text) of the files that a document adds, and of those that it changes."""
    found = {}
    lines = path.read_text().split("\n")
    named = None
    for index, line in enumerate(lines):
        if (marker := re.fullmatch(r"<!-- file: (\S+) -->", line)) is not None:
            named = marker[1]
        elif line.startswith("```") and line != "```" and (named or line == "```diff"):
            end = lines.index("```", index)
            block = lines[index + 1:end]
            if named:
                found[named] = "\n".join(block) + "\n"
                named = None
            else:
                found |= patched(block, f"{path.name}:{index + 1}")
    return found


def patched(block, where):
    found = {}
    name, hunks = None, []
    for line in block:
        if line.startswith("+++ b/"):
            name = line[6:]
            found[name] = (markdown.ROOT / name).read_text()
        elif line.startswith("@@"):
            hunks.append((name, []))
        elif not line.startswith("--- a/"):
            hunks[-1][1].append(line or " ")
    for name, hunk in hunks:
        old = "".join(line[1:] + "\n" for line in hunk if line[0] in " -")
        new = "".join(line[1:] + "\n" for line in hunk if line[0] in " +")
        if found[name].count(old) != 1:
            raise RuntimeError(f"{where}: {name} has these lines {found[name].count(old)} times, not once:\n{old}")
        found[name] = found[name].replace(old, new)
    return found


def build(path, folder, tree):
    """Builds the change of a document in `folder` against the build in `tree`; returns the programs
    by name: that of a file with a main, and otherwise `meanwhile`. None: the document has no change."""
    files = files_of(path)
    if not files:
        return {}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    made = subprocess.run(["ninja", "-C", str(tree), "-t", "commands", "meanwhile"], capture_output=True, text=True,
                          check=True).stdout.strip().split("\n")
    compile_line = next(line for line in made if line.endswith("meanwhile/cli/main.cc"))
    link_line = made[-1].removeprefix(": && ").removesuffix(" && :")
    # A local copy of a header that the change has hides that of the tree.
    flags = [word for word in shlex.split(compile_line) if re.match(r"-(D|std|W|f|isystem)", word) or word.startswith("/usr/include")]
    flags = [flag for flag in flags if not flag.startswith("-Werror")]
    systems = re.findall(r"-isystem (\S+)", compile_line)
    flags = [flag for flag in flags if flag != "-isystem" and flag not in systems]
    launcher = ["ccache"] if "ccache" in compile_line else []
    sources = [name for name in files if name.endswith(".cc")]
    running = []
    for name in sources:
        command = [*launcher, "g++", *flags, "-O0", f"-I{folder}", f"-I{markdown.ROOT}",
                   *(word for system in systems for word in ("-isystem", system)),
                   "-c", name, "-o", f"{name}.o"]
        running.append((name, subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)))
        if len(running) % (os.cpu_count() or 1) == 0:
            running[-1][1].wait()
    for name, process in running:
        output, _ = process.communicate()
        if process.returncode != 0 or "warning:" in output:
            raise RuntimeError(f"{path.name}: {name} does not compile, or with warnings:\n{output}")
    mains = [name for name in sources if re.search(r"^int main\(", files[name], re.MULTILINE)]
    programs = {}
    words = shlex.split(link_line)
    at = next(i for i, word in enumerate(words) if word.endswith("cli/main.cc.o"))
    for main in mains or [None]:
        name = pathlib.Path(main).stem if main else "meanwhile"
        # Objects of the change come first, and hide those of the library.
        objects = [str(folder / f"{source}.o") for source in sources]
        link = [*words[:at], *objects, *([] if main else [words[at]]), "-Wl,-z,muldefs", *words[at + 1:]]
        link[link.index("-o") + 1] = str(folder / f".{name}")
        if link[0].endswith("ccache"):
            link = link[1:]
        done = subprocess.run(link, cwd=tree, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{path.name}: the change does not link:\n{done.stderr}")
        programs[name] = folder / f".{name}"
    return programs
