#include "meanwhile/tables/slice_files.h"

#include <algorithm>
#include <cstring>

#include "meanwhile/base/error.h"
#include "meanwhile/base/sha256.h"

namespace meanwhile::tables {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;

Digest digest_of(const std::map<std::string, data::Tensor>& tensors) {
  base::Sha256 hash;
  for (const auto& [name, tensor] : tensors) {
    hash.add(fmt::format("{} {} {};", name, tensor.dtype, tensor.bytes.size()));
    hash.add(tensor.bytes);
  }
  const auto digest = hash.digest();
  Digest words;
  std::memcpy(words.data(), digest.data(), digest.size());
  return words;
}

Digest digest_at(std::span<const std::int64_t> digests, std::size_t index) {
  Digest digest;
  std::copy_n(digests.begin() + static_cast<std::ptrdiff_t>(index * kDigestWords), kDigestWords,
              digest.begin());
  return digest;
}

fs::path slice_file(const fs::path& folder, const Table& table, int slice) {
  return folder / fmt::format("{}-{:05}.safetensors", table.name, slice);
}

data::Metadata slice_metadata(const Table& table, int slice) {
  return {{"kind", "slice"}, {"table", table.name}, {"slice", std::to_string(slice)}};
}

std::vector<std::int64_t> digests(const SliceStore& store) {
  std::vector<std::int64_t> all;
  store.each([&](int table, int slice) {
    const std::shared_ptr<const Slice> content = store.read(table, slice);
    const Digest words = content == nullptr ? Digest{} : digest_of(content->tensors());
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
    data::write_safetensors(slice_file(folder, of, slice), content->tensors(),
                            slice_metadata(of, slice));
  });
}

std::shared_ptr<const Slice> read_slice(const TableSet& set, int table, int slice,
                                        const fs::path& folder, const Digest& expected) {
  const auto t = static_cast<std::size_t>(table);
  const fs::path file = slice_file(folder, set.tables[t], slice);
  if (!fs::exists(file)) {
    throw Error(ErrorKind::kInput,
                "{}: this slice of a table is missing; the state beside it "
                "cannot be continued without it",
                file.string());
  }
  auto content = std::make_shared<const Slice>(set.tables[t], set.slices[t].rows_of(slice),
                                               data::SafetensorsFile(file), file.string());
  if (digest_of(content->tensors()) != expected) {
    throw Error(ErrorKind::kInput,
                "{}: is damaged, or not the slice that the state beside it was saved with",
                file.string());
  }
  return content;
}

void check_digests(const TableSet& set, std::span<const std::int64_t> digests,
                   const std::string& name) {
  if (digests.size() == static_cast<std::size_t>(set.count()) * kDigestWords) return;
  throw Error(ErrorKind::kInput, "{}: names {} slices of tables, expected {}", name,
              digests.size() / kDigestWords, set.count());
}

void restore_slices(const TableSet& set, SliceStore& store, const fs::path& folder,
                    std::span<const std::int64_t> digests) {
  check_digests(set, digests, folder.string());
  store.each([&](int table, int slice) {
    const Digest expected = digest_at(digests, set.index(table, slice));
    if (expected == Digest{}) return;
    store.write(table, slice, read_slice(set, table, slice, folder, expected));
  });
}

}  // namespace meanwhile::tables
