// One data set, whatever the number of workers that read it together.
#include "meanwhile/job/load.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "meanwhile/data/content.h"
#include "meanwhile/data/files/convert.h"
#include "meanwhile/data/files/npy.h"
#include "meanwhile/data/files/readers.h"
#include "meanwhile/exchange/order.h"
#include "meanwhile/job/replicate.h"
#include "test/data/compressed.h"
#include "test/job/load_together.h"
#include "test/temporary_folder.h"

namespace meanwhile::job {
namespace {

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

// `part` has the rows that `one` has of the shards in `held`, and no others.
void expect_rows(const data::Part& part, const data::Part& one, exchange::Range held) {
  ASSERT_EQ(part.shards.size(), one.shards.size());
  for (std::size_t s = 0; s < one.shards.size(); ++s) {
    EXPECT_EQ(part.shards[s].rows, one.shards[s].rows);
    EXPECT_EQ(part.shards[s].index, static_cast<int>(s));
    const bool is_held = held.begin <= static_cast<int>(s) && static_cast<int>(s) < held.end;
    EXPECT_EQ(shard_rows(part, s), is_held ? shard_rows(one, s) : std::vector<std::string>{});
  }
}

// With replicas a worker has the rows of some shards of its neighbours, too.
void expect_replicas(const Paths& paths, const data::ReadOptions& read, LoadOptions options,
                     int workers, const data::Part& one) {
  std::vector<data::Part> parts(static_cast<std::size_t>(workers));
  const auto messages = run(workers, [&](transport::Transport& transport) {
    data::Part part = load(paths, read, options, &transport);
    replicate(transport, part, options.seed);
    parts[static_cast<std::size_t>(transport.rank())] = std::move(part);
  });
  for (const std::string& message : messages) ASSERT_EQ(message, "");
  for (int worker = 0; worker < workers; ++worker) {
    SCOPED_TRACE(testing::Message() << "worker " << worker << " with replicas");
    const data::Part& part = parts[static_cast<std::size_t>(worker)];
    EXPECT_EQ(part.sha256, one.sha256);
    EXPECT_EQ(part.data.feature_names, one.data.feature_names);
    EXPECT_EQ(part.data.class_names, one.data.class_names);
    EXPECT_EQ(part.data.unknown, one.data.unknown);
    expect_rows(part, one, exchange::held(static_cast<int>(one.shards.size()), worker, workers));
  }
}

// Every worker of every number of workers ends with the rows of its shards that one worker has,
// dealt as the options say.
void expect_one_part(const Paths& paths, const data::ReadOptions& read, LoadOptions options) {
  const data::Part one = load(paths, read, options);
  for (const int workers : kWorkers) {
    SCOPED_TRACE(testing::Message() << workers << " workers");
    std::vector<data::Part> parts(static_cast<std::size_t>(workers));
    const auto messages = run(workers, [&](transport::Transport& transport) {
      parts[static_cast<std::size_t>(transport.rank())] = load(paths, read, options, &transport);
    });
    for (const std::string& message : messages) ASSERT_EQ(message, "");
    for (int worker = 0; worker < workers; ++worker) {
      SCOPED_TRACE(testing::Message() << "worker " << worker);
      const data::Part& part = parts[static_cast<std::size_t>(worker)];
      EXPECT_EQ(part.sha256, one.sha256);
      EXPECT_EQ(part.label_values, one.label_values);
      EXPECT_EQ(part.deal, one.deal);
      EXPECT_EQ(part.rows, one.rows);
      EXPECT_EQ(part.read_rows, one.read_rows);
      EXPECT_EQ(part.stored, one.stored);
      EXPECT_EQ(part.labelled, one.labelled);
      EXPECT_EQ(part.weighted, one.weighted);
      EXPECT_EQ(part.data.x.index(), one.data.x.index());
      EXPECT_EQ(cols(part.data.x), cols(one.data.x));
      EXPECT_EQ(part.data.class_names, one.data.class_names);
      EXPECT_EQ(part.data.feature_names, one.data.feature_names);
      EXPECT_EQ(part.data.unknown, one.data.unknown);
      expect_rows(part, one, exchange::owned(static_cast<int>(one.shards.size()), worker, workers));
    }
    if (workers > 1) expect_replicas(paths, read, options, workers, one);
  }
}

// The same for both ways to deal rows; equal rows apart on disk, where there are enough of them.
void expect_one_answer(const Paths& paths, const data::ReadOptions& read, LoadOptions options) {
  expect_one_part(paths, read, options);
  options.deal = data::Deal::kContent;
  {
    SCOPED_TRACE("by content");
    expect_one_part(paths, read, options);
  }
  SCOPED_TRACE("by content, on disk");
  options.merge = false;
  options.memory = {60'000, std::filesystem::temp_directory_path()};
  expect_one_part(paths, read, options);
}

TEST(Load, LibsvmIsTheSameForAnyNumberOfWorkers) {
  const TemporaryFolder folder;
  write(folder / "a.libsvm", libsvm_text(3000));
  for (const int shards : {0, 1, 3, 8, 20}) {
    SCOPED_TRACE(testing::Message() << shards << " shards");
    expect_one_answer({folder / "a.libsvm"}, on_threads(2), {7, shards});
  }
  data::ReadOptions wide;
  wide.dtype = data::DType::kFloat64;
  wide.n_features = 500;
  expect_one_answer({folder / "a.libsvm"}, wide, {7, 0});
}

TEST(Load, SmallDataIsDealtByContentWhereTheDealIsOpen) {
  const TemporaryFolder folder;
  std::string text;
  for (int row = 0; row < data::kSmallRows; ++row) text += "1 1:" + std::to_string(row) + "\n";
  write(folder / "small.libsvm", text + text);
  write(folder / "large.libsvm", text + "1 1:0.5\n");
  LoadOptions options{7, 3};
  options.deal.reset();
  for (const int workers : {1, 2}) {
    const auto messages = run(workers, [&](transport::Transport& transport) {
      const data::Part small = load({folder / "small.libsvm"}, {}, options, &transport);
      EXPECT_EQ(small.deal, data::Deal::kContent);
      EXPECT_EQ(small.rows, data::kSmallRows);
      EXPECT_EQ(small.read_rows, 2 * data::kSmallRows);
      const data::Part large = load({folder / "large.libsvm"}, {}, options, &transport);
      EXPECT_EQ(large.deal, data::Deal::kBlocks);
    });
    for (const std::string& message : messages) EXPECT_EQ(message, "");
  }
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
      {1, 5});
}

TEST(Load, FilesWithFewerBytesThanWorkers) {
  const TemporaryFolder folder;
  write(folder / "a.libsvm", "1 1:1");
  expect_one_answer({folder / "a.libsvm"}, {}, {1, 3});
  write(folder / "b.libsvm", "1\n2 1:3\n");
  expect_one_answer({folder / "a.libsvm", folder / "b.libsvm"}, {}, {1, 2});
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
  expect_one_answer({folder / "a.csv", folder / "b.csv"}, with_columns("name", "w"), {3, 4});
  data::ReadOptions ignoring;
  ignoring.ignore_columns = {"name"};
  expect_one_answer({folder / "b.csv"}, ignoring, {3, 4});
}

TEST(Load, CsvWhoseOneFieldSpansSeveralParts) {
  const TemporaryFolder folder;
  std::string text = "1,a\n2,\"";
  for (int i = 0; i < 200; ++i) text += i % 3 == 0 ? "# \"\" 7,b\n" : "9,\"\"c\"\"\n";
  write(folder / "a.csv", text + "\"\n3,a\n4,d");
  expect_one_answer({folder / "a.csv"}, with_columns("1"), {1, 2});
}

TEST(Load, CompressedTextIsFilteredByEveryWorker) {
  const TemporaryFolder folder;
  write(folder / "a.libsvm.gz", data::gzip(libsvm_text(3000)));
  expect_one_answer({folder / "a.libsvm.gz"}, on_threads(2), {7, 0});
  write(folder / "a.csv.gz", data::gzip(csv_text(1500)));
  expect_one_answer({folder / "a.csv.gz"}, with_columns("name"), {7, 5});
  write(folder / "docword.a.txt", "2000\n9\n3\n1 2 3\n700 9 1\n1999 1 1\n");
  data::ReadOptions docword;
  docword.format = &data::kDocwordReader;
  expect_one_answer({folder / "docword.a.txt"}, docword, {7, 5});
}

TEST(Load, DocumentsAreCountedWithTheWordsOfAll) {
  const TemporaryFolder folder;
  data::ReadOptions read = on_threads(2);
  read.format = &data::kTextReader;
  read.words.max_words = 100;
  write(folder / "a.txt", documents(2000));
  write(folder / "b.txt", "\xef\xbb\xbf" + documents(300) + "no end");
  expect_one_answer({folder / "a.txt", folder / "b.txt"}, read, {7, 5});
  write(folder / "c.txt.gz", data::gzip(documents(900)));
  expect_one_answer({folder / "c.txt.gz"}, read, {7, 3});
  EXPECT_GT(load({folder / "c.txt.gz"}, read, {}).data.unknown.tokens, 0);
  // Fewer bytes than workers; words from elsewhere.
  write(folder / "d.txt", "wort1");
  read.vocabulary = std::make_shared<const data::Vocabulary>(
      std::vector<std::string>{"wort2", "wort1", "m\xc3\xa4rz"});
  expect_one_answer({folder / "d.txt"}, read, {7, 3});
  expect_one_answer({folder / "a.txt"}, read, {7, 3});
}

TEST(Load, ColumnsHaveNamesWhereverTheRowsAre) {
  const TemporaryFolder folder;
  write(folder / "a.libsvm", libsvm_text(500));
  write(folder / "a.ldac", "2 0:1 5:2\n0\n1 3:1\n");
  data::ReadOptions read = on_threads(2);
  std::vector<std::string> words;
  for (int i = 0; i < 150; ++i) words.push_back(fmt::format("w{}", i));
  read.column_names = std::make_shared<const data::Vocabulary>(words);
  expect_one_answer({folder / "a.libsvm"}, read, {7, 4});
  expect_one_answer({folder / "a.ldac"}, read, {7, 2});
  data::convert({folder / "a.libsvm"}, folder / "a.safetensors", on_threads(1));
  expect_one_answer({folder / "a.safetensors"}, read, {7, 4});
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
  expect_one_answer({folder / "a.safetensors"}, on_threads(2), {7, 0});
  expect_one_answer({folder / "b.safetensors"}, on_threads(2), {7, 5});
  expect_one_answer({folder / "b.safetensors", folder / "b.safetensors"}, {}, {7, 5});

  std::vector<float> values(3000 * 7);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * i % 1009);
  data::write_npy<float>(folder / "a.npy", values, {3000, 7});
  expect_one_answer({folder / "a.npy"}, on_threads(2), {7, 6});
  expect_one_answer({folder / "a.npy", folder / "a.npy"}, {}, {7, 6});

  const auto messages = run(2, [&](transport::Transport& transport) {
    const data::Part part = load({folder / "a.npy"}, {}, {7, 6}, &transport);
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

}  // namespace
}  // namespace meanwhile::job
