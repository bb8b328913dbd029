// NumPy's .npz files: a zip archive of .npy arrays. Features are the array named x, data or
// features, or the only one of two dimensions; labels are y, labels or target, weights are w or
// weights; in capitals or not. A sparse matrix that SciPy saved (data, indices, indptr, shape) is
// rows of sparse features.
//
// The directory at the end of the archive counts: names, sizes and places of the members. Members
// are stored or deflated.
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/file_start.h"
#include "meanwhile/data/files/npy.h"
#include "meanwhile/data/files/npy_header.h"
#include "meanwhile/data/files/readers.h"
#include "meanwhile/data/files/row_checks.h"
#include "meanwhile/data/list_text.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;
using Bytes = std::span<const std::byte>;

[[noreturn]] void cut_short() {
  throw Error(ErrorKind::kInput, "is no whole zip archive: a part of it is missing");
}

template <class T>
T number_at(Bytes bytes, std::size_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) cut_short();
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

Bytes part(Bytes bytes, std::size_t at, std::size_t size) {
  if (at > bytes.size() || bytes.size() - at < size) cut_short();
  return bytes.subspan(at, size);
}

struct Member {
  std::string name;  // without .npy
  std::uint16_t method = 0;
  std::uint32_t crc = 0;
  std::uint64_t packed = 0, size = 0, header = 0;
};

// Sizes and places that do not fit into 32 bits are in an extra field.
void take_large(Bytes extra, Member& member) {
  constexpr std::uint64_t kElsewhere = 0xffffffff;
  for (std::size_t at = 0; at + 4 <= extra.size();) {
    const auto id = number_at<std::uint16_t>(extra, at);
    const auto size = number_at<std::uint16_t>(extra, at + 2);
    std::size_t next = at + 4;
    if (id == 1) {
      for (std::uint64_t* value : {&member.size, &member.packed, &member.header}) {
        if (*value != kElsewhere) continue;
        *value = number_at<std::uint64_t>(extra, next);
        next += 8;
      }
    }
    at += std::size_t{4} + size;
  }
}

std::vector<Member> members_of(Bytes file) {
  constexpr std::size_t kEndBytes = 22, kLongestComment = 65535;
  if (file.size() < kEndBytes) cut_short();
  const std::size_t lowest =
      file.size() > kEndBytes + kLongestComment ? file.size() - kEndBytes - kLongestComment : 0;
  std::size_t end = file.size() - kEndBytes;
  while (number_at<std::uint32_t>(file, end) != 0x06054b50) {
    if (end == lowest) cut_short();
    --end;
  }
  const auto count = number_at<std::uint16_t>(file, end + 10);
  std::size_t at = number_at<std::uint32_t>(file, end + 16);
  std::vector<Member> members;
  for (std::uint16_t i = 0; i < count; ++i) {
    if (number_at<std::uint32_t>(file, at) != 0x02014b50) cut_short();
    Member member;
    member.method = number_at<std::uint16_t>(file, at + 10);
    member.crc = number_at<std::uint32_t>(file, at + 16);
    member.packed = number_at<std::uint32_t>(file, at + 20);
    member.size = number_at<std::uint32_t>(file, at + 24);
    const std::size_t name = number_at<std::uint16_t>(file, at + 28);
    const std::size_t extra = number_at<std::uint16_t>(file, at + 30);
    const std::size_t comment = number_at<std::uint16_t>(file, at + 32);
    member.header = number_at<std::uint32_t>(file, at + 42);
    const Bytes letters = part(file, at + 46, name);
    member.name.assign(reinterpret_cast<const char*>(letters.data()), letters.size());
    take_large(part(file, at + 46 + name, extra), member);
    // The name stands before the member, too: what is only in the directory may be damaged.
    const auto place = static_cast<std::size_t>(member.header);
    if (number_at<std::uint32_t>(file, place) != 0x04034b50) cut_short();
    const Bytes again =
        part(file, place + 30, std::size_t{number_at<std::uint16_t>(file, place + 26)});
    if (!std::equal(letters.begin(), letters.end(), again.begin(), again.end())) cut_short();
    if (member.name.ends_with(".npy")) {
      member.name.resize(member.name.size() - 4);
      members.push_back(std::move(member));
    }
    at += 46 + name + extra + comment;
  }
  return members;
}

