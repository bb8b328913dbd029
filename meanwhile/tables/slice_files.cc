#include "meanwhile/tables/slice_files.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "meanwhile/base/error.h"
#include "meanwhile/base/sha256.h"

namespace meanwhile::tables {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;

namespace {

using Digest = std::array<std::int64_t, kDigestWords>;

Digest digest_of(const Slice* slice) {
  Digest words{};
  if (slice == nullptr) return words;
  base::Sha256 hash;
  for (const auto& [name, tensor] : slice->tensors()) {
    hash.add(fmt::format("{} {} {};", name, tensor.dtype, tensor.bytes.size()));
    hash.add(tensor.bytes);
  }
  const auto digest = hash.digest();
  std::memcpy(words.data(), digest.data(), digest.size());
  return words;
}

fs::path file_of(const fs::path& folder, const Table& table, int slice) {
  return folder / fmt::format("{}-{:05}.safetensors", table.name, slice);
}

}  // namespace

std::vector<std::int64_t> digests(const SliceStore& store) {
  std::vector<std::int64_t> all;
  store.each([&](int table, int slice) {
    const Digest words = digest_of(store.read(table, slice).get());
    all.insert(all.end(), words.begin(), words.end());
  });
  return all;
}

void save_slices(const TableSet& set, const SliceStore& store, const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Error(ErrorKind::kSystem, "{}: {}", folder.string(), error.message());
  store.each([&](int table, int slice) {
    const std::shared_ptr<const Slice> content = store.read(table, slice);
    if (content == nullptr) return;
    const Table& of = set.tables[static_cast<std::size_t>(table)];
    data::write_safetensors(
        file_of(folder, of, slice), content->tensors(),
        {{"kind", "slice"}, {"table", of.name}, {"slice", std::to_string(slice)}});
  });
}

void restore_slices(const TableSet& set, SliceStore& store, const fs::path& folder,
                    std::span<const std::int64_t> digests) {
  if (digests.size() != static_cast<std::size_t>(set.count()) * kDigestWords) {
    throw Error(ErrorKind::kInput, "{}: names {} slices of tables, expected {}", folder.string(),
                digests.size() / kDigestWords, set.count());
  }
  std::vector<std::size_t> first = {0};  // of each table
  for (const Slices& slices : set.slices) {
    first.push_back(first.back() + static_cast<std::size_t>(slices.count()));
  }
  store.each([&](int table, int slice) {
    const auto t = static_cast<std::size_t>(table);
    Digest expected;
    const auto at = (first[t] + static_cast<std::size_t>(slice)) * kDigestWords;
    std::copy_n(digests.begin() + static_cast<std::ptrdiff_t>(at), kDigestWords, expected.begin());
    if (expected == Digest{}) return;
    const fs::path file = file_of(folder, set.tables[t], slice);
    if (!fs::exists(file)) {
      throw Error(ErrorKind::kInput,
                  "{}: this slice of a table is missing; the state beside it "
                  "cannot be continued without it",
                  file.string());
    }
    auto content = std::make_shared<const Slice>(set.tables[t], set.slices[t].rows_of(slice),
                                                 data::SafetensorsFile(file), file.string());
    if (digest_of(content.get()) != expected) {
      throw Error(ErrorKind::kInput,
                  "{}: is damaged, or not the slice that the state beside it was saved with",
                  file.string());
    }
    store.write(table, slice, std::move(content));
  });
}

}  // namespace meanwhile::tables
