// A learner that is added to the registry has all that the program offers: flags, runs on threads
// and at a store, resuming, plans, predictions. No other line of the library or the program names
// it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "meanwhile/base/file.h"
#include "meanwhile/base/json.h"
#include "meanwhile/cli/run_program.h"
#include "test/new_learner/column_means.h"
#include "test/temporary_folder.h"

namespace meanwhile {
namespace {

using base::Json;
using testing::AllOf;
using testing::HasSubstr;

const learn::Registry& registry() {
  static const learn::Registry registry = [] {
    auto entries = learn::standard_entries();
    entries.push_back(learn::column_means::entry());
    return learn::Registry(std::move(entries));
  }();
  return registry;
}

class NewLearner : public testing::Test {
 protected:
  struct Output {
    int code = 0;
    std::string out, err;
  };

  NewLearner() {
    std::string text = "a,b\n";
    for (int i = 0; i < 40; ++i) text += fmt::format("{},{}\n", i, 2 * i + 1);
    base::write_file(rows(), text);
  }

  std::string rows() const { return (folder_ / "rows.csv").string(); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  static Output program(std::vector<std::string> words) {
    words.insert(words.begin(), "meanwhile");
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Output output;
    output.code = cli::run_program(words, registry());
    output.out = testing::internal::GetCapturedStdout();
    output.err = testing::internal::GetCapturedStderr();
    return output;
  }

  Json trained(const std::string& name, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"train", "column_means", rows(),    "--shards",
                                      "4",     "--machine",    "generic", "--json",
                                      "--out", path(name)};
    words.insert(words.end(), more.begin(), more.end());
    const Output output = program(words);
    EXPECT_EQ(output.code, 0) << output.err;
    return Json::parse(output.out, nullptr, false);
  }

  TemporaryFolder folder_;
};

TEST_F(NewLearner, HasFlagsFromItsSchema) {
  EXPECT_THAT(program({"train", "--help"}).out, HasSubstr("column_means"));
  const Output help = program({"train", "column_means", "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out,
              AllOf(HasSubstr("--learning-rate"), HasSubstr("part of the way to the mean"),
                    HasSubstr("--max-iter"), HasSubstr("(default: 10)"), HasSubstr("examples:")));
}

TEST_F(NewLearner, HasItsMistakesNamedByFlag) {
  const Output output = program({"train", "column_means", rows(), "--learning-rate", "2"});
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.err, HasSubstr("--learning-rate: expected 0 to 1"));
}

TEST_F(NewLearner, TrainsOnThreadsAndAtAStoreToTheSameModel) {
  const Json threads = trained("threads", {"--threads", "2"});
  EXPECT_NEAR(threads["first_mean"].get<double>(), 19.5, 0.1);
  EXPECT_EQ(threads["runtime"], "threads");
  const Json tree = trained("tree", {"--threads", "3", "--exchange", "tree"});
  const Json store = trained("at-store", {"--store", path("store"), "--workers", "2"});
  EXPECT_EQ(store["runtime"], "storage");
  EXPECT_EQ(store["workers"], 2);
  EXPECT_EQ(tree["model_sha256"], threads["model_sha256"]);
  EXPECT_EQ(store["model_sha256"], threads["model_sha256"]);
}

TEST_F(NewLearner, IsResumed) {
  trained("run", {"--max-iter", "4"});
  const Json resumed = trained("run", {"--resume", path("run"), "--max-iter", "10"});
  EXPECT_EQ(resumed["model_sha256"], trained("whole")["model_sha256"]);
}

TEST_F(NewLearner, IsPlanned) {
  const Output output = program(
      {"plan", "column_means", rows(), "--machine", "generic", "--workers", "1..4", "--json"});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(Json::parse(output.out)["points"].size(), 4U);
}

TEST_F(NewLearner, Predicts) {
  trained("run");
  const Output output = program({"predict", path("run"), rows(), "--threads", "2"});
  ASSERT_EQ(output.code, 0) << output.err;
  std::string expected;
  for (int i = 0; i < 40; ++i) expected += i < 20 ? "0\n" : "1\n";
  EXPECT_EQ(output.out, expected);
}

}  // namespace
}  // namespace meanwhile
