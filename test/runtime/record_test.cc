#include "meanwhile/runtime/storage/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meanwhile/base/error.h"
#include "meanwhile/base/version.h"
#include "test/expect_error.h"
#include "test/runtime/place.h"

namespace meanwhile::runtime {
namespace {

using testing::HasSubstr;

JobRecord example() {
  JobRecord record;
  record.version = base::kVersion;
  record.learner = "kmeans";
  record.parameters = {{"n_clusters", 5}, {"tol", 1e-4}};
  record.seed = 18446744073709551615U;
  record.data = {true,
                 false,
                 7,
                 {3, 0, 4},
                 {10, 0, 20},
                 true,
                 false,
                 data::Deal::kContent,
                 9,
                 "aa",
                 {0, 1},
                 {"no", "yes"},
                 {"ä", "b", "c", "d", "e", "f", "g"}};
  record.eval = data::Outline{};
  record.eval->sparse = true;
  record.eval->cols = 7;
  record.eval->shard_rows = {1, 2, 3};
  record.eval->shard_stored = {1, 2, 3};
  record.eval->label_values = {-1, 0.1, 1e-300};
  record.state_sha256 = "bb";
  record.rounds_done = 3;
  record.lease_s = 2.5;
  record.about = {{"submitted", "now"}};
  settle_id(record);
  return record;
}

std::string refusal(const Json& json) {
  try {
    record_from_json(json, "store/job.json");
  } catch (const base::Error& e) {
    EXPECT_EQ(e.kind(), base::ErrorKind::kInput);
    return e.what();
  }
  return "";
}

TEST(JobRecord, IsReadBackFromItsText) {
  for (const bool eval : {false, true}) {
    JobRecord record = example();
    if (!eval) record.eval.reset();
    if (eval) record.memory_sha256 = "cc";
    settle_id(record);
    const JobRecord again =
        record_from_json(base::parse_json(to_json(record).dump(), "job.json"), "job.json");
    EXPECT_EQ(to_json(again).dump(), to_json(record).dump());
    EXPECT_EQ(again.seed, record.seed);
    EXPECT_EQ(again.lease_s, 2.5);
    ASSERT_EQ(again.eval.has_value(), eval);
    if (eval) {
      EXPECT_EQ(again.eval->label_values, record.eval->label_values);
    }
    EXPECT_EQ(again.memory_sha256, record.memory_sha256);
    EXPECT_EQ(again.shards(), 3);
  }
}

TEST(JobRecord, HasAnIdOfAllThatTheModelDependsOn) {
  const std::string id = example().id;
  EXPECT_EQ(id.size(), 16u);
  const auto id_with = [](const std::function<void(JobRecord&)>& change) {
    JobRecord record = example();
    change(record);
    settle_id(record);
    return record.id;
  };
  EXPECT_EQ(id_with([](JobRecord& r) { r.lease_s = 30; }), id);
  EXPECT_EQ(id_with([](JobRecord& r) { r.about = {{"submitted", "later"}}; }), id);
  std::set<std::string> ids = {id};
  const std::vector<std::function<void(JobRecord&)>> changes = {
      [](JobRecord& r) { r.version.append("-other"); },
      [](JobRecord& r) { r.learner = "svm"; },
      [](JobRecord& r) { r.parameters["tol"] = 2e-4; },
      [](JobRecord& r) { r.seed -= 1; },
      [](JobRecord& r) { r.memory_sha256 = "cc"; },
      [](JobRecord& r) { r.data.sparse = false; },
      [](JobRecord& r) { r.data.float64 = true; },
      [](JobRecord& r) { r.data.cols = 8; },
      [](JobRecord& r) {
        r.data.shard_rows = {3, 4, 0};
      },
      [](JobRecord& r) {
        r.data.shard_stored = {10, 1, 19};
      },
      [](JobRecord& r) { r.data.labelled = false; },
      [](JobRecord& r) { r.data.weighted = true; },
      [](JobRecord& r) { r.data.sha256 = "ab"; },
      [](JobRecord& r) {
        r.data.label_values = {-1, 0.2, 1e-300};
      },
      [](JobRecord& r) {
        r.data.class_names = {"yes", "no"};
      },
      [](JobRecord& r) {
        r.data.feature_names = {"a", "b"};
      },
      [](JobRecord& r) { r.eval.reset(); },
      [](JobRecord& r) { r.eval->sha256.append("-other"); },
      [](JobRecord& r) { r.state_sha256 = "bc"; },
      [](JobRecord& r) { r.rounds_done = 4; },
  };
  for (const auto& change : changes) ids.insert(id_with(change));
  EXPECT_EQ(ids.size(), changes.size() + 1);
}

TEST(JobRecord, OfAnotherVersionIsRefusedAndSaysWhich) {
  Json json = to_json(example());
  json["version"] = "9.8.7";
  EXPECT_THAT(refusal(json), HasSubstr("9.8.7"));
  EXPECT_THAT(refusal(json), HasSubstr("store/job.json"));
  json = to_json(example());
  json["format"] = 2;
  EXPECT_THAT(refusal(json), HasSubstr("has format 2, this program reads format 1"));
}

TEST(JobRecord, ThatWasChangedIsRefused) {
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, Json>>{{"id", "0123456789abcdef"},
                                                 {"learner", "svm"},
                                                 {"parameters", {{"n_clusters", 6}}},
                                                 {"seed", 1},
                                                 {"state_sha256", ""},
                                                 {"rounds_done", 0}}) {
    Json json = to_json(example());
    json[key] = value;
    EXPECT_THAT(refusal(json), HasSubstr("was changed")) << key;
  }
  Json json = to_json(example());
  json["data"]["labelled"] = false;
  EXPECT_THAT(refusal(json), HasSubstr("was changed"));
}

// The id is a hash without a key: whoever writes job.json can make it.
TEST(JobRecord, WithNumbersOutOfRangeIsRefusedThoughItsIdIsRight) {
  const std::int64_t large = std::int64_t{1} << 62;
  const std::vector<std::pair<std::string, std::function<void(JobRecord&)>>> changes = {
      {"shard 0 has -1 rows",
       [](JobRecord& r) {
         r.data.shard_rows = {-1, 4, 4};
       }},
      {"rows",
       [=](JobRecord& r) {
         r.data.shard_rows = {large, 7 - large, 0};
       }},
      {"rows",
       [=](JobRecord& r) {
         r.data.shard_rows = {large, large, large};
       }},
      {"stored",
       [=](JobRecord& r) {
         r.data.shard_stored = {large, 30 - large, 0};
       }},
      {"shard 1 has 0 rows x 7 columns, but 1", [](JobRecord& r) { r.data.shard_stored[1] = 1; }},
      {"shard 0 has 3 rows x 7 columns, but 10", [](JobRecord& r) { r.data.sparse = false; }},
      {"0 shards", [](JobRecord& r) { r.data.shard_rows = r.data.shard_stored = {}; }},
      {"stored values of 4", [](JobRecord& r) { r.data.shard_stored.push_back(0); }},
      {"0 columns", [](JobRecord& r) { r.data.cols = 0; }},
      {"columns", [=](JobRecord& r) { r.data.cols = large; }},
      {"feature names", [](JobRecord& r) { r.data.feature_names.pop_back(); }},
      {"label 2 of 2 classes",
       [](JobRecord& r) {
         r.data.label_values = {0, 2};
       }},
      {"label 0.5", [](JobRecord& r) { r.data.label_values = {0.5}; }},
      {"held-out data of 8 columns", [](JobRecord& r) { r.eval->cols = 8; }},
      {"another number of shards",
       [](JobRecord& r) { r.eval->shard_rows = r.eval->shard_stored = {1}; }},
      {"-1 rounds", [](JobRecord& r) { r.rounds_done = -1; }},
      {"rounds", [=](JobRecord& r) { r.rounds_done = large; }},
      {"a lease of 0.5 s", [](JobRecord& r) { r.lease_s = 0.5; }},
      {"a lease of 1000000000 s", [](JobRecord& r) { r.lease_s = 1e9; }},
      {"every 0 steps", [](JobRecord& r) { r.memory_every = 0; }},
      {"'../../evil' is not the name", [](JobRecord& r) { r.learner = "../../evil"; }},
      {"is not the name of a learner", [](JobRecord& r) { r.learner = ""; }},
      {"parameters", [](JobRecord& r) { r.parameters = 5; }},
  };
  for (const auto& [expected, change] : changes) {
    JobRecord record = example();
    change(record);
    settle_id(record);
    EXPECT_THAT(refusal(to_json(record)), HasSubstr(expected));
  }
  Json json = to_json(example());
  json["data"]["shard_rows"][0] = 18446744073709551615U;
  EXPECT_THAT(refusal(json), HasSubstr("expected an integer"));
  json = to_json(example());
  json["about"] = 5;  // for the user alone
  EXPECT_TRUE(record_from_json(json, "job.json").about.empty());
}

TEST(JobRecord, ThatIsNoneIsRefused) {
  std::vector<Json> others = {Json(),
                              Json::array(),
                              Json::object(),
                              Json(5),
                              Json("job"),
                              Json(Json::value_t::discarded),
                              {{"kind", "model"}},
                              {{"kind", 5}},
                              {{"kind", nullptr}}};
  const Json whole = to_json(example());
  for (const auto& [key, value] : whole.items()) {
    Json json = whole;
    if (key != "eval" && key != "about") {
      json.erase(key);
      others.push_back(json);
    }
    if (key == "about" || key == "parameters") continue;
    for (const Json& wrong : {Json(), Json(5.5), Json::array({1}), Json::object()}) {
      if (key == "lease_s" && wrong.is_number()) continue;
      json[key] = wrong;
      others.push_back(json);
    }
  }
  for (const Json& json : others) {
    EXPECT_THAT(refusal(json), HasSubstr("job.json")) << (json.is_discarded() ? "" : json.dump());
  }
}

TEST(FindJob, FindsNothingARecordOrAnError) {
  Place place;
  const auto opened = place.open();
  storage::BlobStore& blobs = *opened->store.blobs;
  EXPECT_FALSE(find_job(blobs));
  blobs.put(Names::job(), json_bytes(to_json(example())));
  ASSERT_TRUE(find_job(blobs));
  EXPECT_EQ(find_job(blobs)->id, example().id);
  blobs.put(Names::job(), json_bytes(Json::array()));
  EXPECT_THROW(find_job(blobs), base::Error);
  const std::string nested = fmt::format(R"({{"kind":"job","about":{})", std::string(200'000, '['));
  blobs.put(Names::job(), std::as_bytes(std::span(nested)));
  EXPECT_THAT(input_error_of([&] { find_job(blobs); }),
              HasSubstr("job.json: is nested deeper than 64 levels"));
}

}  // namespace
}  // namespace meanwhile::runtime
