#include "meanwhile/data/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>

#include "meanwhile/base/error.h"
#include "meanwhile/base/sha256.h"
#include "meanwhile/data/list_text.h"

static_assert(std::endian::native == std::endian::little, "safetensors are read where they lie");

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;
using nlohmann::json;

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kMaxHeaderBytes = 100'000'000;  // also the limit of the reference reader
constexpr std::size_t kAlignment = 64;

// Bits of an element of each type of the format; 0 for an unknown type.
int dtype_bits(std::string_view dtype) {
  static constexpr std::pair<std::string_view, int> kBits[] = {
      {"F64", 64},    {"I64", 64},    {"U64", 64},        {"C64", 64},        {"F32", 32},
      {"I32", 32},    {"U32", 32},    {"F16", 16},        {"BF16", 16},       {"I16", 16},
      {"U16", 16},    {"I8", 8},      {"U8", 8},          {"BOOL", 8},        {"F8_E4M3", 8},
      {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"F6_E2M3", 6},
      {"F6_E3M2", 6}, {"F4", 4}};
  for (const auto& [name, bits] : kBits) {
    if (name == dtype) return bits;
  }
  return 0;
}

// Bytes of a tensor. Absent if they do not fit in 64 bits, or end within a byte.
std::optional<std::size_t> tensor_bytes(int bits, const std::vector<std::int64_t>& shape) {
  std::int64_t total = bits;
  for (const std::int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(total, size, &total)) return std::nullopt;
  }
  if (total % 8 != 0) return std::nullopt;
  return static_cast<std::size_t>(total / 8);
}

[[noreturn]] void bad_header(std::string_view what) {
  throw Error(ErrorKind::kInput, "not a safetensors file: {}", what);
}

// The JSON of a header. Also refuses names used twice, and nesting deeper than any header has,
// which limits the memory that a hostile file can make us use.
json parse_header(std::string_view text) {
  std::set<std::string> names;
  const auto check = [&names](int depth, json::parse_event_t event, json& value) {
    if (depth > 3) bad_header("its header is nested too deep");
    if (event == json::parse_event_t::key && depth == 1 &&
        !names.insert(value.get<std::string>()).second) {
      throw Error(ErrorKind::kInput, "two tensors are named '{}'", value.get<std::string>());
    }
    return true;
  };
  json header;
  try {
    header = json::parse(text, check);
  } catch (const json::exception& e) {
    bad_header(fmt::format("its header is not JSON ({})", e.what()));
  }
  if (!header.is_object()) bad_header("its header is not a JSON object");
  return header;
}

Metadata parse_metadata(const json& object) {
  if (!object.is_object()) bad_header("__metadata__ is not an object of strings");
  Metadata metadata;
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string()) bad_header(fmt::format("metadata '{}' is not a string", key));
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

std::vector<std::int64_t> parse_counts(const json& info, const char* key) {
  const auto found = info.find(key);
  if (found == info.end() || !found->is_array()) {
    throw Error(ErrorKind::kInput, "its \"{}\" is missing or not a list", key);
  }
  std::vector<std::int64_t> counts;
  for (const json& value : *found) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) {
      throw Error(ErrorKind::kInput, "its \"{}\" holds values that are not counts", key);
    }
    counts.push_back(value.get<std::int64_t>());
  }
  return counts;
}

// A tensor's place in the data, [begin, end), before it is known to be in the file.
struct Placed {
  std::int64_t begin, end;
  std::string name;
  Tensor tensor;
};

Placed parse_tensor(const std::string& name, const json& info) {
  if (!info.is_object()) throw Error(ErrorKind::kInput, "is not described by an object");
  const auto dtype = info.find("dtype");
  if (dtype == info.end() || !dtype->is_string()) {
    throw Error(ErrorKind::kInput, "its \"dtype\" is missing or not a string");
  }
  Tensor tensor{dtype->get<std::string>(), parse_counts(info, "shape"), {}};
  const std::vector<std::int64_t> place = parse_counts(info, "data_offsets");
  if (place.size() != 2 || place[0] > place[1]) {
    throw Error(ErrorKind::kInput, "its \"data_offsets\" are not [begin, end]");
  }
  const int bits = dtype_bits(tensor.dtype);
  if (bits == 0) throw Error(ErrorKind::kInput, "its dtype '{}' is unknown", tensor.dtype);
  const std::optional<std::size_t> bytes = tensor_bytes(bits, tensor.shape);
  if (!bytes) {
    throw Error(ErrorKind::kInput, "its shape [{}] of {} is not a whole number of bytes",
                list_text(tensor.shape), tensor.dtype);
  }
  if (*bytes != static_cast<std::size_t>(place[1] - place[0])) {
    throw Error(ErrorKind::kInput, "its shape [{}] of {} needs {} bytes, its offsets span {}",
                list_text(tensor.shape), tensor.dtype, *bytes, place[1] - place[0]);
  }
  return {place[0], place[1], name, std::move(tensor)};
}

}  // namespace

