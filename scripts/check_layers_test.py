#!/usr/bin/env python3
"""The rules of check_layers.py find what they are for, and nothing else."""
import unittest

from check_layers import (local_names, long_titles, missing_includes, problems_of, pronoun_comments,
                          public_problems)


def whats(path, text):
    return [what for _, what in problems_of(path, text)]


class CheckTree(unittest.TestCase):
    def test_layers(self):
        up = '#include "meanwhile/learn/learner.h"\n'
        self.assertEqual(whats('meanwhile/data/a.cc', up), ['data must not include learn'])
        self.assertEqual(whats('meanwhile/job/a.cc', up), [])
        self.assertEqual(whats('meanwhile/learn/kmeans/a.cc', up), [])
        self.assertEqual(whats('meanwhile/storage/a.cc', '#include "meanwhile/transport/a.h"\n'),
                         ['storage must not include transport'])
        self.assertEqual(whats('meanwhile/cli/a.cc', '#include "a.h"\n'),
                         ['includes "a.h", expected a path from the root of the tree'])
        self.assertEqual(whats('meanwhile/new/a.cc', ''),
                         ['folder new is not in the ORDER of check_layers.py'])

    def test_folders_below_folders(self):
        learner = '#include "meanwhile/learn/kmeans/kmeans.h"\n'
        self.assertEqual(whats('meanwhile/learn/registry.cc', learner), [])
        self.assertEqual(whats('meanwhile/learn/registry.h', '#pragma once\n' + learner),
                         ['learn must not include learn/kmeans'])
        self.assertEqual(whats('meanwhile/data/text/a.cc', '#include "meanwhile/data/files/a.h"\n'),
                         ['data/text must not include data/files'])
        self.assertEqual(whats('meanwhile/data/files/a.cc', '#include "meanwhile/data/text/a.h"\n'), [])
        self.assertEqual(whats('meanwhile/cli/flags/a.cc', '#include "meanwhile/cli/a.h"\n'), [])

    def test_the_line_is_said(self):
        self.assertEqual(problems_of('meanwhile/data/a.cc', '\n\n#include <iostream>\n'),
                         [(3, 'prints (only cli may)')])

    def test_the_library_is_silent(self):
        for text in ('std::cout << 1;', 'printf("x");', 'std::fprintf(f, "x");', 'fmt::print("x");',
                     '#include <iostream>'):
            self.assertEqual(whats('meanwhile/data/a.cc', text), ['prints (only cli may)'], text)
            self.assertEqual(whats('meanwhile/cli/a.cc', text), [], text)
        self.assertEqual(whats('meanwhile/data/a.cc', 'std::getenv("HOME");'),
                         ['reads the environment (only cli may)'])
        self.assertEqual(whats('meanwhile/data/a.cc', 'std::exit(1);'),
                         ['ends the process (only cli may)'])

    def test_comments_and_strings_are_no_code(self):
        for text in ('// printf("x")\n', '/* getenv("x")\n exit(1) */\n', 'throw "exit(1)";\n',
                     'auto s = R"(printf("x"))";\n', "const int n = 1'000'000; // don't exit(1)\n"):
            self.assertEqual(whats('meanwhile/data/a.cc', text), [], text)
        self.assertEqual(whats('meanwhile/data/a.cc', "const int n = 1'000'000; exit('x');"),
                         ['ends the process (only cli may)'])

    def test_everywhere(self):
        self.assertEqual(whats('test/a_test.cc', 'TEST(A, DISABLED_B) {}'), ['disables a test'])
        self.assertEqual(whats('meanwhile/cli/a.cc', 'atoi(x);'), ['parses with regex, sscanf or atoi'])
        self.assertEqual(whats('meanwhile/data/a.h', ''), ['a header without #pragma once'])
        self.assertEqual(whats('meanwhile/data/a.cc', '\n' * 401), ['401 lines, the limit is 400'])

    def test_json_has_one_parser(self):
        rule = 'parses JSON without limits (base/json.h has parse_json)'
        for text in ('Json::parse(text);', 'nlohmann::json::parse(text, nullptr, false);',
                     'base::Json::from_cbor(bytes);'):
            self.assertEqual(whats('meanwhile/job/a.cc', text), [rule], text)
            self.assertEqual(whats('meanwhile/base/json.cc', text), [], text)
            self.assertEqual(whats('test/job/a_test.cc', text), [], text)
        self.assertEqual(whats('meanwhile/job/a.cc', 'base::parse_json(text, name);'), [])
        self.assertEqual(whats('meanwhile/job/a.cc', 'std::stod(text);'),
                         ['parses a number by a function whose error says nothing (use from_chars)'])

    def test_public_headers(self):
        texts = {'meanwhile/a.h': '#include "meanwhile/b.h"\n', 'meanwhile/b.h': '', 'meanwhile/c.h': ''}
        self.assertEqual(public_problems(['meanwhile/a.h', 'meanwhile/b.h'], texts), [])
        self.assertEqual(public_problems(['meanwhile/a.h'], texts),
                         ['meanwhile/a.h: a public header includes meanwhile/b.h, which is not one'])
        self.assertEqual(public_problems(['meanwhile/d.h'], texts),
                         ['meanwhile/d.h: is listed, but there is no such header'])

    def test_includes(self):
        header = '#include <vector>\n'
        source = '#include "meanwhile/a.h"\nstd::vector<int> a;\nstd::map<int, int> b;\n// fmt::format\n'
        self.assertEqual(list(missing_includes({'meanwhile/a.h': header, 'meanwhile/a.cc': source})),
                         [('meanwhile/a.cc', 3, 'map')])

    def test_widths(self):
        self.assertEqual(whats('meanwhile/data/a.cc', '  // ' + 'x' * 95 + '\n'), [])
        self.assertEqual(whats('meanwhile/data/a.cc', '  // ' + 'x' * 96 + '\n'),
                         ['a comment of 101 columns, the limit is 100'])
        log = 'abcdef0 ' + 'x' * 72 + '\nabcdef1 ' + 'x' * 73 + '\n'
        self.assertEqual(long_titles(log), ['abcdef1 ' + 'x' * 73])

    def test_comments_name_their_thing(self):
        text = ("// Of a thing.\n// The thing. It is one\n// Of many.\n//\n// Whoever asks.\nint a;  // What it is\n"
                "print('# What')\n")
        self.assertEqual(list(pronoun_comments(text, '//')), [(1, 'Of'), (5, 'Whoever'), (6, 'What')])
        self.assertEqual(list(pronoun_comments('# Who\n# a\n# Of b\n', '#')), [(1, 'Who')])

    def test_local_names(self):
        text = """namespace {

constexpr double kLeast = 1, kMost = 2;
using Clock = std::chrono::steady_clock;
struct Step {
  int count() const { return 1; }
};
std::vector<int> sums(const Step& step, int n = 3) {
  return {};
}

}  // namespace

int outside(int n) { return n; }
"""
        self.assertEqual(list(local_names(text)),
                         [(3, 'kLeast', None), (4, 'Clock', ' std::chrono::steady_clock'), (5, 'Step', None),
                          (8, 'sums(const Step&, int)', None)])


if __name__ == '__main__':
    unittest.main()
