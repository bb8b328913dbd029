// Claims and moves of a stretch at a store, with a right seal, beside those of an honest worker.
// They are refused, removed and made again, or taken; a stretch that comes to its end then has a
// total that the learner absorbs, and a record that is read again.
//
// The input is a list of blobs: kind, shard, clock, length and numbers.
#include <bit>

#include "meanwhile/job/run_directory.h"
#include "meanwhile/runtime/storage/job_failed.h"
#include "meanwhile/runtime/storage/stretch.h"
#include "test/fuzz/bytes_taken.h"
#include "test/fuzz/store_fuzz.h"
#include "test/runtime/moving_learner.h"

namespace base = meanwhile::base;
namespace data = meanwhile::data;
namespace fuzz = meanwhile::fuzz;
namespace learn = meanwhile::learn;
namespace runtime = meanwhile::runtime;
namespace tables = meanwhile::tables;
using meanwhile::exchange::Update;

namespace {

constexpr int kShards = 2, kStaleness = 2;
constexpr std::int64_t kRounds = 5, kStep = 2, kPrepared = 2;

data::Part rows() {
  static const std::vector<float> values = {1, 2, 3, 4, 5, 6, -1, 0, 2, 0.5, 1, -3};
  data::Part part;
  part.data.x = data::Dense<float>{values.data(), 4, 3};
  part.rows = 4;
  part.shards = {{0, {{0, 2}}, 2}, {1, {{2, 4}}, 2}};
  return part;
}

std::unique_ptr<learn::FreshLearner> fresh(const data::SafetensorsFile* state) {
  const runtime::MovingParameters parameters{.max_iter = kRounds};
  auto learner = std::make_unique<runtime::MovingLearner>(parameters);
  if (state != nullptr) learner->restore(*state);
  const tables::RecordedRun run{"moving", "{}", "", 1, kShards};
  return std::make_unique<learn::FreshLearner>(std::move(learner), run, kStaleness, nullptr, state);
}

std::vector<std::byte> bytes_of(const learn::State& state) {
  const auto file = meanwhile::job::state_file(state, 0, "");
  return data::safetensors_bytes(file.tensors, file.metadata);
}

// The state behind the rounds of preparation.
const std::vector<std::byte>& prepared() {
  static const std::vector<std::byte> state = [] {
    const data::Part part = rows();
    const auto learner = fresh(nullptr);
    learner->attach({&part});
    learn::ShardMemory none;
    for (std::int64_t round = 0; round < kPrepared; ++round) {
      Update total(learner->update_shape());
      for (int shard = 0; shard < kShards; ++shard) {
        Update update(learner->update_shape());
        learner->work(shard, none, update);
        total.add(update);
      }
      learner->absorb(total);
    }
    if (!learner->in_stretch()) fuzz::fail("no stretch begins");
    return bytes_of(learner->state());
  }();
  return state;
}

std::unique_ptr<runtime::AttachedLearner> attached() {
  auto made = std::make_unique<runtime::AttachedLearner>();
  made->part = rows();
  const data::SafetensorsFile state(prepared(), "state");
  made->learner = fresh(&state);
  made->learner->attach({&made->part});
  return made;
}

std::vector<std::int64_t> whole_numbers(fuzz::BytesTaken& from, std::size_t count) {
  std::vector<std::int64_t> numbers(count);
  for (std::int64_t& number : numbers) number = from.small();
  return numbers;
}

std::vector<double> numbers(fuzz::BytesTaken& from, std::size_t count) {
  std::vector<double> numbers;
  for (const std::int64_t number : whole_numbers(from, count)) {
    // Some are as large, as small or as far from a number as there are.
    const bool is_small = number >= -128 && number < 128;
    numbers.push_back(is_small ? static_cast<double>(number) / 8 : std::bit_cast<double>(number));
  }
  return numbers;
}

// Puts a claim or a move that the input has next.
void put_blob(fuzz::BytesTaken& from, fuzz::MemoryBlobs& blobs, const runtime::Names& names) {
  const std::uint8_t kind = from.byte();
  const int shard = kind / 2 % kShards;
  const std::int64_t clock = kind / 4 % kRounds;
  if (kind % 2 == 0) {
    const auto cuts = whole_numbers(from, from.count());
    blobs.put(names.read(kStep, clock, shard),
              runtime::seal({{"cuts", data::tensor_of<std::int64_t>(cuts, {std::ssize(cuts)})}},
                            {{"kind", "read"}}));
    return;
  }
  // Most inputs have as many numbers as they should.
  const std::uint8_t lengths = from.byte();
  const auto cut = whole_numbers(from, lengths % 8 == 1 ? from.count() : kShards);
  const auto values = numbers(from, lengths % 8 == 2 ? from.count() : 3);
  const auto summary = numbers(from, lengths % 8 == 3 ? from.count() : 2);
  blobs.put(names.move(kStep, clock, shard),
            runtime::seal({{"cut", data::tensor_of<std::int64_t>(cut, {std::ssize(cut)})},
                           {"values", data::tensor_of<double>(values, {std::ssize(values)})},
                           {"summary", data::tensor_of<double>(summary, {std::ssize(summary)})}},
                          {{"kind", "move"}}));
}

// Absorbs what the shards did, and reads the state that comes of it.
void end(const runtime::StretchRunner& runner) {
  const auto learner = attached();
  auto& all = static_cast<learn::FreshLearner&>(*learner->learner);
  Update total(all.update_shape());
  total.settle();
  for (int shard = 0; shard < kShards; ++shard) {
    Update update(all.update_shape());
    runner.put_update(shard, update);
    total.add(update);
  }
  all.absorb(total);
  const std::vector<std::byte> record = all.log().bytes();
  if (tables::ReadsLog::read(record, "record").bytes() != record) fuzz::fail("another record");
  const std::vector<std::byte> bytes = bytes_of(all.state());
  fresh(std::make_unique<data::SafetensorsFile>(bytes, "state").get());
}

void run(fuzz::BytesTaken from) {
  fuzz::MemoryBlobs blobs;
  const runtime::Names names = fuzz::small_job().names();
  while (!from.empty()) put_blob(from, blobs, names);
  const auto learner = attached();
  base::ThreadPool pool(1);
  runtime::StretchRunner runner(
      blobs, names, kStep, static_cast<learn::FreshLearner&>(*learner->learner), pool,
      [](int) { return attached(); },
      [](const std::string& what, const std::function<void()>& step) {
        runtime::fail_job("stretch" + what, step);
      });
  // Every blob may be tried for some seconds before it is given up. Hostile moves can keep a
  // stretch from its end; a worker has a deadline for that (WorkerOptions::timeout_s).
  constexpr double kSeconds = 200;
  for (double now_s = 0; now_s < kSeconds; ++now_s) {
    if (runner.advance({0, 1}, now_s).over.size() == kShards) return end(runner);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::outcome([&] { run(fuzz::BytesTaken(fuzz::as_bytes(bytes, size))); });
  return 0;
}
