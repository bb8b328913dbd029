#include "meanwhile/data/files/npy_header.h"

#include <charconv>

#include "meanwhile/base/error.h"
#include "meanwhile/data/list_text.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

constexpr std::string_view kMagic = "\x93NUMPY";

struct Type {
  std::string_view code;  // without byte order
  NpyType type;
  std::int64_t bytes;
};
constexpr Type kTypes[] = {
    {"f2", NpyType::kFloat16, 2}, {"f4", NpyType::kFloat32, 4}, {"f8", NpyType::kFloat64, 8},
    {"i1", NpyType::kInt8, 1},    {"u1", NpyType::kUint8, 1},   {"i2", NpyType::kInt16, 2},
    {"u2", NpyType::kUint16, 2},  {"i4", NpyType::kInt32, 4},   {"u4", NpyType::kUint32, 4},
    {"i8", NpyType::kInt64, 8},   {"u8", NpyType::kUint64, 8},
};

// Reads only the dictionaries that NumPy writes.
class Dictionary {
 public:
  explicit Dictionary(std::string_view text) : text_(text) { parse(); }

  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;

 private:
  [[noreturn]] void fail(std::string_view expected) const {
    throw Error(ErrorKind::kInput, "wrong NPY header: expected {} at '{}'", expected,
                text_.substr(at_, 20));
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(std::string_view token) {
    skip_blanks();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) fail(fmt::format("{}", token));
  }

  std::string_view string() {
    skip_blanks();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') fail("a string");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("a string that ends");
    const std::string_view value = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return value;
  }

  bool boolean() {
    if (take("True")) return true;
    if (take("False")) return false;
    fail("True or False");
  }

  std::vector<std::int64_t> tuple() {
    expect("(");
    std::vector<std::int64_t> values;
    while (!take(")")) {
      skip_blanks();
      std::int64_t value = 0;
      const char* end = text_.data() + text_.size();
      const auto [stop, problem] = std::from_chars(text_.data() + at_, end, value);
      if (problem != std::errc() || value < 0) fail("a size");
      at_ = static_cast<std::size_t>(stop - text_.data());
      take("L");  // Python 2 wrote large sizes so
      values.push_back(value);
      if (!take(",")) {
        if (values.size() < 2) fail(", after the only size");
        expect(")");
        break;
      }
    }
    return values;
  }

