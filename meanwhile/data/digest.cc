#include "meanwhile/data/digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "meanwhile/base/file.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/base/sha256.h"
#include "meanwhile/data/release_rows.h"
#include "meanwhile/data/safetensors.h"

namespace meanwhile::data {

namespace {

template <class T>
std::span<const std::byte> bytes_of(const T* data, std::int64_t begin, std::int64_t end) {
  return std::as_bytes(std::span(data + begin, static_cast<std::size_t>(end - begin)));
}

void add(base::Sha256& hash, std::span<const std::byte> bytes, bool release) {
  // A block of wide rows is large; at most so much of a mapped file is in memory for it.
  constexpr std::size_t kStep = std::size_t{1} << 20;
  for (std::size_t at = 0; at < bytes.size(); at += kStep) {
    const auto step = bytes.subspan(at, std::min(kStep, bytes.size() - at));
    hash.add(step);
    if (release) base::release_mapped(step);
  }
}

template <class M>
void add_rows(const M& m, RowRange rows, bool release, base::Sha256& hash) {
  if constexpr (kIsSparse<M>) {
    const std::int64_t first = m.row_start[rows.begin], last = m.row_start[rows.end];
    std::array<std::int64_t, kBlockRows> lengths;  // the place of a row among others must not count
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      lengths[static_cast<std::size_t>(i - rows.begin)] = m.row_start[i + 1] - m.row_start[i];
    }
    hash.add(bytes_of(lengths.data(), 0, rows.end - rows.begin));
    add(hash, bytes_of(m.columns, first, last), release);
    add(hash, bytes_of(m.values, first, last), release);
  } else {
    add(hash, bytes_of(m.values, rows.begin * m.cols, rows.end * m.cols), release);
  }
}

}  // namespace

std::string describe(const Dataset& data, const Whole& whole) {
  std::string text = std::visit(
      [&](const auto& m) {
        using M = std::decay_t<decltype(m)>;
        return fmt::format("{} {} {} x {}, {} stored, {} weights, {} labels\n",
                           kIsSparse<M> ? "sparse" : "dense", dtype_name<typename M::Value>(),
                           whole.rows, m.cols, whole.stored, whole.weighted ? whole.rows : 0,
                           whole.labelled ? whole.rows : 0);
      },
      data.x);
  for (const std::string& name : data.class_names) {
    text += fmt::format("{} {}\n", name.size(), name);
  }
  return text;
}

std::vector<RowRange> blocks_of(std::int64_t rows, std::int64_t block) {
  std::vector<RowRange> blocks;
  for (std::int64_t begin = 0; begin < rows; begin += block) {
    blocks.push_back({begin, std::min(begin + block, rows)});
  }
  return blocks;
}

std::vector<Digest> block_digests(const Dataset& data, std::span<const RowRange> blocks,
                                  base::Threads threads) {
  // Blocks of narrow rows are a few KiB, so a thread takes a run of them.
  constexpr std::int64_t kRun = 16;
  const auto count = static_cast<std::int64_t>(blocks.size());
  const std::int64_t runs = count / kRun + (count % kRun != 0);
  std::vector<Digest> digests(blocks.size());
  base::ThreadPool pool(threads.at_most(runs));
  pool.run(runs, [&](std::int64_t run, int) {
    base::Sha256 hash;
    const auto end = static_cast<std::size_t>(std::min(count, (run + 1) * kRun));
    for (auto b = static_cast<std::size_t>(run * kRun); b < end; ++b) {
      const RowRange rows = blocks[b];
      std::visit([&](const auto& m) { add_rows(m, rows, data.mapped, hash); }, data.x);
      if (!data.weights.empty()) hash.add(bytes_of(data.weights.data(), rows.begin, rows.end));
      if (!data.labels.empty()) hash.add(bytes_of(data.labels.data(), rows.begin, rows.end));
      digests[b] = hash.digest();
    }
    // The system has mapped what lies around, too.
    const auto first = static_cast<std::size_t>(run * kRun);
    if (data.mapped) release_rows(data.x, {blocks[first].begin, blocks[end - 1].end});
  });
  return digests;
}

Whole whole_of(const Dataset& data) {
  return {rows(data.x), stored(data.x), !data.labels.empty(), !data.weights.empty()};
}

std::string sha256(const Dataset& data, const Whole& whole, std::span<const Digest> digests) {
  base::Sha256 hash;
  hash.add(describe(data, whole));
  hash.add(std::as_bytes(digests));
  return hash.hex();
}

std::string sha256(const Dataset& data, base::Threads threads) {
  return sha256(data, whole_of(data),
                block_digests(data, blocks_of(rows(data.x), block_rows(rows(data.x))), threads));
}

}  // namespace meanwhile::data
