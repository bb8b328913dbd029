#include "meanwhile/job/load.h"

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "meanwhile/data/digest.h"
#include "meanwhile/data/files/read_parts.h"
#include "meanwhile/data/files/read_some.h"
#include "meanwhile/data/files/text_part.h"
#include "meanwhile/exchange/order.h"
#include "meanwhile/job/agree.h"
#include "meanwhile/job/redistribute.h"
#include "meanwhile/transport/collect.h"
#include "meanwhile/transport/pack.h"

namespace meanwhile::job {

namespace {

using base::Error;
using base::ErrorKind;
using data::Dataset;
using data::InputFile;
using transport::Packer;
using transport::Transport;
using transport::Unpacker;
using Paths = std::vector<std::filesystem::path>;

// Bytes of all arrays, were they on one node.
std::int64_t byte_size(const data::Matrix& x, const data::Whole& whole) {
  const std::int64_t numbers = (whole.labelled + whole.weighted) * whole.rows * 8;
  return numbers + std::visit(
                       [&](const auto& m) -> std::int64_t {
                         using M = std::decay_t<decltype(m)>;
                         constexpr auto kValue = std::int64_t{sizeof(typename M::Value)};
                         if (!data::kIsSparse<M>) return whole.stored * kValue;
                         return whole.stored * (kValue + 4) + (whole.rows + 1) * 8;
                       },
                       x);
}

int shards_of(const data::Matrix& x, const data::Whole& whole, const LoadOptions& options) {
  if (options.shards > 0) return options.shards;
  return data::default_shards(byte_size(x, whole), options.workers_total);
}

void check_shards(const LoadOptions& options) {
  if (options.shards >= 0) return;
  throw Error(ErrorKind::kUsage, "shards: found {}, expected 1 or more", options.shards);
}

// Before anything is opened: what only one node could read would hang the others.
void check_paths(const Paths& paths) {
  for (const auto& path : paths) {
    std::error_code failure;
    const auto type = std::filesystem::status(path, failure).type();
    if (path != "-" && (failure || type == std::filesystem::file_type::regular ||
                        type == std::filesystem::file_type::directory)) {
      continue;
    }
    throw Error(ErrorKind::kUsage,
                "{}: is no file, so only one node could read it; save it to a file that every node "
                "can open",
                data::display_name(path));
  }
}

// Nodes with copies of their own could have different ones.
void check_same(Transport& transport, const std::vector<InputFile>& files) {
  Packer packer;
  agree(transport, [&] {
    for (const InputFile& file : files) {
      packer.put_text(file.path.string());
      packer.put(std::filesystem::file_size(file.path));
    }
  });
  const auto all = all_gather(transport, packer.bytes());
  for (std::size_t node = 1; node < all.size(); ++node) {
    if (all[node] == all[0]) continue;
    throw Error(ErrorKind::kInput, "{}: the files of node {} are not those of node 0",
                data::display_name(files.front().path), node);
  }
}

// Rows of plain text, a range of bytes on each node.
data::SomeRows read_cut(Transport& transport, const std::vector<InputFile>& files,
                        const data::ReadOptions& read) {
  std::unique_ptr<data::TextPart> part;
  Packer quotes;
  agree(transport, [&] {
    part = data::text_part(files, read, transport.rank(), transport.size());
    for (const data::QuoteMap& map : part->quotes()) quotes.put(map);
  });
  std::vector<std::vector<data::QuoteMap>> quotes_of_parts;
  for (const transport::Bytes& bytes : all_gather(transport, quotes.bytes())) {
    Unpacker message(bytes);
    auto& maps = quotes_of_parts.emplace_back();
    while (!message.empty()) maps.push_back(message.get<data::QuoteMap>());
  }
  data::TextRows mine;
  agree(transport, [&] { mine = part->parse(quotes_of_parts); });
  part = nullptr;

  Packer packer;
  packer.put_list(std::span<const std::int64_t>(mine.rows_of_file));
  packer.put(mine.failure.has_value());
  if (mine.failure) {
    packer.put(std::uint64_t{mine.failure->file});
    packer.put(mine.failure->error.kind());
    packer.put_text(mine.failure->error.what());
  }
  packer.put(data::whole_of(mine.data));
  packer.put(mine.data.unknown);
  packer.put(cols(mine.data.x));
  packer.put(std::uint64_t{mine.data.class_names.size()});
  for (const std::string& name : mine.data.class_names) packer.put_text(name);

  std::vector<data::TextRows> parts;
  std::vector<data::RowRange> rows_of_part;
  data::Whole whole;
  data::UnknownWords unknown;
  std::int64_t most_cols = 0;
  data::WordTable words;       // numbered in order of first appearance in the whole
  std::vector<double> number;  // of my words
  for (const transport::Bytes& bytes : all_gather(transport, packer.bytes())) {
    Unpacker message(bytes);
    data::TextRows& rows = parts.emplace_back();
    rows.rows_of_file = message.get_list<std::int64_t>();
    if (message.get<bool>()) {
      const auto file = static_cast<std::size_t>(message.get<std::uint64_t>());
      const auto kind = message.get<ErrorKind>();
      rows.failure = data::TextFailure{file, Error(kind, "{}", message.get_text())};
    }
    const auto one = message.get<data::Whole>();
    rows_of_part.push_back({whole.rows, whole.rows + one.rows});
    whole.rows += one.rows;
    whole.stored += one.stored;
    whole.labelled |= one.labelled;
    whole.weighted |= one.weighted;
    unknown.add(message.get<data::UnknownWords>());
    most_cols = std::max(most_cols, message.get<std::int64_t>());
    const bool is_mine = rows_of_part.size() == static_cast<std::size_t>(transport.rank()) + 1;
    for (auto left = message.get<std::uint64_t>(); left > 0; --left) {
      const auto index = static_cast<double>(words.index(message.get_text()));
      if (is_mine) number.push_back(index);
    }
  }
  throw_first(files, parts);

  data::SomeRows some;
  some.data = std::move(mine.data);
  const data::RowRange rows = rows_of_part[static_cast<std::size_t>(transport.rank())];
  if (rows.begin < rows.end) some.rows = {rows};
  some.whole = whole;
  some.data.class_names = words.words();
  some.data.unknown = unknown;
  if (!number.empty()) {
    base::Buffer<double> labels(some.data.labels.size());
    std::transform(some.data.labels.begin(), some.data.labels.end(), labels.begin(),
                   [&](double label) { return number[static_cast<std::size_t>(label)]; });
    some.data.labels = own(some.data, std::move(labels));
  }
  std::visit([&](auto& m) { m.cols = most_cols; }, some.data.x);
  settle_columns(some.data, read, files);  // on all nodes or on none it throws
  return some;
}

// A part of all but `data`, `shards` and what follows from the rows of this node: that is computed
// here and exchanged. `blocks`: those of this node, as ranges of rows of `data`.
data::Part finish(Transport& transport, Dataset data, const data::Whole& whole,
                  const std::vector<data::Shard>& dealt, const std::vector<data::RowRange>& blocks,
                  int threads) {
  Packer packer;
  agree(transport, [&] {
    const auto labels = label_values(data, blocks, threads);
    packer.put(labels.too_many);
    packer.put_list(std::span<const double>(labels.values));
    packer.put_raw(std::span<const data::Digest>(block_digests(data, blocks, threads)));
  });
  std::vector<data::Digest> digests(
      data::blocks_of(whole.rows, data::block_rows(whole.rows)).size());
  data::LabelValues labels;
  const auto all = all_gather(transport, packer.bytes());
  for (int node = 0; node < transport.size(); ++node) {
    Unpacker message(all[static_cast<std::size_t>(node)]);
    const bool too_many = message.get<bool>();
    labels = merge(labels, {message.get_list<double>(), too_many});
    for (const data::RowRange& block : job::owned_blocks(dealt, node, transport.size())) {
      digests[static_cast<std::size_t>(block.begin / data::block_rows(whole.rows))] =
          message.get<data::Digest>();
    }
  }
  data::Part part;
  part.rows = whole.rows;
  part.stored = whole.stored;
  part.labelled = whole.labelled;
  part.weighted = whole.weighted;
  part.sha256 = sha256(data, whole, digests);
  part.label_values = std::move(labels.values);
  part.data = std::move(data);
  return part;
}

// The shards of this node keep their blocks, as local(block); the others have none.
template <class Local>
std::vector<data::Shard> keep_owned(std::vector<data::Shard> dealt, const Transport& transport,
                                    const Local& local) {
  const auto mine =
      exchange::owned(static_cast<int>(dealt.size()), transport.rank(), transport.size());
  for (data::Shard& shard : dealt) {
    if (shard.index < mine.begin || shard.index >= mine.end) {
      shard.blocks = {};
      continue;
    }
    for (data::RowRange& block : shard.blocks) block = local(block);
  }
  return dealt;
}

data::Part load_mapped(Transport& transport, Dataset data, const std::vector<InputFile>& files,
                       const data::ReadOptions& read, const LoadOptions& options) {
  const data::Whole whole = whole_of(data);
  const int shards = shards_of(data.x, whole, options);
  const auto dealt = data::deal(whole.rows, shards, options.seed);
  const auto blocks = job::owned_blocks(dealt, transport.rank(), transport.size());
  std::optional<Failure> failure;
  agree(transport, [&] {
    if (auto bad = find_bad_row(data, files, blocks, read.threads)) {
      failure = Failure{bad->check, bad->row, bad->error};
    }
  });
  agree(transport, failure);
  settle_columns(data, read, files);
  data::Part part = finish(transport, std::move(data), whole, dealt, blocks, read.threads);
  part.shards = keep_owned(dealt, transport, [](data::RowRange block) { return block; });
  return part;
}

data::Part load_rows(Transport& transport, data::SomeRows some, const data::ReadOptions& read,
                     const LoadOptions& options) {
  const data::Whole whole = some.whole;
  const data::UnknownWords unknown = some.data.unknown;
  const int shards = shards_of(some.data.x, whole, options);
  const auto dealt = data::deal(whole.rows, shards, options.seed);
  Dataset data;
  try {
    data = job::redistribute(transport, std::move(some), dealt);
  } catch (const std::exception& error) {
    // Out of memory, say: those who wait for rows of this node must hear of it.
    transport.fail(ErrorKind::kSystem, error.what());
    throw;
  }
  data.unknown = unknown;
  // In order of row: the i-th block of this node begins at row i * block_rows of it.
  const auto owned = job::owned_blocks(dealt, transport.rank(), transport.size());
  const auto local = [&](data::RowRange block) {
    const auto found =
        std::lower_bound(owned.begin(), owned.end(), block.begin,
                         [](const data::RowRange& a, std::int64_t row) { return a.begin < row; });
    const std::int64_t begin = (found - owned.begin()) * data::block_rows(whole.rows);
    return data::RowRange{begin, begin + block.end - block.begin};
  };
  const auto blocks = data::blocks_of(rows(data.x), data::block_rows(whole.rows));
  data::Part part = finish(transport, std::move(data), whole, dealt, blocks, read.threads);
  part.shards = keep_owned(dealt, transport, local);
  return part;
}

}  // namespace

data::Part load(const Paths& paths, const data::ReadOptions& asked, const LoadOptions& options,
                Transport* transport) {
  if (transport == nullptr || transport->size() == 1) {
    check_shards(options);
    Dataset data = data::read(paths, asked);
    const int shards = shards_of(data.x, whole_of(data), options);
    return data::whole(std::move(data), shards, options.seed, asked.threads);
  }
  std::vector<InputFile> files;
  agree(*transport, [&] {
    check_shards(options);
    check_paths(paths);
    files = data::find_checked_inputs(paths, asked);
  });
  check_same(*transport, files);
  data::ReadOptions read;
  agree(*transport, [&] { read = data::with_vocabulary(files, asked); });
  if (data::can_cut(files)) {
    return load_rows(*transport, read_cut(*transport, files, read), read, options);
  }
  std::optional<Dataset> mapped;
  agree(*transport, [&] { mapped = data::map_rows(files); });
  if (mapped) return load_mapped(*transport, std::move(*mapped), files, read, options);
  // Which node keeps what matters little: rows go to their owners when their number is known.
  data::SomeRows some;
  agree(*transport, [&] {
    some = data::read_some(files, read, [&](std::int64_t block) {
      return block % transport->size() == transport->rank();
    });
  });
  return load_rows(*transport, std::move(some), read, options);
}

}  // namespace meanwhile::job
