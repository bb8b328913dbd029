#include "meanwhile/runtime/storage/checked.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "test/runtime/place.h"

namespace meanwhile::runtime {
namespace {

// The result of get_sealed() on these bytes.
std::optional<Sealed> unsealed(const storage::Bytes& bytes) {
  static const std::string kName = "blob";
  class One final : public storage::BlobStore {
   public:
    explicit One(const storage::Bytes& held) : held_(held) {}
    std::string name() const override { return "one"; }
    std::optional<storage::Blob> get(const std::string&) override {
      return storage::Blob{held_, "1"};
    }
    std::string put(const std::string&, std::span<const std::byte>) override { return ""; }
    bool put_if_absent(const std::string&, std::span<const std::byte>) override { return false; }
    bool put_if_match(const std::string&, std::span<const std::byte>, const std::string&) override {
      return false;
    }
    std::vector<storage::BlobInfo> list(const std::string&) override { return {}; }
    void remove(std::span<const std::string>) override {}

   private:
    const storage::Bytes& held_;
  } store(bytes);
  return get_sealed(store, kName);
}

storage::Bytes sealed_update(const std::vector<double>& update) {
  return seal_update(exchange::Update::of(update));
}

// Reads an update of the size of `numbers` into it.
bool can_be_read(const data::SafetensorsFile& file, std::vector<double>& numbers) {
  exchange::Update update(exchange::UpdateShape{{.rows = std::ssize(numbers)}});
  if (!read_update(file, update)) return false;
  const std::span<const double> values = update.dense<double>(0);
  numbers.assign(values.begin(), values.end());
  return true;
}

void expect_round_trip(const std::vector<double>& update) {
  const storage::Bytes bytes = sealed_update(update);
  const auto sealed = unsealed(bytes);
  ASSERT_TRUE(sealed);
  std::vector<double> read(update.size(), 0.0);
  ASSERT_TRUE(can_be_read(sealed->file, read));
  if (update.empty()) return;
  EXPECT_EQ(std::memcmp(read.data(), update.data(), update.size() * sizeof(double)), 0);
}

TEST(Update, KeepsEveryBit) {
  const double nan = std::bit_cast<double>(0x7ff80000deadbeefULL);
  const double signalling = std::bit_cast<double>(0xfff4000000000001ULL);
  for (const std::size_t size : {0u, 1u, 2u, 7u, 100u, 1000u}) {
    expect_round_trip(std::vector<double>(size, 0.0));
    expect_round_trip(std::vector<double>(size, -0.0));
    expect_round_trip(std::vector<double>(size, nan));
    for (const double value :
         {-0.0, nan, signalling, 5e-324, 1.5, std::numeric_limits<double>::infinity()}) {
      for (const std::size_t every : {1u, 2u, 3u, 10u, 999u}) {
        std::vector<double> update(size, 0.0);
        for (std::size_t i = 0; i < size; i += every) update[i] = value;
        expect_round_trip(update);
      }
    }
  }
}

TEST(Update, OfFewValuesIsSmall) {
  std::vector<double> update(100'000, 0.0);
  update[17] = 1;
  EXPECT_LT(sealed_update(update).size(), 1000u);
}

TEST(Update, OfAnotherSizeIsRefused) {
  for (const double fill : {0.0, 1.0}) {
    const storage::Bytes bytes = sealed_update(std::vector<double>(100, fill));
    const auto sealed = unsealed(bytes);
    ASSERT_TRUE(sealed);
    std::vector<double> fewer(99, 0.0), more(101, 0.0);
    EXPECT_FALSE(can_be_read(sealed->file, fewer));
    EXPECT_FALSE(can_be_read(sealed->file, more));
  }
}

TEST(Update, ThatIsNoneOrHasPlacesBeyondItsEndIsRefused) {
  const std::vector<double> values = {1, 2};
  for (const std::vector<std::int64_t>& places :
       std::vector<std::vector<std::int64_t>>{{0, 10}, {-1, 3}, {0, 1, 2}}) {
    const Tensors tensors = {{"0.values", data::tensor_of<double>(values, {2})},
                             {"0.places", data::tensor_of<std::int64_t>(
                                              places, {static_cast<std::int64_t>(places.size())})}};
    const auto sealed = unsealed(seal(tensors, {{"shape", "10 x 1 float64 add"}}));
    ASSERT_TRUE(sealed);
    std::vector<double> update(10, 0.0);
    EXPECT_FALSE(can_be_read(sealed->file, update));
  }
  const auto other = unsealed(
      seal({{"x", data::tensor_of<double>(values, {2})}}, {{"shape", "10 x 1 float64 add"}}));
  ASSERT_TRUE(other);
  std::vector<double> update(10, 0.0);
  EXPECT_FALSE(can_be_read(other->file, update));
}

storage::Bytes some_blob(bool sparse) {
  std::vector<double> update(60, sparse ? 0.0 : 3.25);
  update[7] = -0.0;
  update[50] = 1e300;
  return sealed_update(update);
}

TEST(Sealed, IsNotThereWhenItWasCutAnywhere) {
  for (const bool sparse : {false, true}) {
    const storage::Bytes whole = some_blob(sparse);
    ASSERT_TRUE(unsealed(whole));
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_FALSE(unsealed({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}))
          << size << " of " << whole.size() << " bytes";
    }
  }
}

TEST(Sealed, IsNotThereWhenABitOfItsTensorsIsWrong) {
  for (const bool sparse : {false, true}) {
    storage::Bytes bytes = some_blob(sparse);
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    for (std::size_t i = sizeof header + header; i < bytes.size(); ++i) {
      for (int bit = 0; bit < 8; ++bit) {
        bytes[i] ^= static_cast<std::byte>(1 << bit);
        EXPECT_FALSE(unsealed(bytes)) << "byte " << i << ", bit " << bit;
        bytes[i] ^= static_cast<std::byte>(1 << bit);
      }
    }
    EXPECT_TRUE(unsealed(bytes));
  }
}

TEST(Sealed, IsNotThereWhenABitOfItsHeaderIsWrong) {
  const storage::Bytes bytes = some_blob(false);
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (std::size_t i = 0; i < sizeof header + header; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      storage::Bytes damaged = bytes;
      damaged[i] ^= static_cast<std::byte>(1 << bit);
      EXPECT_FALSE(unsealed(damaged)) << "byte " << i << ", bit " << bit;
    }
  }
}

TEST(Sealed, WithoutAHashIsNotThere) {
  const std::string header = data::safetensors_header({{"x", "F64", {0}}}, {}).text;
  const auto bytes = std::as_bytes(std::span(header));
  EXPECT_FALSE(unsealed({bytes.begin(), bytes.end()}));
}

TEST(Sealed, OutlivesTheMoveOfItsBytes) {
  auto sealed = unsealed(some_blob(false));
  ASSERT_TRUE(sealed);
  const Sealed moved = std::move(*sealed);
  std::vector<double> read(60, 0.0);
  ASSERT_TRUE(can_be_read(moved.file, read));
  EXPECT_EQ(read[0], 3.25);
}

}  // namespace
}  // namespace meanwhile::runtime