base::Buffer<std::byte> inflated(Bytes packed, std::uint64_t size) {
  base::Buffer<std::byte> out(static_cast<std::size_t>(size));
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw Error(ErrorKind::kSystem, "zlib: no memory");
  std::size_t in = 0, done = 0;
  int result = Z_OK;
  while (result == Z_OK) {
    constexpr std::size_t kPiece = std::size_t{1} << 30;
    const std::size_t give = std::min(kPiece, packed.size() - in);
    const std::size_t room = std::min(kPiece, out.size() - done);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + in));
    stream.avail_in = static_cast<uInt>(give);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + done);
    stream.avail_out = static_cast<uInt>(room);
    result = inflate(&stream, Z_NO_FLUSH);
    const std::size_t read = give - stream.avail_in, written = room - stream.avail_out;
    in += read;
    done += written;
    if (result == Z_OK && read == 0 && written == 0) break;
  }
  inflateEnd(&stream);
  if (result != Z_STREAM_END || done != out.size()) {
    throw Error(ErrorKind::kInput, "a member is damaged: it cannot be inflated");
  }
  return out;
}

// The members of an archive, unpacked when they are asked for.
class Archive {
 public:
  Archive(Bytes file, std::shared_ptr<const void> owner, std::string name)
      : file_(file), owner_(std::move(owner)), name_(std::move(name)) {
    for (Member& member : members_of(file)) {
      std::string key = member.name;
      members_.emplace(std::move(key), std::move(member));
    }
  }

  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& [name, member] : members_) found.push_back(name);
    return found;
  }
  bool has(const std::string& name) const { return members_.count(name) != 0; }
  // Null when there is none of these.
  const std::string* find(const std::vector<std::string>& wanted) const {
    for (const auto& [name, member] : members_) {
      std::string lower = name;
      std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      });
      if (std::find(wanted.begin(), wanted.end(), lower) != wanted.end()) return &name;
    }
    return nullptr;
  }

  Dataset array(const std::string& name) const {
    auto [bytes, owner] = contents(name);
    return read_npy(bytes, name_ + ": " + name, std::move(owner), false);
  }
  std::int64_t cols(const std::string& name) const {
    return parse_npy_header(contents(name).first).cols;
  }
  // An array of one column.
  base::Buffer<double> numbers(const std::string& name) const {
    const Dataset data = array(name);
    if (data::cols(data.x) != 1) {
      throw Error(ErrorKind::kInput, "array {} has {} columns, expected one", name,
                  data::cols(data.x));
    }
    base::Buffer<double> values(static_cast<std::size_t>(rows(data.x)));
    std::visit([&](const auto& m) { std::copy_n(m.values, m.rows, values.data()); }, data.x);
    return values;
  }

 private:
  static void check(Bytes bytes, const Member& member) {
    const auto found = crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
    if (found == member.crc) return;
    throw Error(ErrorKind::kInput, "array {} is damaged: its checksum is wrong", member.name);
  }

  std::pair<Bytes, std::shared_ptr<const void>> contents(const std::string& name) const {
    const Member& member = members_.at(name);
    const auto at = static_cast<std::size_t>(member.header);
    if (number_at<std::uint32_t>(file_, at) != 0x04034b50) cut_short();
    const std::size_t skip = std::size_t{30} + number_at<std::uint16_t>(file_, at + 26) +
                             number_at<std::uint16_t>(file_, at + 28);
    const Bytes packed = part(file_, at + skip, static_cast<std::size_t>(member.packed));
    if (member.method == 0) {
      check(packed, member);
      return {packed, owner_};
    }
    if (member.method != 8) {
      throw Error(ErrorKind::kInput,
                  "array {} is packed by method {}; save it with savez or "
                  "savez_compressed",
                  name, member.method);
    }
    // Deflate packs at most 1032 to one.
    if (member.size / 1033 > member.packed) cut_short();
    auto buffer = std::make_shared<base::Buffer<std::byte>>(inflated(packed, member.size));
    const Bytes bytes = buffer->span();
    check(bytes, member);
    return {bytes, std::move(buffer)};
  }

  const Bytes file_;
  const std::shared_ptr<const void> owner_;
  const std::string name_;
  std::map<std::string, Member> members_;
};

