#include "meanwhile/exchange/sparse.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

namespace meanwhile::exchange {
namespace {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
std::size_t count(std::span<const T> values, Combine how) {
  // Between two looks at the rule, so that the count is a plain loop.
  constexpr std::size_t kBlock = 1024;
  const auto untouched = std::bit_cast<Bits<T>>(identity<T>(how));
  std::size_t touched = 0;
  for (std::size_t begin = 0; begin < values.size(); begin += kBlock) {
    const auto block = values.subspan(begin, std::min(kBlock, values.size() - begin));
    for (const T value : block) touched += std::bit_cast<Bits<T>>(value) != untouched ? 1 : 0;
    if (!sparse_pays(values.size(), touched, sizeof(T))) break;
  }
  return touched;
}

template <class T>
std::span<const T> values_of(const Values& values) {
  return {reinterpret_cast<const T*>(values.bytes.data()), values.size()};
}

template <class T>
void write_sparse(std::span<const T> values, Combine how, std::size_t touched,
                  transport::Bytes& space) {
  const auto untouched = std::bit_cast<Bits<T>>(identity<T>(how));
  space.resize(touched * (sizeof(T) + kPlaceBytes));
  std::byte* value = space.data();
  std::byte* place = space.data() + touched * sizeof(T);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::bit_cast<Bits<T>>(values[i]) == untouched) continue;
    const auto index = static_cast<std::uint32_t>(i);
    std::memcpy(value, &values[i], sizeof(T));
    std::memcpy(place, &index, sizeof index);
    value += sizeof(T);
    place += sizeof index;
  }
}

template <class T>
void read_sparse(std::span<T> values, Combine how, std::size_t bytes, transport::Bytes& space) {
  const std::size_t touched = bytes / (sizeof(T) + kPlaceBytes);
  if (bytes > values.size_bytes() || bytes % (sizeof(T) + kPlaceBytes) != 0) {
    throw base::Error(base::ErrorKind::kFailed,
                      "a message of {} bytes is no piece of {} values: do all workers run the same "
                      "program on the same data?",
                      bytes, values.size());
  }
  const auto* received = reinterpret_cast<const std::byte*>(values.data());
  space.assign(received, received + bytes);
  std::fill(values.begin(), values.end(), identity<T>(how));
  for (std::size_t i = 0; i < touched; ++i) {
    std::uint32_t index = 0;
    std::memcpy(&index, space.data() + touched * sizeof(T) + i * sizeof index, sizeof index);
    if (index >= values.size()) {
      throw base::Error(base::ErrorKind::kFailed, "place {} in a piece of {} values", index,
                        values.size());
    }
    std::memcpy(&values[index], space.data() + i * sizeof(T), sizeof(T));
  }
}

}  // namespace

std::size_t count_touched(const Values& values) {
  return with_element(values.element, [&](auto type) {
    return count<decltype(type)>(values_of<decltype(type)>(values), values.how);
  });
}

std::span<const std::byte> pack(const Values& values, transport::Bytes& space) {
  const std::size_t touched = count_touched(values);
  if (!sparse_pays(values.size(), touched, element_bytes(values.element))) return values.bytes;
  with_element(values.element, [&](auto type) {
    write_sparse<decltype(type)>(values_of<decltype(type)>(values), values.how, touched, space);
  });
  return space;
}

void unpack(Element element, Combine how, std::span<std::byte> values, std::size_t bytes,
            transport::Bytes& space) {
  if (bytes == values.size()) return;
  with_element(element, [&](auto type) {
    using T = decltype(type);
    read_sparse<T>({reinterpret_cast<T*>(values.data()), values.size() / sizeof(T)}, how, bytes,
                   space);
  });
}

}  // namespace meanwhile::exchange