template <class T>
std::span<const T> Tensor::as() const {
  if (dtype != dtype_name<T>()) {
    throw Error(ErrorKind::kInput, "is a tensor of {}, expected {}", dtype, dtype_name<T>());
  }
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(T) != 0) {
    throw Error(ErrorKind::kInput, "does not begin at a multiple of its {} bytes an element",
                sizeof(T));
  }
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}
template std::span<const float> Tensor::as<float>() const;
template std::span<const double> Tensor::as<double>() const;
template std::span<const std::int32_t> Tensor::as<std::int32_t>() const;
template std::span<const std::int64_t> Tensor::as<std::int64_t>() const;

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : mapping_(std::make_shared<const base::MappedFile>(path)), name_(path.string()) {
  parse(mapping_->bytes());
}

SafetensorsFile::SafetensorsFile(std::span<const std::byte> bytes, const std::string& name)
    : name_(name) {
  parse(bytes);
}

void SafetensorsFile::parse(std::span<const std::byte> bytes) try {
  if (bytes.empty()) throw Error(ErrorKind::kInput, "is empty");
  if (bytes.size() < kLengthBytes) bad_header(fmt::format("only {} bytes", bytes.size()));
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kMaxHeaderBytes) {
    bad_header(
        fmt::format("its header would have {} bytes, the limit is {}", length, kMaxHeaderBytes));
  }
  const std::size_t data_begin = kLengthBytes + static_cast<std::size_t>(length);
  if (bytes.size() < data_begin) {
    throw Error(ErrorKind::kInput, "cut short: {} bytes, the header alone has {}", bytes.size(),
                data_begin);
  }
  const json header = parse_header({reinterpret_cast<const char*>(bytes.data()) + kLengthBytes,
                                    static_cast<std::size_t>(length)});

  std::vector<Placed> placed;
  for (const auto& [name, info] : header.items()) {
    if (name == "__metadata__") {
      metadata_ = parse_metadata(info);
      continue;
    }
    try {
      placed.push_back(parse_tensor(name, info));
    } catch (Error& e) {
      e.in(fmt::format("tensor '{}'", name));
      throw;
    }
  }

  std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  header_ = {reinterpret_cast<const char*>(bytes.data()), data_begin};
  data_ = bytes.subspan(data_begin);
  std::int64_t end = 0;
  for (const Placed& tensor : placed) {
    if (tensor.begin != end) {
      throw Error(ErrorKind::kInput, "tensor '{}' begins at byte {} of the data, {} byte {}",
                  tensor.name, tensor.begin,
                  tensor.begin < end ? "inside another that ends at" : "the one before ends at",
                  end);
    }
    end = tensor.end;
  }
  // Counted from the offsets, each below 2^63; the sum with the header cannot wrap in 64 bits.
  const std::uint64_t promised = data_begin + static_cast<std::uint64_t>(end);
  if (promised > bytes.size()) {
    throw Error(ErrorKind::kInput, "cut short: {} bytes, the header promises {}", bytes.size(),
                promised);
  }
  if (promised < bytes.size()) {
    throw Error(ErrorKind::kInput, "{} bytes follow the last tensor", bytes.size() - promised);
  }
  for (Placed& tensor : placed) {
    tensor.tensor.bytes = data_.subspan(static_cast<std::size_t>(tensor.begin),
                                        static_cast<std::size_t>(tensor.end - tensor.begin));
    tensors_.emplace(std::move(tensor.name), std::move(tensor.tensor));
  }
} catch (Error& e) {
  e.in(name_);
  throw;
}

Seal SafetensorsFile::seal() const { return check_seal(header_, data_); }

const Tensor& SafetensorsFile::tensor(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found != tensors_.end()) return found->second;
  std::vector<std::string_view> names;
  for (const auto& [known, tensor] : tensors_) names.push_back(known);
  throw Error(ErrorKind::kInput, "{}: no tensor '{}'; it holds: {}", name_, name,
              names.empty() ? "none" : list_text(names));
}

