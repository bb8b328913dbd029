#include "meanwhile/data/part.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <string>

#include "meanwhile/data/files/csv_layout.h"
#include "meanwhile/data/files/read_parts.h"
#include "meanwhile/data/files/read_some.h"
#include "meanwhile/data/files/text_part.h"
#include "meanwhile/data/text/quote_scan.h"
#include "test/temporary_folder.h"

namespace meanwhile::data {
namespace {

TEST(LabelValues, AreDistinctAndAscending) {
  std::vector<double> labels;
  for (int i = 0; i < 10'000; ++i) labels.push_back((i * 7919 % 5) - 2);
  labels.push_back(-0.0);
  Dataset data;
  EXPECT_EQ(label_values(data, 2), std::vector<double>{});
  data.labels = labels;
  for (const int threads : {1, 2, 5}) {
    EXPECT_EQ(label_values(data, threads), (std::vector<double>{-2, -1, 0, 1, 2}));
  }
  EXPECT_EQ(label_values(data, {{0, 1}, {2, 3}}, 1).values, (std::vector<double>{-2, 1}));
}

TEST(LabelValues, AreNoneWhenTooMany) {
  std::vector<double> labels;
  for (std::size_t i = 0; i < kMaxLabelValues; ++i) labels.push_back(static_cast<double>(i) / 3);
  Dataset data;
  data.labels = labels;
  EXPECT_EQ(label_values(data, 2).size(), kMaxLabelValues);
  labels.push_back(-7);
  data.labels = labels;
  for (const int threads : {1, 3}) {
    EXPECT_TRUE(label_values(data, blocks_of(1001, 256), threads).too_many);
    EXPECT_TRUE(label_values(data, threads).empty());
  }
}

TEST(LabelValues, OfPartsMergeToThoseOfTheWhole) {
  EXPECT_EQ(merge({{1, 3}, false}, {{2, 3}, false}), (LabelValues{{1, 2, 3}, false}));
  EXPECT_TRUE(merge({{1}, false}, {{}, true}).too_many);
  std::vector<double> many(kMaxLabelValues);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<double>(i);
  EXPECT_FALSE(merge({many, false}, {{5}, false}).too_many);
  EXPECT_TRUE(merge({many, false}, {{-5}, false}).too_many);
}

TEST(Whole, HoldsEveryRowOnce) {
  const std::vector<float> values(1000 * 2, 1.5F);
  const std::vector<double> labels(1000, 4.0);
  Dataset data;
  data.x = Dense<float>{values.data(), 1000, 2};
  data.labels = labels;
  const Part part = whole(data, 3, 9, 2);
  EXPECT_EQ(part.rows, 1000);
  EXPECT_EQ(part.stored, 2000);
  EXPECT_TRUE(part.labelled);
  EXPECT_FALSE(part.weighted);
  EXPECT_EQ(part.sha256, sha256(data, 1));
  EXPECT_EQ(part.label_values, std::vector<double>{4});
  ASSERT_EQ(part.shards.size(), 3u);
  std::int64_t held = 0;
  for (const Shard& shard : part.shards) held += shard.rows;
  EXPECT_EQ(held, 1000);
}

std::string random_text(std::mt19937& random, std::string_view letters, std::size_t size) {
  std::string text;
  while (text.size() < size) text += letters[random() % letters.size()];
  return text;
}

// The state between lines at each line start, by the plain rule.
std::vector<bool> quoted_at_line_starts(std::string_view text) {
  std::vector<bool> inside = {false};
  bool now = false, comment = text.starts_with('#');
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"' && !comment) now = !now;
    if (text[i] != '\n') continue;
    inside.push_back(now);
    comment = !now && i + 1 < text.size() && text[i + 1] == '#';
  }
  return inside;
}

TEST(QuoteScan, ComposesOverAnyCutsBetweenLinesAndPieces) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const std::string text = random_text(random, "a#\"\"\n\n", random() % 40) + "\n";
    const auto expected = quoted_at_line_starts(text);
    bool inside = false;
    std::size_t lines = 0, begin = 0;
    while (begin < text.size()) {  // a part of some lines, given in pieces of some bytes
      std::size_t end = begin;
      for (auto more = 1 + random() % 3; more > 0 && end < text.size(); --more, ++lines) {
        end = text.find('\n', end) + 1;
      }
      QuoteScan scan;
      for (std::size_t at = begin; at < end;) {
        const std::size_t size = std::min<std::size_t>(random() % 4, end - at);
        scan.add(std::string_view(text).substr(at, size));
        at += size;
      }
      inside = scan.map().after[inside];
      ASSERT_EQ(inside, expected[lines]) << text;
      begin = end;
    }
  }
}

TEST(QuoteScan, AgreesWithWhereCsvIsCut) {
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    const std::string text = random_text(random, "a#\"\n", random() % 30) + "\n";
    QuoteScan scan;
    scan.add(text);
    EXPECT_EQ(cut_csv(text) == text.size(), !scan.map().after[0]) << text;
  }
}

// The parts one after the other are what one part is.
TEST(TextPart, EveryRowIsInOnePartAndInOrder) {
  const TemporaryFolder folder;
  std::string text;
  for (int row = 0; row < 100; ++row) text += std::to_string(row) + " 1:1\n\n# 5 5:5\n";
  std::ofstream(folder / "a.libsvm") << text;
  const ReadOptions options;
  const auto files = find_checked_inputs({folder / "a.libsvm"}, options);
  ASSERT_TRUE(can_cut(files));
  for (const int parts : {1, 2, 7, 100, 5000}) {
    const std::vector<std::vector<QuoteMap>> quotes(static_cast<std::size_t>(parts),
                                                    std::vector<QuoteMap>(1));
    std::vector<double> labels;
    std::vector<TextOutcome> outcomes;
    for (int part = 0; part < parts; ++part) {
      const TextRows rows = text_part(files, options, part, parts)->parse(quotes);
      outcomes.push_back(rows.outcome);
      const auto& more = rows.data.labels;
      labels.insert(labels.end(), more.begin(), more.end());
      EXPECT_LT(static_cast<int>(more.size()), 100 / parts + 3);  // of equal size
    }
    throw_first(files, outcomes);
    ASSERT_EQ(labels.size(), 100u) << parts;
    for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(labels[i], static_cast<double>(i));
  }
}

TEST(ReadSome, KeepsBlocksAndNumbersWordsByAllRows) {
  const TemporaryFolder folder;
  std::ofstream file(folder / "a.csv");
  for (int row = 0; row < 1000; ++row) file << row << ",w" << row / 100 << "\n";
  file.close();
  ReadOptions options;
  options.label_column = "1";
  const auto files = find_checked_inputs({folder / "a.csv"}, options);
  const SomeRows some =
      read_some(files, options, [](std::int64_t block) { return block % 2 == 1; });
  EXPECT_EQ(some.rows, (std::vector<RowRange>{{256, 512}, {768, 1000}}));
  EXPECT_EQ(some.whole.rows, 1000);
  EXPECT_EQ(some.data.class_names.size(), 10u);
  const auto& x = std::get<Dense<float>>(some.data.x);
  ASSERT_EQ(x.rows, 256 + 232);
  EXPECT_EQ(x.row(0)[0], 256);
  EXPECT_EQ(x.row(256)[0], 768);
  EXPECT_EQ(x.row(487)[0], 999);
  EXPECT_EQ(some.data.labels[487], 9);
}

}  // namespace
}  // namespace meanwhile::data
