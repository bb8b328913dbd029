// Shard memory at a store: what a save costs beside what it spares, on a directory. One line of
// JSON.
//
//   memory_bench DIRECTORY ROWS COLUMNS REPEATS
//
// A worker that takes a shard over replays every step since the last save. So with a save every E
// steps and one death of a worker in D steps, a step costs save/E + E/2 * replay/D more, which is
// least at E = sqrt(2 * D * save / replay). The learner is the small one of the tests: a dozen
// operations for each byte it remembers, fewer than any real learner, so that a save looks dear
// here.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <exception>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "meanwhile/base/clock.h"
#include "meanwhile/base/json.h"
#include "meanwhile/base/random.h"
#include "meanwhile/data/dataset.h"
#include "meanwhile/exchange/update.h"
#include "meanwhile/learn/shard_memory.h"
#include "meanwhile/runtime/storage/checked.h"
#include "meanwhile/storage/local.h"

namespace meanwhile {
namespace {

using base::Json;
using base::now_s;

data::Dataset uniform(std::int64_t rows, std::int64_t cols) {
  base::Buffer<float> values(static_cast<std::size_t>(rows * cols));
  const base::Random random(1, base::Purpose::kUser, 0, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(random.uniform(i) - 0.5);
  }
  data::Dataset data;
  const auto view = data::own(data, std::move(values));
  data.x = data::Dense<float>{view.data(), rows, cols};
  return data;
}

// Works on one shard as a learner does: each row remembers the running mean of its scores.
struct Learner {
  std::vector<double> model;

  void work(const data::Dense<float>& x, learn::ShardMemory& memory, exchange::Update& update) {
    const std::span<double> history = memory.tensor<double>("history");
    const std::span<double> sums = update.dense<double>(0);
    double& rounds = memory.tensor<double>("rounds")[0];
    rounds += 1;
    for (std::size_t i = 0; i < history.size(); ++i) {
      const std::span<const float> row = x.row(static_cast<std::int64_t>(i));
      double score = 0;
      for (std::size_t j = 0; j < model.size(); ++j) score += row[j] * model[j];
      history[i] += (std::tanh(score) - history[i]) / rounds;
      for (std::size_t j = 0; j < model.size(); ++j) sums[j] += history[i] * row[j];
    }
  }
  void absorb(const exchange::Update& total) {
    const std::span<const double> sums = total.dense<double>(0);
    for (std::size_t j = 0; j < model.size(); ++j) model[j] = 0.7 * model[j] + 0.01 * sums[j];
  }
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + std::ssize(values) / 2, values.end());
  return values[values.size() / 2];
}

Json run(const std::filesystem::path& directory, std::int64_t rows, std::int64_t cols,
         std::int64_t repeats) {
  storage::Meter meter;
  const storage::Store store = storage::open_local("store", directory, meter);
  const data::Dataset data = uniform(rows, cols);
  const auto& x = std::get<data::Dense<float>>(data.x);
  Learner learner{std::vector<double>(static_cast<std::size_t>(cols), 1.0)};
  learn::ShardMemory memory({{"history", "F64", {rows}}, {"rounds", "F64", {1}}});
  const exchange::UpdateShape shape = {{.rows = cols}};
  std::vector<double> saves, replays;
  for (std::int64_t step = 0; step < repeats; ++step) {
    exchange::Update update(shape);
    learner.work(x, memory, update);
    const std::string total = fmt::format("total/{}", step), saved = fmt::format("memory/{}", step);
    store.blobs->put(total, runtime::seal_update(update));

    double begin_s = now_s();
    store.blobs->put_if_absent(saved, runtime::seal(memory.tensors(), {{"kind", "memory"}}));
    saves.push_back(now_s() - begin_s);

    // The next step, as a replay does it.
    begin_s = now_s();
    const auto blob = runtime::get_sealed(*store.blobs, total);
    exchange::Update sum(shape), discarded(shape);
    if (!blob || !runtime::read_update(blob->file, sum)) throw std::runtime_error("no total");
    learner.work(x, memory, discarded);
    learner.absorb(sum);
    replays.push_back(now_s() - begin_s);
    store.blobs->remove(std::vector{total, saved});
  }
  const double save_s = median(saves), replay_s = median(replays);
  Json best = Json::object();
  for (const double steps : {30.0, 300.0, 3000.0}) {
    best[fmt::format("{:.0f}", steps)] = std::sqrt(2 * steps * save_s / replay_s);
  }
  return {{"rows", rows},
          {"cols", cols},
          {"memory_bytes", memory.bytes()},
          {"save_s", {{"median", save_s}, {"min", *std::min_element(saves.begin(), saves.end())}}},
          {"replay_step_s",
           {{"median", replay_s}, {"min", *std::min_element(replays.begin(), replays.end())}}},
          {"save_over_replay", save_s / replay_s},
          {"best_steps_between_saves_by_steps_between_deaths", best}};
}

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) {
    throw std::runtime_error(fmt::format("'{}' is not a number above 0", text));
  }
  return value;
}

}  // namespace
}  // namespace meanwhile

int main(int argc, char** argv) {
  try {
    if (argc != 5) throw std::runtime_error("DIRECTORY ROWS COLUMNS REPEATS; see the source");
    using meanwhile::number;
    fmt::print("{}\n",
               meanwhile::run(argv[1], number(argv[2]), number(argv[3]), number(argv[4])).dump());
  } catch (const std::exception& e) {
    fmt::print(stderr, "memory_bench: {}\n", e.what());
    return 1;
  }
}
