// One data set, whatever the number of nodes that read it together.
#include "meanwhile/job/load.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <fstream>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "meanwhile/data/files/convert.h"
#include "meanwhile/data/files/npy.h"
#include "meanwhile/data/files/readers.h"
#include "meanwhile/exchange/order.h"
#include "meanwhile/transport/threads.h"
#include "test/data/compressed.h"
#include "test/temporary_folder.h"

namespace meanwhile::job {
namespace {

using Paths = std::vector<std::filesystem::path>;
constexpr int kNodes[] = {1, 2, 3, 5, 8};

data::ReadOptions on_threads(int threads) {
  data::ReadOptions read;
  read.threads = threads;
  return read;
}

data::ReadOptions with_columns(const std::string& label, const std::string& weight = "") {
  data::ReadOptions read = on_threads(2);
  read.label_column = label;
  read.weight_column = weight;
  return read;
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// Runs `node` on every worker of a group, and gives the message of each that threw.
std::vector<std::string> run(int nodes, const std::function<void(transport::Transport&)>& node) {
  transport::ThreadGroup group(nodes, 60);
  std::vector<std::string> messages(static_cast<std::size_t>(nodes));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < nodes; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        node(group.member(rank));
      } catch (const std::exception& error) {
        messages[static_cast<std::size_t>(rank)] = error.what();
        if (messages[static_cast<std::size_t>(rank)].empty()) std::terminate();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return messages;
}

template <class V>
void append(std::string& to, const V* values, std::int64_t count) {
  to.append(reinterpret_cast<const char*>(values), static_cast<std::size_t>(count) * sizeof(V));
}

// Every bit of a row: columns, values, weight, label.
std::string row_bytes(const data::Dataset& data, std::int64_t row) {
  std::string bytes;
  std::visit(
      [&](const auto& m) {
        const auto cells = m.row(row);
        if constexpr (data::kIsSparse<std::decay_t<decltype(m)>>) {
          append(bytes, cells.columns.data(), static_cast<std::int64_t>(cells.columns.size()));
          append(bytes, cells.values.data(), static_cast<std::int64_t>(cells.values.size()));
        } else {
          append(bytes, cells.data(), m.cols);
        }
      },
      data.x);
  const auto i = static_cast<std::size_t>(row);
  if (!data.labels.empty()) append(bytes, &data.labels[i], 1);
  if (!data.weights.empty()) append(bytes, &data.weights[i], 1);
  return bytes;
}

std::vector<std::string> shard_rows(const data::Part& part, std::size_t shard) {
  std::vector<std::string> rows;
  for (const data::RowRange& block : part.shards[shard].blocks) {
    for (std::int64_t row = block.begin; row < block.end; ++row) {
      rows.push_back(row_bytes(part.data, row));
    }
  }
  return rows;
}

// Every node of every number of nodes ends with the rows of its shards that one node has.
void expect_one_answer(const Paths& paths, const data::ReadOptions& read, LoadOptions options) {
  const data::Part one = load(paths, read, options);
  for (const int nodes : kNodes) {
    SCOPED_TRACE(testing::Message() << nodes << " nodes");
    std::vector<data::Part> parts(static_cast<std::size_t>(nodes));
    const auto messages = run(nodes, [&](transport::Transport& transport) {
      parts[static_cast<std::size_t>(transport.rank())] = load(paths, read, options, &transport);
    });
    for (const std::string& message : messages) ASSERT_EQ(message, "");
    for (int node = 0; node < nodes; ++node) {
      SCOPED_TRACE(testing::Message() << "node " << node);
      const data::Part& part = parts[static_cast<std::size_t>(node)];
      EXPECT_EQ(part.sha256, one.sha256);
      EXPECT_EQ(part.label_values, one.label_values);
      EXPECT_EQ(part.rows, one.rows);
      EXPECT_EQ(part.stored, one.stored);
      EXPECT_EQ(part.labelled, one.labelled);
      EXPECT_EQ(part.weighted, one.weighted);
      EXPECT_EQ(part.data.x.index(), one.data.x.index());
      EXPECT_EQ(cols(part.data.x), cols(one.data.x));
      EXPECT_EQ(part.data.class_names, one.data.class_names);
      EXPECT_EQ(part.data.feature_names, one.data.feature_names);
      EXPECT_EQ(part.data.unknown, one.data.unknown);
      ASSERT_EQ(part.shards.size(), one.shards.size());
      const auto mine = exchange::owned(static_cast<int>(one.shards.size()), node, nodes);
      for (std::size_t s = 0; s < one.shards.size(); ++s) {
        EXPECT_EQ(part.shards[s].rows, one.shards[s].rows);
        EXPECT_EQ(part.shards[s].index, static_cast<int>(s));
        const bool held = mine.begin <= static_cast<int>(s) && static_cast<int>(s) < mine.end;
        EXPECT_EQ(shard_rows(part, s), held ? shard_rows(one, s) : std::vector<std::string>{});
      }
    }
  }
}

void expect_one_error(const Paths& paths, const data::ReadOptions& read,
                      const std::string& expected) {
  for (const int nodes : kNodes) {
    SCOPED_TRACE(testing::Message() << nodes << " nodes");
    const auto messages = run(nodes, [&](transport::Transport& transport) {
      load(paths, read, {1, 4, nodes}, &transport);
    });
    for (const std::string& message : messages) EXPECT_EQ(message, expected);
  }
}

// Rows of all lengths, some of them empty, with comments and blank lines between them.
std::string libsvm_text(int rows) {
  std::string text = "# a comment, 1:2\n";
  for (int row = 0; row < rows; ++row) {
    text += std::to_string(row % 3 - 1);
    for (int i = 1; i <= row * 7 % 11; ++i) {
      text += fmt::format(" {}:{}.5", i * (1 + row % 13), row * 31 % 97);
    }
    text += row % 50 == 7 ? " # why\n\n" : "\n";
  }
  return text;
}

TEST(Load, LibsvmIsTheSameForAnyNumberOfNodes) {
  const TemporaryFolder folder;
  write(folder / "a.libsvm", libsvm_text(3000));
  for (const int shards : {0, 1, 3, 8, 20}) {
    SCOPED_TRACE(testing::Message() << shards << " shards");
    expect_one_answer({folder / "a.libsvm"}, on_threads(2), {7, shards, 2});
  }
  data::ReadOptions wide;
  wide.dtype = data::DType::kFloat64;
  wide.n_features = 500;
  expect_one_answer({folder / "a.libsvm"}, wide, {7, 0, 40});
}

TEST(Load, SeveralFilesAreCutAsIfTheyWereOne) {
  const TemporaryFolder folder;
  std::string text = libsvm_text(900);
  write(folder / "a.libsvm", text);
  text.pop_back();  // the last line has no end
  write(folder / "b.libsvm", text);
  write(folder / "c.libsvm", "5 100:1\n");
  write(folder / "d.libsvm",
        "\xef\xbb\xbf"
        "6 100:1\n7 1:1");
  expect_one_answer(
      {folder / "a.libsvm", folder / "b.libsvm", folder / "c.libsvm", folder / "d.libsvm"}, {},
      {1, 5, 1});
}

TEST(Load, FilesWithFewerBytesThanNodes) {
  const TemporaryFolder folder;
  write(folder / "a.libsvm", "1 1:1");
  expect_one_answer({folder / "a.libsvm"}, {}, {1, 3, 1});
  write(folder / "b.libsvm", "1\n2 1:3\n");
  expect_one_answer({folder / "a.libsvm", folder / "b.libsvm"}, {}, {1, 2, 1});
}

// Quoted words with line ends, quotes and hashes in them; comments with quotes.
std::string csv_text(int rows) {
  std::string text = "x,name,\"y\nz\",w\n";
  for (int row = 0; row < rows; ++row) {
    const std::string word = row % 7 == 3   ? "\"a\n#\"\"b\"\"\n\""
                             : row % 5 == 1 ? "\"word, " + std::to_string(row % 11) + "\""
                                            : "w" + std::to_string(row * row % 17);
    text += std::to_string(row) + ".25," + word + "," + std::to_string(row % 9) + ",1\n";
    if (row % 10 == 4) text += "# it's \" a comment\n\n";
  }
  return text;
}

TEST(Load, CsvWithQuotedLineEndsAndWordsForLabels) {
  const TemporaryFolder folder;
  write(folder / "a.csv", csv_text(2000));
  write(folder / "b.csv", csv_text(40));
  expect_one_answer({folder / "a.csv", folder / "b.csv"}, with_columns("name", "w"), {3, 4, 1});
  data::ReadOptions ignoring;
  ignoring.ignore_columns = {"name"};
  expect_one_answer({folder / "b.csv"}, ignoring, {3, 4, 1});
}

TEST(Load, CsvWhoseOneFieldSpansSeveralParts) {
  const TemporaryFolder folder;
  std::string text = "1,a\n2,\"";
  for (int i = 0; i < 200; ++i) text += i % 3 == 0 ? "# \"\" 7,b\n" : "9,\"\"c\"\"\n";
  write(folder / "a.csv", text + "\"\n3,a\n4,d");
  expect_one_answer({folder / "a.csv"}, with_columns("1"), {1, 2, 1});
}

TEST(Load, CompressedTextIsFilteredByEveryNode) {
  const TemporaryFolder folder;
  write(folder / "a.libsvm.gz", data::gzip(libsvm_text(3000)));
  expect_one_answer({folder / "a.libsvm.gz"}, on_threads(2), {7, 0, 2});
  write(folder / "a.csv.gz", data::gzip(csv_text(1500)));
  expect_one_answer({folder / "a.csv.gz"}, with_columns("name"), {7, 5, 2});
  write(folder / "docword.a.txt", "2000\n9\n3\n1 2 3\n700 9 1\n1999 1 1\n");
  data::ReadOptions docword;
  docword.format = &data::kDocwordReader;
  expect_one_answer({folder / "docword.a.txt"}, docword, {7, 5, 2});
}

// Documents of all lengths, some of them empty.
std::string documents(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < i * 7 % 23; ++j) text += fmt::format("Wort{} ", i * j % 211);
    text += i % 5 == 0 ? "M\xc3\xa4rz\r\n" : "\n";
  }
  return text;
}

TEST(Load, DocumentsAreCountedWithTheWordsOfAll) {
  const TemporaryFolder folder;
  data::ReadOptions read = on_threads(2);
  read.format = &data::kTextReader;
  read.words.max_words = 100;
  write(folder / "a.txt", documents(2000));
  write(folder / "b.txt", "\xef\xbb\xbf" + documents(300) + "no end");
  expect_one_answer({folder / "a.txt", folder / "b.txt"}, read, {7, 5, 2});
  write(folder / "c.txt.gz", data::gzip(documents(900)));
  expect_one_answer({folder / "c.txt.gz"}, read, {7, 3, 2});
  EXPECT_GT(load({folder / "c.txt.gz"}, read, {}).data.unknown.tokens, 0);
  // Fewer bytes than nodes; words from elsewhere.
  write(folder / "d.txt", "wort1");
  read.vocabulary = std::make_shared<const data::Vocabulary>(
      std::vector<std::string>{"wort2", "wort1", "m\xc3\xa4rz"});
  expect_one_answer({folder / "d.txt"}, read, {7, 3, 2});
  expect_one_answer({folder / "a.txt"}, read, {7, 3, 2});
}

TEST(Load, ErrorsInDocumentsAreTheSameOnAllNodes) {
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

TEST(Load, ColumnsHaveNamesWhereverTheRowsAre) {
  const TemporaryFolder folder;
  write(folder / "a.libsvm", libsvm_text(500));
  write(folder / "a.ldac", "2 0:1 5:2\n0\n1 3:1\n");
  data::ReadOptions read = on_threads(2);
  std::vector<std::string> words;
  for (int i = 0; i < 150; ++i) words.push_back(fmt::format("w{}", i));
  read.column_names = std::make_shared<const data::Vocabulary>(words);
  expect_one_answer({folder / "a.libsvm"}, read, {7, 4, 1});
  expect_one_answer({folder / "a.ldac"}, read, {7, 2, 1});
  data::convert({folder / "a.libsvm"}, folder / "a.safetensors", on_threads(1));
  expect_one_answer({folder / "a.safetensors"}, read, {7, 4, 1});
  words.resize(9);
  read.column_names = std::make_shared<const data::Vocabulary>(words);
  expect_one_error(
      {folder / "a.libsvm"}, read,
      (folder / "a.libsvm").string() + ": 130 columns, but the vocabulary has 9 words");
}

TEST(Load, ConvertedAndNpyFilesAreMapped) {
  const TemporaryFolder folder;
  write(folder / "a.libsvm", libsvm_text(3000));
  write(folder / "a.csv", csv_text(1500));
  data::convert({folder / "a.libsvm"}, folder / "a.safetensors", {});
  data::convert({folder / "a.csv"}, folder / "b.safetensors", with_columns("name", "w"));
  expect_one_answer({folder / "a.safetensors"}, on_threads(2), {7, 0, 2});
  expect_one_answer({folder / "b.safetensors"}, on_threads(2), {7, 5, 2});
  expect_one_answer({folder / "b.safetensors", folder / "b.safetensors"}, {}, {7, 5, 2});

  std::vector<float> values(3000 * 7);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * i % 1009);
  data::write_npy<float>(folder / "a.npy", values, {3000, 7});
  expect_one_answer({folder / "a.npy"}, on_threads(2), {7, 6, 2});
  expect_one_answer({folder / "a.npy", folder / "a.npy"}, {}, {7, 6, 2});

  const auto messages = run(2, [&](transport::Transport& transport) {
    const data::Part part = load({folder / "a.npy"}, {}, {7, 6, 2}, &transport);
    EXPECT_TRUE(part.data.mapped);
    EXPECT_EQ(rows(part.data.x), 3000);
  });
  EXPECT_EQ(messages, std::vector<std::string>(2));
}

TEST(Load, TextAndTheFileItIsConvertedToHaveOneHash) {
  const TemporaryFolder folder;
  write(folder / "a.libsvm", libsvm_text(1000));
  data::convert({folder / "a.libsvm"}, folder / "a.safetensors", {});
  EXPECT_EQ(load({folder / "a.libsvm"}, {}, {}).sha256,
            load({folder / "a.safetensors"}, {}, {}).sha256);
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
                   b + ": line 302, column 3: found 'two' in field b, expected a number; use "
                       "`ignore_column` b or `label_column` b");
  expect_one_error({folder / "a.csv", folder / "c.csv", folder / "b.csv"}, {},
                   c + ": its header is not that of " + (folder / "a.csv").string());
  expect_one_error(
      {folder / "d.csv"}, {},
      (folder / "d.csv").string() +
          ": line 303, column 1: found a quote that is never closed, expected a closing quote");
}

// Texts of a few letters, most of them wrong somewhere: what one node makes of them, all do.
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
      expected = load({path}, read, {1, 2, 1}).sha256;
      ++good;
    } catch (const base::Error& error) {
      expected = error.what();
    }
    for (const int nodes : {2, 5, 9}) {
      std::vector<std::string> hashes(static_cast<std::size_t>(nodes));
      const auto messages = run(nodes, [&](transport::Transport& transport) {
        hashes[static_cast<std::size_t>(transport.rank())] =
            load({path}, read, {1, 2, 1}, &transport).sha256;
      });
      for (std::size_t node = 0; node < hashes.size(); ++node) {
        ASSERT_EQ(hashes[node] + messages[node], expected) << nodes << " nodes\n" << text;
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

TEST(Load, StandardInputIsForOneNode) {
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
