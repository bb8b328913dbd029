#include "meanwhile/job/load.h"

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "meanwhile/data/content.h"
#include "meanwhile/data/digest.h"
#include "meanwhile/data/files/column_file.h"
#include "meanwhile/data/files/read_parts.h"
#include "meanwhile/data/files/read_some.h"
#include "meanwhile/data/files/settle_table.h"
#include "meanwhile/data/files/text_part.h"
#include "meanwhile/exchange/order.h"
#include "meanwhile/job/agree.h"
#include "meanwhile/job/input_check.h"
#include "meanwhile/job/load_content.h"
#include "meanwhile/job/load_text.h"
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

// Bytes of all arrays of the whole data set, given the type and columns of `x`.
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
  return data::default_shards(byte_size(x, whole));
}

// The part that holds `data`, still without shards. Each worker hashes its own blocks and finds
// their label values; then all workers exchange both. `blocks`: the blocks of this worker, as
// ranges of rows of `data`.
data::Part make_part(Transport& transport, Dataset data, const data::Whole& whole,
                     const std::vector<data::Shard>& dealt,
                     const std::vector<data::RowRange>& blocks, base::Threads threads) {
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
  for (int worker = 0; worker < transport.size(); ++worker) {
    Unpacker message(all[static_cast<std::size_t>(worker)]);
    const bool too_many = message.get<bool>();
    labels = merge(labels, {message.get_list<double>(), too_many});
    for (const data::RowRange& block : owned_blocks(dealt, worker, transport.size())) {
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

// The shards of this worker keep their blocks, as local(block); the other shards lose theirs.
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

// Checks the rows of `blocks`, which together with those of the other workers are all.
void check_mapped(Transport& transport, Dataset& data, const std::vector<InputFile>& files,
                  const std::vector<data::RowRange>& blocks, const data::ReadOptions& read) {
  std::optional<Failure> failure;
  agree(transport, [&] {
    if (auto bad = find_bad_row(data, files, blocks, read.threads)) {
      failure = Failure{bad->check, bad->row, bad->error};
    }
  });
  agree(transport, failure);
  settle_columns(data, read, files);
}

bool by_content(const Dataset& data, const LoadOptions& options, base::Threads threads) {
  if (options.deal) return options.deal == data::Deal::kContent;
  return std::ssize(data::distinct_keys(data, {0, rows(data.x)}, threads)) <= data::kSmallRows;
}

bool by_content(Transport& transport, const ReadRows& mine, const LoadOptions& options,
                base::Threads threads) {
  if (options.deal) return options.deal == data::Deal::kContent;
  return is_small(transport, mine, threads);
}

data::Part load_mapped(Transport& transport, Dataset data, const std::vector<InputFile>& files,
                       const data::ReadOptions& read, const LoadOptions& options) {
  agree(transport, [&] {
    const data::RowRange all[] = {{0, rows(data.x)}};
    attach_columns(data, all, all[0].end, read);
  });
  const data::Whole whole = whole_of(data);
  const bool may_be_content = options.deal != data::Deal::kBlocks;
  if (may_be_content) {
    // Which rows a worker reads does not matter: they go to their owners.
    const std::int64_t workers = transport.size(), rank = transport.rank();
    const data::RowRange some{whole.rows * rank / workers, whole.rows * (rank + 1) / workers};
    auto blocks = data::blocks_of(some.end - some.begin, data::kBlockRows);
    for (data::RowRange& block : blocks) block.begin += some.begin, block.end += some.begin;
    check_mapped(transport, data, files, blocks, read);
    const ReadRows mine{data, some, whole};
    if (by_content(transport, mine, options, read.threads)) {
      data = data::with_sorted_classes(std::move(data), some);
      return load_content(transport, mine, options, read.threads);
    }
  }
  const int shards = shards_of(data.x, whole, options);
  const auto dealt = data::deal(whole.rows, shards, options.seed);
  const auto blocks = owned_blocks(dealt, transport.rank(), transport.size());
  if (!may_be_content) check_mapped(transport, data, files, blocks, read);
  data::Part part = make_part(transport, std::move(data), whole, dealt, blocks, read.threads);
  part.shards = keep_owned(dealt, transport, [](data::RowRange block) { return block; });
  return part;
}

// Adds up counts over all workers, in pieces that fit into a message.
void add_up(Transport& transport, std::span<std::int64_t> counts) {
  constexpr std::size_t kPiece = 1 << 20;
  for (std::size_t at = 0; at < counts.size(); at += kPiece) {
    const auto piece = counts.subspan(at, std::min(kPiece, counts.size() - at));
    const auto all = all_gather(transport, std::as_bytes(piece));
    std::fill(piece.begin(), piece.end(), 0);
    std::vector<std::int64_t> theirs(piece.size());
    for (const transport::Bytes& bytes : all) {
      Unpacker(bytes).get_raw(std::span(theirs));
      for (std::size_t i = 0; i < piece.size(); ++i) piece[i] += theirs[i];
    }
  }
}

// Rows of a table are encoded before they are dealt, so that shards do not depend on raw rows.
void settle(Transport& transport, data::SomeRows& some, const std::vector<InputFile>& files,
            const data::ReadOptions& read) {
  if (!some.counts.empty()) {
    const std::int64_t rows = some.whole.rows;
    some.data = settle_table(std::move(some.data), some.numbering, some.counts, rows, read,
                             add_up_over(&transport), data::display_name(files.front().path));
    std::int64_t stored[] = {data::stored(some.data.x)};
    add_up(transport, stored);
    some.whole.stored = stored[0];
  }
  settle_columns(some.data, read, files);  // throws on all workers or on none
  agree(transport, [&] { attach_columns(some.data, some.rows, some.whole.rows, read); });
  some.whole.labelled |= !read.labels.empty();
  some.whole.weighted |= !read.weights.empty();
}

data::Part load_rows(Transport& transport, data::SomeRows some, const std::vector<InputFile>& files,
                     const data::ReadOptions& read, const LoadOptions& options) {
  try {
    settle(transport, some, files, read);
  } catch (const std::bad_alloc& error) {
    transport.fail(ErrorKind::kSystem, error.what());
    throw;
  }
  const data::Whole whole = some.whole;
  const ReadRows mine{some.data, {0, rows(some.data.x)}, whole};
  if (by_content(transport, mine, options, read.threads)) {
    some.data = data::with_sorted_classes(std::move(some.data), mine.rows);
    return load_content(transport, mine, options, read.threads);
  }
  const data::UnknownWords unknown = some.data.unknown;
  const auto table = some.data.table;
  const auto notes = some.data.notes;
  const int shards = shards_of(some.data.x, whole, options);
  const auto dealt = data::deal(whole.rows, shards, options.seed);
  Dataset data;
  try {
    data = redistribute(transport, std::move(some), dealt);
  } catch (const std::exception& error) {
    // Out of memory, say: the workers that wait for rows of this one must hear of it.
    transport.fail(ErrorKind::kSystem, error.what());
    throw;
  }
  data.unknown = unknown;
  data.table = table;
  data.notes = notes;
  const auto owned = owned_blocks(dealt, transport.rank(), transport.size());
  const auto local = [&](data::RowRange block) {
    return local_block(owned, block, data::block_rows(whole.rows));
  };
  const auto blocks = data::blocks_of(rows(data.x), data::block_rows(whole.rows));
  data::Part part = make_part(transport, std::move(data), whole, dealt, blocks, read.threads);
  part.shards = keep_owned(dealt, transport, local);
  return part;
}

}  // namespace

data::AddUp add_up_over(Transport* transport) {
  if (transport == nullptr || transport->size() == 1) return data::add_up_alone;
  return [transport](std::span<std::int64_t> counts) { add_up(*transport, counts); };
}

data::Part deal_all(Dataset data, const LoadOptions& options, base::Threads threads) {
  if (!by_content(data, options, threads)) {
    const int shards = shards_of(data.x, whole_of(data), options);
    return data::whole(std::move(data), shards, options.seed, threads);
  }
  const bool labelled = !data.labels.empty();
  data = data::with_sorted_classes(std::move(data), {0, rows(data.x)});
  const data::ContentDeal deal{options.shards, options.seed, options.merge};
  data::ContentRows dealt = data::deal_within(data, deal, options.memory, threads);
  data = {};  // its memory
  check_weights(dealt.read, rows(dealt.data.x));
  return data::part_of(std::move(dealt), labelled, threads);
}

data::Part load(const Paths& paths, const data::ReadOptions& asked, const LoadOptions& options,
                Transport* transport) {
  if (transport == nullptr || transport->size() == 1) {
    check_shards(options.shards);
    return deal_all(data::read(paths, asked), options, asked.threads);
  }
  std::vector<InputFile> files;
  agree(*transport, [&] {
    check_shards(options.shards);
    check_paths(paths);
    files = data::find_checked_inputs(paths, asked);
  });
  Paths names;
  for (const InputFile& file : files) names.push_back(file.path);
  check_same(*transport, names);
  data::ReadOptions read;
  agree(*transport, [&] { read = data::with_vocabulary(files, asked); });
  if (data::can_cut(files)) {
    return load_rows(*transport, load_text(*transport, files, read), files, read, options);
  }
  std::optional<Dataset> mapped;
  agree(*transport, [&] { mapped = data::map_rows(files, read); });
  if (mapped) return load_mapped(*transport, std::move(*mapped), files, read, options);
  // Any even division will do: rows go to their owners once their number is known.
  data::SomeRows some;
  agree(*transport, [&] {
    some = data::read_some(files, read, [&](std::int64_t block) {
      return block % transport->size() == transport->rank();
    });
  });
  return load_rows(*transport, std::move(some), files, read, options);
}

}  // namespace meanwhile::job
