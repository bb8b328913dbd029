// Errors in data, whatever the number of workers that read it together.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/npy.h"
#include "meanwhile/data/files/readers.h"
#include "test/job/load_together.h"
#include "test/temporary_folder.h"

namespace meanwhile::job {
namespace {

TEST(Load, ErrorsInDocumentsAreTheSameOnAllWorkers) {
  const TemporaryFolder folder;
  data::ReadOptions read = on_threads(2);
  read.format = &data::kTextReader;
  const std::string name = (folder / "a.txt").string();
  write(name, documents(200) + "caf\xe9\n" + documents(200));
  const std::string error =
      name +
      ": line 201, column 4: found byte 0xe9, expected text in UTF-8; convert the file "
      "first, for instance with iconv -f WINDOWS-1252 -t UTF-8";
  expect_one_error({name}, read, error);
  read.vocabulary = std::make_shared<const data::Vocabulary>(std::vector<std::string>{"wort1"});
  expect_one_error({name}, read, error);
}

TEST(Load, TheFirstErrorInOrderOfTheFilesIsThrownByAll) {
  const TemporaryFolder folder;
  std::string text = libsvm_text(500);
  write(folder / "good.libsvm", text);
  const std::string name = (folder / "bad.libsvm").string();
  const auto lines = std::count(text.begin(), text.end(), '\n');
  write(folder / "bad.libsvm", text + "1 3:4 2:1\n" + text + "one 1:1\n");
  expect_one_error({folder / "good.libsvm", folder / "bad.libsvm"}, {},
                   name + ": line " + std::to_string(lines + 1) +
                       ", column 7: found index 2 after index 3, expected indices that increase "
                       "strictly");
  write(folder / "empty.libsvm", "# nothing\n");
  expect_one_error({folder / "good.libsvm", folder / "empty.libsvm", folder / "bad.libsvm"}, {},
                   (folder / "empty.libsvm").string() + ": has no rows");
  expect_one_error({folder / "none.libsvm"}, {},
                   (folder / "none.libsvm").string() + ": No such file or directory");
}

TEST(Load, ErrorsInCsvComeInOrderToo) {
  const TemporaryFolder folder;
  std::string text = "a,b\n";
  for (int row = 0; row < 300; ++row) text += std::to_string(row) + ",1\n";
  write(folder / "a.csv", text);
  write(folder / "b.csv", text + "1,two\n");
  write(folder / "c.csv", "a,b,c\n1,2,3\n");
  write(folder / "d.csv", text + "3,4\n\"5,6\n7,8\n");
  const std::string b = (folder / "b.csv").string(), c = (folder / "c.csv").string();
  expect_one_error({folder / "a.csv", folder / "b.csv", folder / "c.csv"}, {},
                   b + ": line 302, field 2 (b): found 'two', expected a number; use "
                       "`categorical` b, `ignore_column` b or `label_column` b");
  expect_one_error({folder / "a.csv", folder / "c.csv", folder / "b.csv"}, {},
                   c + ": found 3 fields, expected 2 as in " + (folder / "a.csv").string());
  expect_one_error(
      {folder / "d.csv"}, {},
      (folder / "d.csv").string() +
          ": line 303, column 1: found a quote that is never closed, expected a closing quote");
}

// Texts of a few letters, most of them wrong somewhere: what one worker makes of them, all do.
TEST(Load, AnyTextGivesTheSameRowsOrTheSameError) {
  const TemporaryFolder folder;
  std::mt19937 random(5);
  int good = 0;
  for (int round = 0; round < 150; ++round) {
    const bool csv = round % 3 != 0;
    const std::string letters = csv ? "\"\"1#" : "1:  #\n";
    std::string text;
    while (text.size() < 60) {
      const std::string line = csv ? "1,a\n" : "1 1:1\n";
      const std::string quoted = "1,\"\n#\"\"\"\n";
      text += random() % 8 > 0 ? (csv && random() % 2 > 0 ? quoted : line)
                               : std::string(1, letters[random() % letters.size()]);
    }
    const auto path = folder / (csv ? "a.csv" : "a.libsvm");
    write(path, text);
    const data::ReadOptions read = csv ? with_columns("1") : on_threads(1);
    std::string expected;
    try {
      expected = load({path}, read, {1, 2}).sha256;
      ++good;
    } catch (const base::Error& error) {
      expected = error.what();
    }
    for (const int workers : {2, 5, 9}) {
      std::vector<std::string> hashes(static_cast<std::size_t>(workers));
      const auto messages = run(workers, [&](transport::Transport& transport) {
        hashes[static_cast<std::size_t>(transport.rank())] =
            load({path}, read, {1, 2}, &transport).sha256;
      });
      for (std::size_t worker = 0; worker < hashes.size(); ++worker) {
        ASSERT_EQ(hashes[worker] + messages[worker], expected) << workers << " workers\n" << text;
      }
    }
  }
  EXPECT_GT(good, 15);
  EXPECT_LT(good, 135);
}

TEST(Load, TheFirstBadValueOfAMappedFileIsNamed) {
  const TemporaryFolder folder;
  std::vector<float> values(3000 * 2, 1.0F);
  values[2 * 2900] = values[2 * 1111 + 1] = std::numeric_limits<float>::infinity();
  data::write_npy<float>(folder / "a.npy", values, {3000, 2});
  expect_one_error({folder / "a.npy"}, {},
                   (folder / "a.npy").string() +
                       ": row 1111, column 1 (counted from 0): inf is not a finite number; remove "
                       "such rows or fill them in");
}

TEST(Load, StandardInputIsForOneWorker) {
  const auto messages =
      run(2, [](transport::Transport& transport) { load({"-"}, {}, {}, &transport); });
  for (const std::string& message : messages) {
    EXPECT_EQ(
        message,
        "standard input: is not a file, so only one worker could read it; save it to a file that "
        "every worker can open");
  }
}

}  // namespace
}  // namespace meanwhile::job