  void parse() {
    bool has_descr = false, has_order = false, has_shape = false;
    expect("{");
    while (!take("}")) {
      const std::string_view key = string();
      expect(":");
      if (key == "descr" && !has_descr) {
        has_descr = true;
        if (take("[")) {
          throw Error(ErrorKind::kInput,
                      "structured arrays cannot be read; save the columns as one 2-D array");
        }
        descr = string();
      } else if (key == "fortran_order" && !has_order) {
        has_order = true;
        fortran_order = boolean();
      } else if (key == "shape" && !has_shape) {
        has_shape = true;
        shape = tuple();
      } else {
        throw Error(ErrorKind::kInput, "wrong NPY header: key '{}' is unknown or occurs twice",
                    key);
      }
      if (!take(",")) {
        expect("}");
        break;
      }
    }
    skip_blanks();
    if (at_ != text_.size()) fail("the end");
    if (!has_descr || !has_order || !has_shape) {
      throw Error(ErrorKind::kInput,
                  "wrong NPY header: one of 'descr', 'fortran_order', 'shape' is missing");
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

const Type& parse_type(std::string_view descr) {
  const char order = descr.empty() ? '\0' : descr[0];
  const std::string_view code = descr.empty() ? descr : descr.substr(1);
  if (order == '>') {
    throw Error(ErrorKind::kInput, "big-endian values ('{}') cannot be read; save x.astype('<{}')",
                descr, code);
  }
  if (order == '<' || order == '|' || order == '=') {
    for (const Type& type : kTypes) {
      // Single bytes have no byte order.
      if (type.code == code && (order == '<' || type.bytes == 1)) return type;
    }
    if (code.starts_with('O')) {
      throw Error(ErrorKind::kInput, "object arrays cannot be read; save numbers, such as float32");
    }
    if (code.starts_with('c')) {
      throw Error(ErrorKind::kInput,
                  "complex values ('{}') cannot be read; save real and imaginary parts as columns",
                  descr);
    }
  }
  throw Error(ErrorKind::kInput,
              "element type '{}' cannot be read; save x.astype('float32') or 'float64'", descr);
}

std::size_t little_endian(std::span<const std::byte> bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | std::to_integer<std::size_t>(bytes[i]);
  }
  return value;
}

std::string show(const std::vector<std::int64_t>& shape) {
  return fmt::format("({}{})", list_text(shape), shape.size() == 1 ? "," : "");
}

}  // namespace

NpyHeader parse_npy_header(std::span<const std::byte> bytes) {
  if (bytes.empty()) throw Error(ErrorKind::kInput, "is empty");
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic)) {
    throw Error(ErrorKind::kInput, "not an NPY file: it does not begin with \\x93NUMPY");
  }
  if (bytes.size() < 12) {
    throw Error(ErrorKind::kInput, "cut short: {} bytes, less than any NPY header", bytes.size());
  }
  const int major = text[6], minor = text[7];
  if (major < 1 || major > 3 || minor != 0) {
    throw Error(ErrorKind::kInput, "NPY version {}.{} is unknown; expected 1.0, 2.0 or 3.0", major,
                minor);
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t length = little_endian(bytes.subspan(8, length_bytes));
  NpyHeader header;
  header.size = 8 + length_bytes + length;
  if (bytes.size() < header.size) {
    throw Error(ErrorKind::kInput, "cut short: {} bytes, the header alone has {}", bytes.size(),
                header.size);
  }

  const Dictionary dictionary(text.substr(8 + length_bytes, length));
  const Type& type = parse_type(dictionary.descr);
  header.type = type.type;
  header.fortran_order = dictionary.fortran_order;
  const std::vector<std::int64_t>& shape = dictionary.shape;
  if (shape.empty() || shape.size() > 2) {
    throw Error(ErrorKind::kInput, "{} dimensions, shape {}; reshape to (rows, columns)",
                shape.size(), show(shape));
  }
  header.rows = shape[0];
  if (shape.size() == 2) header.cols = shape[1];
  if (header.rows == 0 || header.cols == 0) {
    throw Error(ErrorKind::kInput, "shape {}: it holds no values", show(shape));
  }

  std::int64_t promised = type.bytes;
  if (__builtin_mul_overflow(promised, header.rows, &promised) ||
      __builtin_mul_overflow(promised, header.cols, &promised)) {
    throw Error(ErrorKind::kInput, "shape {} is too large to count its bytes", show(shape));
  }
  const auto present = static_cast<std::int64_t>(bytes.size() - header.size);
  if (present < promised) {
    throw Error(ErrorKind::kInput, "cut short: {} of the {} bytes of shape {} are missing",
                promised - present, promised, show(shape));
  }
  if (present > promised) {
    throw Error(ErrorKind::kInput, "{} bytes follow the {} bytes of shape {}", present - promised,
                promised, show(shape));
  }
  return header;
}

std::string npy_header(std::string_view descr, const std::vector<std::int64_t>& shape) {
  std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr, show(shape));
  const std::size_t before = kMagic.size() + 4;
  const std::size_t total = (before + dictionary.size() + 1 + 63) / 64 * 64;
  dictionary.resize(total - before - 1, ' ');
  dictionary += '\n';
  std::string header(kMagic);
  header += '\1';
  header += '\0';
  header += static_cast<char>(dictionary.size() & 0xff);
  header += static_cast<char>(dictionary.size() >> 8);
  return header + dictionary;
}

}  // namespace meanwhile::data
