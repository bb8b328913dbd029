// Blobs that no worker of this program puts, and blobs that were damaged at the store: what is not
// understood is skipped, what is damaged is made again, and neither ends the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "meanwhile/runtime/storage/checked.h"
#include "meanwhile/runtime/storage/history.h"
#include "meanwhile/runtime/storage/missing.h"
#include "meanwhile/storage/signed_blobs.h"
#include "test/expect_error.h"
#include "test/runtime/jobs.h"

namespace meanwhile::runtime {
namespace {

using testing::HasSubstr;

std::span<const std::byte> as_blob(const std::string& text) {
  return std::as_bytes(std::span(text));
}

const std::vector<std::string> kStrange = {"[]",
                                           "null",
                                           "5",
                                           "\"x\"",
                                           "{",
                                           "",
                                           R"({"seconds": "x"})",
                                           R"({"usage": []})",
                                           R"({"usage": {"requests": 7}})",
                                           R"({"usage": {"requests": {"get": -5}}})",
                                           R"({"tasks": 5})",
                                           R"({"tasks": [5, null, {}]})",
                                           R"({"step": 1e300})",
                                           R"({"rounds": "many", "round_s": []})",
                                           R"({"usage": {"bytes_sent": 9223372036854775807}})",
                                           R"({"seconds": 1e308})",
                                           std::string(1'000'000, '['),
                                           fmt::format(R"({{"a":{})", std::string(200'000, '{'))};

TEST(StrangeRecords, DoNotHideAJob) {
  const Job job(toy({.max_iter = 3}), 3);
  Place place;
  const JobRecord record = job.submit(place, 1).job;
  const auto opened = place.open();
  storage::BlobStore& blobs = *opened->store.blobs;
  const Names names = record.names();
  for (std::size_t i = 0; i < kStrange.size(); ++i) {
    blobs.put(names.live(fmt::format("strange-{}", i)), as_blob(kStrange[i]));
    blobs.put(names.usage(fmt::format("strange-{}", i)), as_blob(kStrange[i]));
  }
  EXPECT_NO_THROW(status_of(opened->store, record));
  EXPECT_NO_THROW(what_is_missing(blobs, record, 0));
  EXPECT_NO_THROW(push_missing(opened->store, record));
  Json charged = bill(blobs, record, {});
  EXPECT_EQ(charged["bytes_sent"], std::numeric_limits<std::int64_t>::max());
  EXPECT_TRUE(std::isfinite(charged["worker_seconds"].get<double>()));
  Workers workers(record);
  workers.start(place.open(), quick("w"), job.make());
  workers.join();
  EXPECT_EQ(workers[0].error, "");
  charged = bill(blobs, record, {});
  EXPECT_GT(charged["requests_total"], 0);
  base::SystemClock clock;
  ASSERT_TRUE(result_of(blobs, record, clock));
}

TEST(StrangeRecords, ThatAreTooLargeAreNotRead) {
  const Job job(toy({.max_iter = 3}), 3);
  Place place;
  const JobRecord record = job.submit(place, 1).job;
  const auto opened = place.open();
  const std::string large =
      fmt::format(R"({{"seconds": 100{}}})", std::string(kMostLiveBytes, ' '));
  opened->store.blobs->put(record.names().live("large"), as_blob(large));
  opened->store.blobs->put(record.names().usage("large"), as_blob(large));
  EXPECT_TRUE(live_records(*opened->store.blobs, record).empty());
  EXPECT_LT(bill(*opened->store.blobs, record, {})["worker_seconds"], 100);
}

TEST(StrangeRecords, AResultThatIsNoneCountsAsNotThere) {
  const Job job(toy({.max_iter = 3}), 3);
  Place place;
  const JobRecord record = job.submit(place, 1).job;
  const auto opened = place.open();
  for (const char* text : {"[]", "null", "5", "{"}) {
    opened->store.blobs->put(record.names().result(), as_blob(text));
    EXPECT_FALSE(ended_job(*opened->store.blobs, record)) << text;
    EXPECT_EQ(status_of(opened->store, record).state, "waiting") << text;
  }
  opened->store.blobs->put(record.names().result(), as_blob(R"({"status": 5, "rounds": []})"));
  EXPECT_EQ(status_of(opened->store, record).state, "done");
}

TEST(StrangeMessages, AreRemovedFromTheQueue) {
  const Job job(toy({.max_iter = 3}), 3);
  Place place;
  const JobRecord record = job.submit(place, 1).job;
  const auto opened = place.open();
  for (const std::string text : {"", "[]", "{", R"({"job": 5})", R"({"task": []})"}) {
    opened->store.queue->push(text);
  }
  for (const char* task : {"shard 99999999999999999999", "shard -1", "group 0", "root x", ""}) {
    opened->store.queue->push(Json{{"job", record.id}, {"task", task}}.dump());
  }
  opened->store.queue->push(std::string(500, '[') + std::string(500, ']'));
  Workers workers(record);
  workers.start(place.open(), quick("w"), job.make());
  workers.join();
  EXPECT_EQ(workers[0].error, "");
  expect_result(place, job, record);
}

// Metadata of a state that is sealed, and says what cannot be so.
TEST(StrangeStates, AreReadAsFarAsTheyAreUnderstood) {
  const Job job(toy({.max_iter = 3}), 3);
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"elapsed_s", "abc"},
           {"elapsed_s", "1e999"},
           {"elapsed_s", "-nan"},
           {"metrics_step", "many"},
           {"metrics_step", "99999999999999999999"},
           {"metrics", "[]\n{\n{\"step\": \"x\"}\n"},
           {"preparing", "[[["},
           {"preparing", R"({"steps": -5, "seconds": "x"})"}}) {
    SCOPED_TRACE(fmt::format("{} = {}", key, value));
    Place place;
    const JobRecord record = job.submit(place, 1).job;
    const auto opened = place.open();
    const std::string name = record.names().state(0);
    const auto state = get_sealed(*opened->store.blobs, name);
    ASSERT_TRUE(state);
    data::Metadata metadata = state->file.metadata();
    metadata[key] = value;
    opened->store.blobs->put(name, seal(state->file.tensors(), metadata));
    Workers workers(record);
    workers.start(place.open(), quick("w"), job.make());
    workers.join();
    EXPECT_EQ(workers[0].error, "");
    expect_result(place, job, record);
  }
}

TEST(StrangeStates, OfMoreRoundsThanStepsAreNotOfTheJob) {
  const Job job(toy({.max_iter = 3}), 3);
  Place place;
  const JobRecord record = job.submit(place, 1).job;
  const auto opened = place.open();
  const auto state = get_sealed(*opened->store.blobs, record.names().state(0));
  ASSERT_TRUE(state);
  data::Metadata metadata = state->file.metadata();
  metadata["rounds"] = "99999999999";
  opened->store.blobs->put(record.names().state(1), seal(state->file.tensors(), metadata));
  Workers workers(record);
  workers.start(place.open(), quick("w"), job.make());
  workers.join();
  EXPECT_EQ(workers[0].error, "");
  expect_result(place, job, record);
}

TEST(StrangeStates, ThatAreDamagedAreSaidToBe) {
  const Job job(toy({.max_iter = 3}), 3);
  Place place;
  const JobRecord record = job.submit(place, 1).job;
  place.open()->store.blobs->put(record.names().state(0), as_blob("damaged"));
  WorkerOptions options = quick("w");
  options.timeout_s = 0.3;
  Workers workers(record);
  workers.start(place.open(), options, job.make());
  workers.join();
  EXPECT_THAT(workers[0].error, HasSubstr("/state/00000000"));
  EXPECT_THAT(workers[0].error, HasSubstr("damaged"));
}

TEST(StrangeRows, ThatAreNotFiniteAreRefusedInWords) {
  const Job job(toy({.max_iter = 3}), 3);
  Place place;
  const JobRecord record = job.submit(place, 1).job;
  const auto opened = place.open();
  const std::string name = record.names().data(1);
  const auto rows = get_sealed(*opened->store.blobs, name);
  ASSERT_TRUE(rows);
  Tensors tensors = rows->file.tensors();
  std::vector<std::byte> x(tensors["x"].bytes.begin(), tensors["x"].bytes.end());
  std::fill(x.begin(), x.begin() + 8, std::byte{0xff});
  tensors["x"].bytes = x;
  opened->store.blobs->put(name, seal(tensors, rows->file.metadata()));
  Workers workers(record);
  workers.start(place.open(), quick("w"), job.make());
  workers.join();
  EXPECT_THAT(workers[0].error, HasSubstr("nan is not a finite number"));
}

// Damages the first blob of each name that `matches`, right after it was put.
struct Damage {
  std::function<bool(const std::string&)> matches;
  std::function<void(storage::BlobStore&, const std::string&)> how;
  std::unique_ptr<OpenPlace> opened;
  std::mutex mutex = {};
  std::set<std::string> done = {};

  Hooks hooks() {
    Hooks made;
    made.after = [this](const std::string& verb, const std::string& name) {
      if (verb != "put" || !matches(name)) return;
      const std::lock_guard lock(mutex);
      if (done.insert(name).second) how(*opened->store.blobs, name);
    };
    return made;
  }
};

void work_together(const Job& job, Place& place, const JobRecord& record, Damage& damage) {
  Workers workers(record);
  for (int w = 0; w < 2; ++w) {
    workers.start(place.open(damage.hooks()), quick(fmt::format("w{}", w)), job.make());
  }
  workers.join();
  for (int w = 0; w < 2; ++w) EXPECT_EQ(workers[static_cast<std::size_t>(w)].error, "");
  EXPECT_FALSE(damage.done.empty());
  expect_result(place, job, record);
}

TEST(DamagedSums, AreMadeAgainByTheWorkerThatHoldsTheGroup) {
  const Job job(toy({.max_iter = 4}), 12);
  Place place;
  const JobRecord record = job.submit(place, 1).job;
  ASSERT_TRUE(record.layout().two_levels());
  Damage damage{[](const std::string& name) { return name.find("/00000001/sums/") != name.npos; },
                [](storage::BlobStore& blobs, const std::string& name) {
                  blobs.put(name, as_blob("damaged"));
                },
                place.open()};
  work_together(job, place, record, damage);
}

TEST(DamagedSums, ATotalThatIsGoneHoldsNobodyUp) {
  const Job job(toy({.max_iter = 4}), 12);
  Place place;
  const JobRecord record = job.submit(place, 1).job;
  Damage damage{[](const std::string& name) { return name.ends_with("/00000001/total"); },
                [](storage::BlobStore& blobs, const std::string& name) {
                  blobs.remove({&name, 1});
                },
                place.open()};
  work_together(job, place, record, damage);
}

TEST(History, SaysWhenLinesAreMissingOrChanged) {
  const std::string text = sealed("{\"step\":1,\"objective\":2.5}\n{\"step\":2}\n");
  const History whole = parse_history(text);
  EXPECT_TRUE(whole.whole);
  ASSERT_EQ(whole.lines.size(), 2u);
  EXPECT_EQ(whole.lines[1].step, 2);
  EXPECT_EQ(text_of(whole.lines) + text.substr(text.find("{\"seal\"")), text);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string wrong = text;
    wrong[i] = static_cast<char>(wrong[i] ^ 4);
    EXPECT_FALSE(parse_history(wrong).whole) << "byte " << i;
    EXPECT_FALSE(parse_history(text.substr(0, i)).whole) << "cut at byte " << i;
  }
  EXPECT_TRUE(parse_history(sealed("")).whole);
}

TEST(History, ThatWasDamagedIsToldFromTheModel) {
  const Job job(toy({.max_iter = 4}), 3);
  Place place;
  const JobRecord record = job.submit(place, 1).job;
  Workers workers(record);
  workers.start(place.open(), quick("w"), job.make());
  workers.join();
  const auto opened = place.open();
  storage::BlobStore& blobs = *opened->store.blobs;
  base::SystemClock clock;
  const auto whole = result_of(blobs, record, clock);
  ASSERT_TRUE(whole);
  EXPECT_TRUE(whole->metrics_whole);
  const storage::Bytes right = blobs.get(record.names().metrics())->bytes;
  storage::Bytes cut = right;
  cut.resize(cut.size() / 2);
  blobs.put(record.names().metrics(), cut);
  const auto damaged = result_of(blobs, record, clock);
  ASSERT_TRUE(damaged);
  EXPECT_FALSE(damaged->metrics_whole);
  EXPECT_LT(damaged->metrics.size(), whole->metrics.size());
  EXPECT_EQ(damaged->model, whole->model);
}

TEST(SignedJob, RunsWithTheSecretAndIsRefusedWithout) {
  const std::string secret = "correct horse battery staple";
  const Job job(toy({.max_iter = 3}), 3);
  Place place;
  const auto with = [&](const std::string& text) {
    auto opened = place.open();
    opened->store.blobs =
        storage::signed_blobs(std::move(opened->store.blobs), text, {Names::job()});
    return opened;
  };
  const auto submitter = with(secret);
  const JobRecord record = job.submit(*submitter, 1).job;
  EXPECT_THAT(input_error_of([&] { find_job(*place.open()->store.blobs); }),
              HasSubstr("job.json: the job is signed"));
  EXPECT_THAT(input_error_of([&] { find_job(*with("some other secret")->store.blobs); }),
              HasSubstr("signed with another secret"));
  // A state that no holder of the secret put, with a right seal: it counts as not there.
  const auto plain = place.open();
  const auto state = get_sealed(*submitter->store.blobs, record.names().state(0));
  ASSERT_TRUE(state);
  plain->store.blobs->put(record.names().state(5), state->bytes);
  Workers workers(record);
  workers.start(with(secret), quick("w"), job.make());
  workers.join();
  EXPECT_EQ(workers[0].error, "");
  const auto ended = ended_job(*submitter->store.blobs, record);
  ASSERT_TRUE(ended);
  EXPECT_EQ(base::text_or(*ended, "model_sha256", ""), job.expected);
}

}  // namespace
}  // namespace meanwhile::runtime
