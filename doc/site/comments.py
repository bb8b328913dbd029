"""A filter for Doxygen: comments of headers, which are plain `//`, become documentation.

    comments.py FILE
"""

import re
import sys

behind = False  # the last line was a comment of its own
first = True  # nothing but the comment at the head of the file so far
for line in open(sys.argv[1], encoding="utf-8"):
    line = line.rstrip("\n")
    if first and line.startswith("//"):
        print(("/// @file\n" if not behind else "") + "/// " + line[2:].strip())
        behind = True
        continue
    if line.strip():
        first = False
    own = re.match(r"(\s*)//(?!/)\s?(.*)", line)
    trailing = re.match(r"(.*\S)\s+// (.*)", line)
    if own:
        print(f"{own[1]}/// {own[2]}")
    elif trailing and '"' not in trailing[1] and not trailing[1].startswith(("#", "}")):
        print(f"{trailing[1]}  ///< {trailing[2]}")
    else:
        print(line)