template <class T>
Dataset sparse_of(const Archive& archive, std::int64_t rows, std::int64_t cols, const T* values,
                  std::size_t stored) {
  Dataset data;
  const auto starts = archive.numbers("indptr"), indices = archive.numbers("indices");
  if (static_cast<std::int64_t>(starts.size()) != rows + 1 || indices.size() != stored) {
    throw Error(ErrorKind::kInput, "indptr and indices do not fit a CSR matrix of {} rows", rows);
  }
  base::Buffer<std::int64_t> row_start(starts.size());
  base::Buffer<std::int32_t> columns(stored);
  base::Buffer<T> copy(stored);
  std::transform(starts.begin(), starts.end(), row_start.begin(),
                 [](double at) { return static_cast<std::int64_t>(at); });
  if (row_start[0] != 0 || row_start[row_start.size() - 1] != static_cast<std::int64_t>(stored)) {
    throw Error(ErrorKind::kInput, "indptr does not run from 0 to {}", stored);
  }
  for (std::size_t i = 0; i < stored; ++i) {
    if (!(indices[i] >= 0 && indices[i] < static_cast<double>(cols))) {
      throw Error(ErrorKind::kInput, "indices[{}] is {}, expected 0 to {}", i, indices[i],
                  cols - 1);
    }
    columns[i] = static_cast<std::int32_t>(indices[i]);
  }
  std::copy_n(values, stored, copy.data());
  for (std::size_t row = 0; row + 1 < row_start.size(); ++row) {
    check_row(row_start.span(), columns.span(), row);
  }
  data.x = Sparse<T>{own(data, std::move(row_start)).data(), own(data, std::move(columns)).data(),
                     own(data, std::move(copy)).data(), rows, cols};
  return data;
}

Dataset read_scipy(const Archive& archive) {
  const auto shape = archive.numbers("shape");
  const Dataset values = archive.array("data");
  constexpr double kMost = INT32_MAX;
  if (shape.size() != 2 || !(shape[0] >= 1 && shape[0] < 1e15) ||
      !(shape[1] >= 1 && shape[1] <= kMost) || cols(values.x) != 1) {
    throw Error(ErrorKind::kInput, "shape and data are not those of a sparse matrix");
  }
  const auto rows_said = static_cast<std::int64_t>(shape[0]);
  const auto cols_said = static_cast<std::int64_t>(shape[1]);
  const auto stored = static_cast<std::size_t>(rows(values.x));
  if (const auto* floats = std::get_if<Dense<float>>(&values.x)) {
    return sparse_of(archive, rows_said, cols_said, floats->values, stored);
  }
  return sparse_of(archive, rows_said, cols_said, std::get<Dense<double>>(values.x).values, stored);
}

// The name of the array of features.
std::string features_in(const Archive& archive) {
  if (const std::string* named = archive.find({"x", "data", "features"})) return *named;
  const auto names = archive.names();
  std::vector<std::string> wide;
  for (const std::string& name : names) {
    if (archive.cols(name) > 1) wide.push_back(name);
  }
  if (wide.size() == 1) return wide.front();
  if (names.size() == 1) return names.front();
  throw Error(ErrorKind::kInput,
              "holds the arrays {}; expected one, or features named x and labels named y",
              list_text(names));
}

Dataset read_archive(const BinaryFile& file, const ReadOptions&) {
  try {
    const Archive archive(file.bytes, file.owner, file.name);
    if (archive.names().empty()) throw Error(ErrorKind::kInput, "holds no arrays");
    const bool scipy = archive.has("indptr") && archive.has("indices") && archive.has("data") &&
                       archive.has("shape");
    Dataset data = scipy ? read_scipy(archive) : archive.array(features_in(archive));
    data.mapped = false;
    const auto column = [&](const std::vector<std::string>& names) -> std::span<const double> {
      const std::string* const name = archive.find(names);
      if (name == nullptr) return {};
      auto values = archive.numbers(*name);
      if (static_cast<std::int64_t>(values.size()) != rows(data.x)) {
        throw Error(ErrorKind::kInput, "array {} has {} values for {} rows", *name, values.size(),
                    rows(data.x));
      }
      return own(data, std::move(values));
    };
    data.labels = column({"y", "labels", "target"});
    data.weights = column({"w", "weights"});
    for (std::size_t i = 0; i < data.labels.size(); ++i) check_label(i, data.labels[i], 0);
    for (std::size_t i = 0; i < data.weights.size(); ++i) check_weight(i, data.weights[i]);
    return data;
  } catch (Error& error) {
    if (std::string_view(error.what()).starts_with(file.name)) throw;
    throw error.in(file.name);
  }
}

// A zip archive whose first member is an array.
Match recognise_archive(const FileStart& start) {
  if (!start.bytes.starts_with(std::string_view("PK\x03\x04", 4))) return Match::kNo;
  return start.bytes.substr(0, 300).find(".npy") != start.bytes.npos ? Match::kCertain : Match::kNo;
}

}  // namespace

constinit const Reader kNpzReader = {
    .name = "npz",
    .title = "NPZ",
    .file_names = {"*.npz"},
    .recognised_by = "a zip archive with `.npy` in its first name",
    .gives = "dense or sparse, weights, labels",
    .recognise = recognise_archive,
    .has_roles = true,
    .kind = BinaryKind{.read = read_archive},
};

}  // namespace meanwhile::data