SafetensorsHeader safetensors_header(const std::vector<TensorSpec>& specs, const Metadata& metadata,
                                     std::size_t min_bytes) {
  SafetensorsHeader header;
  json object = json::object();
  if (!metadata.empty()) object["__metadata__"] = metadata;
  std::size_t end = 0;
  for (const TensorSpec& spec : specs) {
    const int bits = dtype_bits(spec.dtype);
    const std::optional<std::size_t> bytes = tensor_bytes(bits, spec.shape);
    std::size_t next = 0;
    if (bits == 0 || !bytes || __builtin_add_overflow(end, *bytes, &next) || next > INT64_MAX / 2) {
      throw Error(ErrorKind::kUsage, "no tensor '{}' of type {} and shape [{}] can be written",
                  spec.name, spec.dtype, list_text(spec.shape));
    }
    object[spec.name] = {
        {"dtype", spec.dtype}, {"shape", spec.shape}, {"data_offsets", {end, next}}};
    header.offsets.push_back(end);
    end = next;
  }
  // JSON is UTF-8; a name in another encoding must not cost the file.
  const std::string text = object.dump(-1, ' ', false, json::error_handler_t::replace);
  const std::size_t least = std::max(kLengthBytes + text.size(), min_bytes);
  const std::size_t total = (least + kAlignment - 1) / kAlignment * kAlignment;
  if (total - kLengthBytes > kMaxHeaderBytes) {
    throw Error(ErrorKind::kUsage, "the names and metadata take {} bytes, the limit is {}",
                text.size(), kMaxHeaderBytes);
  }
  const std::uint64_t length = total - kLengthBytes;
  header.text.assign(reinterpret_cast<const char*>(&length), kLengthBytes);
  header.text += text;
  header.text.resize(total, ' ');
  for (std::size_t& offset : header.offsets) offset += total;
  header.file_bytes = total + end;
  return header;
}

namespace {

// The pieces of a file of these tensors, in order: the header, then each tensor.
struct Pieces {
  SafetensorsHeader header;
  std::vector<std::span<const std::byte>> tensors;
};

Pieces pieces_of(const std::map<std::string, Tensor>& tensors, Metadata metadata) {
  std::vector<TensorSpec> specs;
  for (const auto& [name, tensor] : tensors) specs.push_back({name, tensor.dtype, tensor.shape});
  std::stable_sort(specs.begin(), specs.end(), [](const TensorSpec& a, const TensorSpec& b) {
    return dtype_bits(a.dtype) > dtype_bits(b.dtype);
  });
  metadata[kSeal] = blank_seal();
  Pieces pieces{safetensors_header(specs, metadata), {}};
  SafetensorsHeader& header = pieces.header;
  base::Sha256 hash;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const std::span<const std::byte> bytes = tensors.at(specs[i].name).bytes;
    const std::size_t next = i + 1 < specs.size() ? header.offsets[i + 1] : header.file_bytes;
    if (bytes.size() != next - header.offsets[i]) {
      throw Error(ErrorKind::kUsage, "tensor '{}' has {} bytes, its shape [{}] of {} needs {}",
                  specs[i].name, bytes.size(), list_text(specs[i].shape), specs[i].dtype,
                  next - header.offsets[i]);
    }
    pieces.tensors.push_back(bytes);
    hash.add(bytes);
  }
  put_seal(header.text, hash);
  return pieces;
}

}  // namespace

std::vector<std::byte> safetensors_bytes(const std::map<std::string, Tensor>& tensors,
                                         const Metadata& metadata) {
  const Pieces pieces = pieces_of(tensors, metadata);
  std::vector<std::byte> bytes;
  bytes.reserve(pieces.header.file_bytes);
  const auto header = std::as_bytes(std::span(pieces.header.text));
  bytes.insert(bytes.end(), header.begin(), header.end());
  for (const auto& tensor : pieces.tensors) {
    bytes.insert(bytes.end(), tensor.begin(), tensor.end());
  }
  return bytes;
}

void write_safetensors(const std::filesystem::path& path,
                       const std::map<std::string, Tensor>& tensors, const Metadata& metadata) {
  const Pieces pieces = pieces_of(tensors, metadata);
  base::FileWriter writer(path);
  writer.write(pieces.header.text);
  for (const auto& tensor : pieces.tensors) writer.write(tensor);
  writer.commit();
}

std::string sha256(const std::map<std::string, Tensor>& tensors) {
  base::Sha256 hash;
  for (const auto& [name, tensor] : tensors) {
    // Lengths first, so that no two sets of tensors give the same text.
    hash.add(fmt::format("{} {} {} [{}] {}\n", name.size(), name, tensor.dtype,
                         list_text(tensor.shape), tensor.bytes.size()));
    hash.add(tensor.bytes);
  }
  return hash.hex();
}

}  // namespace meanwhile::data
