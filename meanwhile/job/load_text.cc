// Three steps: every worker scans its range for quotes and tells the others, so that each knows
// whether its range begins between quotes; every worker parses its range; every worker tells the
// others what it found. From these summaries in order of the ranges, all workers compute the same
// row numbers, columns and class numbers, or throw the same error.
#include "meanwhile/job/load_text.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "meanwhile/data/files/read_parts.h"
#include "meanwhile/data/files/text_part.h"
#include "meanwhile/job/agree.h"
#include "meanwhile/transport/collect.h"
#include "meanwhile/transport/pack.h"

namespace meanwhile::job {

namespace {

using base::Error;
using base::ErrorKind;
using data::InputFile;
using transport::Packer;
using transport::Transport;
using transport::Unpacker;

// Summary of the rows a worker parsed, for the others.
struct Summary {
  data::TextOutcome outcome;
  data::Whole counts;
  data::UnknownWords unknown;
  std::int64_t cols = 0;
  std::vector<std::string> class_names;
  data::TableCounts table;
};

Summary summary_of(const data::TextRows& rows) {
  return {rows.outcome,          data::whole_of(rows.data),
          rows.data.unknown,     data::cols(rows.data.x),
          rows.data.class_names, rows.counts};
}

void pack(const data::TableCounts& counts, Packer& packer) {
  packer.put_list(std::span<const data::MissingCells>(counts.missing));
  packer.put(counts.missing_labels);
  packer.put(counts.dropped);
  packer.put_list(std::span<const std::uint32_t>(counts.categories));
  for (const data::LevelTable& levels : counts.levels) {
    packer.put(std::uint64_t{levels.size()});
    for (std::size_t i = 0; i < levels.size(); ++i) {
      packer.put_text(levels.level(i));
      packer.put(levels.count(i));
    }
  }
}

data::TableCounts unpack_counts(Unpacker& message) {
  data::TableCounts counts;
  counts.missing = message.get_list<data::MissingCells>();
  counts.missing_labels = message.get<data::MissingCells>();
  counts.dropped = message.get<std::int64_t>();
  counts.categories = message.get_list<std::uint32_t>();
  for (std::size_t c = 0; c < counts.categories.size(); ++c) {
    data::LevelTable& levels = counts.levels.emplace_back();
    for (auto left = message.get<std::uint64_t>(); left > 0; --left) {
      const std::string level = message.get_text();
      levels.index(level, message.get<std::int64_t>());
    }
  }
  return counts;
}

transport::Bytes packed(const Summary& summary) {
  Packer packer;
  packer.put_list(std::span<const std::int64_t>(summary.outcome.rows_of_file));
  const auto& failure = summary.outcome.failure;
  packer.put(failure.has_value());
  if (failure) {
    packer.put(std::uint64_t{failure->file});
    packer.put(failure->error.kind());
    packer.put_text(failure->error.what());
  }
  packer.put(summary.counts);
  packer.put(summary.unknown);
  packer.put(summary.cols);
  packer.put(std::uint64_t{summary.class_names.size()});
  for (const std::string& name : summary.class_names) packer.put_text(name);
  pack(summary.table, packer);
  return packer.take();
}

Summary unpacked(const transport::Bytes& bytes) {
  Unpacker message(bytes);
  Summary summary;
  summary.outcome.rows_of_file = message.get_list<std::int64_t>();
  if (message.get<bool>()) {
    const auto file = message.get<std::uint64_t>();
    const auto kind = message.get<ErrorKind>();
    summary.outcome.failure = data::TextFailure{file, Error(kind, "{}", message.get_text())};
  }
  summary.counts = message.get<data::Whole>();
  summary.unknown = message.get<data::UnknownWords>();
  summary.cols = message.get<std::int64_t>();
  for (auto left = message.get<std::uint64_t>(); left > 0; --left) {
    summary.class_names.push_back(message.get_text());
  }
  summary.table = unpack_counts(message);
  return summary;
}

// For each worker and file, what the quotes in the worker's range of the file do.
std::vector<std::vector<data::QuoteMap>> gather_quotes(Transport& transport,
                                                       std::span<const data::QuoteMap> mine) {
  Packer packer;
  packer.put_list(mine);
  std::vector<std::vector<data::QuoteMap>> all;
  for (const transport::Bytes& bytes : all_gather(transport, packer.bytes())) {
    all.push_back(Unpacker(bytes).get_list<data::QuoteMap>());
  }
  return all;
}

data::TextRows parse_range(Transport& transport, const std::vector<InputFile>& files,
                           const data::ReadOptions& read) {
  std::unique_ptr<data::TextPart> part;
  std::vector<data::QuoteMap> quotes;
  agree(transport, [&] {
    part = data::text_part(files, read, transport.rank(), transport.size());
    quotes = part->quotes();
  });
  const auto quotes_of_workers = gather_quotes(transport, quotes);
  data::TextRows rows;
  agree(transport, [&] { rows = part->parse(quotes_of_workers); });
  return rows;
}

std::vector<Summary> gather_summaries(Transport& transport, const Summary& mine) {
  std::vector<Summary> all;
  for (const transport::Bytes& bytes : all_gather(transport, packed(mine))) {
    all.push_back(unpacked(bytes));
  }
  return all;
}

// Labels that are indices into the class names of this worker's range become indices into those of
// all rows, `numbers` by index.
void renumber_labels(data::Dataset& data, const std::vector<double>& numbers) {
  base::Buffer<double> labels(data.labels.size());
  std::transform(data.labels.begin(), data.labels.end(), labels.begin(), [&](double label) {
    return label == label ? numbers[static_cast<std::size_t>(label)] : label;
  });
  data.labels = own(data, std::move(labels));
}

// Rows of worker `rank`, given what every worker found.
data::SomeRows place_rows(data::Dataset data, const std::vector<Summary>& summaries,
                          std::size_t rank) {
  data::SomeRows placed;
  data::UnknownWords unknown;
  std::int64_t cols = 0;
  data::WordTable words;  // class names in order of first appearance in the whole data set
  for (std::size_t worker = 0; worker < summaries.size(); ++worker) {
    const Summary& summary = summaries[worker];
    data::Whole& whole = placed.whole;
    const data::RowRange rows{whole.rows, whole.rows + summary.counts.rows};
    if (!summary.table.empty()) placed.counts.add(summary.table, whole.rows);
    whole.rows += summary.counts.rows;
    whole.stored += summary.counts.stored;
    whole.labelled |= summary.counts.labelled;
    whole.weighted |= summary.counts.weighted;
    unknown.add(summary.unknown);
    cols = std::max(cols, summary.cols);
    std::vector<double> numbers;
    for (const std::string& name : summary.class_names) {
      numbers.push_back(static_cast<double>(words.index(name)));
    }
    if (worker != rank) continue;
    if (rows.begin < rows.end) placed.rows = {rows};
    if (!numbers.empty()) renumber_labels(data, numbers);
  }
  data.class_names = words.words();
  data.unknown = unknown;
  std::visit([&](auto& m) { m.cols = cols; }, data.x);
  placed.data = std::move(data);
  return placed;
}

}  // namespace

data::SomeRows load_text(Transport& transport, const std::vector<InputFile>& files,
                         const data::ReadOptions& read) {
  data::TextRows rows = parse_range(transport, files, read);
  const std::vector<Summary> summaries = gather_summaries(transport, summary_of(rows));
  std::vector<data::TextOutcome> outcomes;
  for (const Summary& summary : summaries) outcomes.push_back(summary.outcome);
  throw_first(files, outcomes);
  const auto rank = static_cast<std::size_t>(transport.rank());
  data::SomeRows some = place_rows(std::move(rows.data), summaries, rank);
  some.numbering = std::move(rows.counts);
  return some;
}

}  // namespace meanwhile::job
