// Ratings by a seed: users and items of log-normal activity, tastes of rank 8, and noise.
//
//   generate_ratings USERS ITEMS RATINGS SEED FOLDER
//
// Writes train.csv and held_out.csv (user,item,rating; one rating in ten is held out) and the same
// as train.bin and held_out.bin: int32 user, int32 item, float32 rating. No pair occurs twice.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "meanwhile/base/random.h"

namespace {

using meanwhile::base::Purpose;
using meanwhile::base::Random;

constexpr std::size_t kRank = 8;
constexpr double kNoise = 0.5;
// Pairs that are drawn for each that is wanted: active users meet popular items more than once.
constexpr double kDrawn = 1.3;

enum Stream : std::uint32_t { kUsers, kItems, kPairs, kUserTaste, kItemTaste, kRating, kHeldOut };

Random stream(std::uint64_t seed, Stream which) { return {seed, Purpose::kGenerate, which, 0}; }

double normal(const Random& random, std::uint64_t index) {
  const double u = 1 - random.uniform(2 * index), v = random.uniform(2 * index + 1);
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * v);
}

// Numbers 0 .. count - 1, each as often as its activity; to be drawn from.
std::vector<std::int32_t> by_activity(const Random& random, std::int64_t count, double sigma) {
  std::vector<double> until;
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    sum += std::exp(sigma * normal(random, static_cast<std::uint64_t>(i)));
    until.push_back(sum);
  }
  const std::int64_t size = 8 * count;
  std::vector<std::int32_t> table;
  std::size_t i = 0;
  for (std::int64_t j = 0; j < size; ++j) {
    while (until[i] < (static_cast<double>(j) + 0.5) / static_cast<double>(size) * sum) ++i;
    table.push_back(static_cast<std::int32_t>(i));
  }
  return table;
}

std::vector<float> tastes(const Random& random, std::int64_t count) {
  std::vector<float> all(static_cast<std::size_t>(count) * kRank);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(normal(random, i));
  return all;
}

class File {
 public:
  File(const std::filesystem::path& folder, const std::string& name)
      : csv_(std::fopen((folder / (name + ".csv")).c_str(), "wb")),
        bin_(std::fopen((folder / (name + ".bin")).c_str(), "wb")) {
    std::fputs("user,item,rating\n", csv_);
  }
  ~File() {
    std::fclose(csv_);
    std::fclose(bin_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void put(std::int32_t user, std::int32_t item, float rating) {
    const auto end = fmt::format_to_n(line_, sizeof line_, "{},{},{:.4f}\n", user, item, rating);
    std::fwrite(line_, 1, end.size, csv_);
    std::fwrite(&user, sizeof user, 1, bin_);
    std::fwrite(&item, sizeof item, 1, bin_);
    std::fwrite(&rating, sizeof rating, 1, bin_);
  }

 private:
  std::FILE *const csv_, *const bin_;
  char line_[64];
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::cerr << "generate_ratings USERS ITEMS RATINGS SEED FOLDER\n";
    return 2;
  }
  const std::int64_t users = std::stoll(argv[1]), items = std::stoll(argv[2]);
  const std::int64_t ratings = std::stoll(argv[3]);
  const std::uint64_t seed = std::stoull(argv[4]);
  const std::filesystem::path folder = argv[5];
  std::filesystem::create_directories(folder);

  const auto of_users = by_activity(stream(seed, kUsers), users, 1.1);
  const auto of_items = by_activity(stream(seed, kItems), items, 1.5);
  const Random draw = stream(seed, kPairs);
  std::vector<std::uint64_t> pairs(static_cast<std::size_t>(kDrawn * static_cast<double>(ratings)));
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::uint64_t bits = draw.bits(i);
    const auto user = of_users[(bits >> 32) * of_users.size() >> 32];
    const auto item = of_items[(bits & 0xFFFFFFFF) * of_items.size() >> 32];
    pairs[i] = static_cast<std::uint64_t>(user) << 32 | static_cast<std::uint64_t>(item);
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());

  const auto p = tastes(stream(seed, kUserTaste), users);
  const auto q = tastes(stream(seed, kItemTaste), items);
  const Random noise = stream(seed, kRating), held = stream(seed, kHeldOut);
  const double keep = static_cast<double>(ratings) / static_cast<double>(pairs.size());
  File train(folder, "train"), held_out(folder, "held_out");
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const double u = held.uniform(i);
    if (u >= keep) continue;
    const auto user = static_cast<std::int32_t>(pairs[i] >> 32);
    const auto item = static_cast<std::int32_t>(pairs[i] & 0xFFFFFFFF);
    double rating = kNoise * normal(noise, i);
    for (std::size_t f = 0; f < kRank; ++f) {
      rating += static_cast<double>(p[static_cast<std::size_t>(user) * kRank + f]) *
                static_cast<double>(q[static_cast<std::size_t>(item) * kRank + f]) /
                std::sqrt(static_cast<double>(kRank));
    }
    (u < 0.1 * keep ? held_out : train).put(user, item, static_cast<float>(rating));
  }
}
