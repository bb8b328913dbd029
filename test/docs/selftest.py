#!/usr/bin/env python3
"""Tests of the test of documents: that it finds commands, sees wrong output, and applies changes."""

import pathlib
import tempfile
import unittest

import changes
import form
import markdown
import run

DOCUMENT = """# Title

A command with output:

    $ echo one
    one

    $ echo two \\
        three
    two three

<!-- not run: needs an account -->

    $ send it

<!-- run: touch hidden -->

```cpp
$ not_a_command
```

```
$ for i in 1; do
> echo $i
> done
1
```

    meanwhile train forgotten
"""


class Documents(unittest.TestCase):
    def document(self, text):
        folder = tempfile.TemporaryDirectory(dir=markdown.ROOT / "build" if (markdown.ROOT / "build").exists() else markdown.ROOT)
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "document.md"
        path.write_text(text)
        return path

    def test_commands_are_found_with_what_is_shown(self):
        commands, complaints = markdown.commands(self.document(DOCUMENT))
        self.assertEqual([c.text for c in commands],
                         ["echo one", "echo two \\\n    three", "send it", "touch hidden", "for i in 1; do\necho $i\ndone"])
        self.assertEqual([c.shown for c in commands], [["one"], ["two three"], [], [], ["1"]])
        self.assertEqual([bool(c.not_run) for c in commands], [False, False, True, False, False])
        self.assertEqual(len(complaints), 1)  # the last one lacks its '$ '

    def test_times_are_not_compared_and_numbers_are(self):
        shown = ["objective 1.5, 3 ms of training, 2 threads, 8 shards, avx2"]
        self.assertTrue(run.fits(shown, ["objective 1.5, 1.2 s of training, 16 threads, 8 shards, sse4"], "meanwhile train"))
        self.assertFalse(run.fits(shown, ["objective 1.6, 3 ms of training, 2 threads, 8 shards, avx2"], "meanwhile train"))
        self.assertFalse(run.fits(["best: 3 ms"], ["best: 4 ms"], "meanwhile plan kmeans"))

    def test_dots_stand_for_lines_and_for_the_rest_of_one(self):
        self.assertTrue(run.fits(["a", "...", "z"], ["a", "b", "c", "z"], "x"))
        self.assertTrue(run.fits(["a b ..."], ["a b c d"], "x"))
        self.assertFalse(run.fits(["a", "..."], ["b", "c"], "x"))
        self.assertFalse(run.fits(["a"], ["a", "b"], "x"))
        self.assertFalse(run.fits(["a", "b"], ["a"], "x"))

    def test_a_wrong_document_fails(self):
        path = self.document("    $ echo one\n    two\n\n    $ false\n\n    $ echo fine\n    fine\n")
        count, _, failures = run.check(path, pathlib.Path("/bin/true"), update=False)
        self.assertEqual((count, len(failures)), (3, 2))

    def test_update_writes_what_is_real(self):
        path = self.document("    $ echo one\n    ?\n\n    $ seq 2\n    1\n    3\n")
        run.check(path, pathlib.Path("/bin/true"), update=True)
        self.assertEqual(path.read_text(), "    $ echo one\n    one\n\n    $ seq 2\n    1\n    2\n")

    def test_a_change_needs_its_lines_once(self):
        block = ["--- a/LICENSE", "+++ b/LICENSE", "@@", "-no such line in it", "+another"]
        with self.assertRaises(RuntimeError):
            changes.patched(block, "here")

    def test_broken_links_and_long_lines_are_named(self):
        path = self.document("[x](nowhere.md), [y](#no-such-place), `test/docs/nowhere.py`\n\n" + "a" * 101 + "\n")
        found = list(form.complaints_of(path, markdown.anchors))
        self.assertEqual(len(found), 4, found)


if __name__ == "__main__":
    unittest.main(verbosity=0)
