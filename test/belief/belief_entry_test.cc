// Belief propagation as the program sees it: parameters, files, a learner, a model.
#include <gtest/gtest.h>

#include <fstream>

#include "meanwhile/data/files/factors/factor_rows.h"
#include "meanwhile/graph/cut.h"
#include "meanwhile/learn/belief/entry.h"
#include "test/belief/rounds.h"
#include "test/belief/serial.h"
#include "test/expect_error.h"
#include "test/temporary_folder.h"

namespace meanwhile::learn::belief {
namespace {

class BeliefEntry : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& text) {
    const auto path = folder_ / name;
    std::ofstream(path) << text;
    return path;
  }
  TemporaryFolder folder_;
  const Entry entry_ = entry();
};

// A grid row by row: the workers of a cut meet in a page or two.
TEST_F(BeliefEntry, SaysHowManyWorkersTouchABelief) {
  const data::Dataset grid = data::factor_rows(test::RandomGraphs(1).grid(100, 2, 1));
  const std::int64_t rows = data::rows(grid.x);
  const data::RowRange all[] = {{0, rows}}, none[] = {{0, rows}, {0, 0}};
  EXPECT_EQ(entry_.spread(grid.x, all).copies, 1);
  EXPECT_EQ(entry_.spread(grid.x, none).copies, 1);
  // The one worker that has all sends half of the pages to the other, which adds them.
  EXPECT_EQ(entry_.spread(grid.x, all).busiest, 0);
  EXPECT_NEAR(entry_.spread(grid.x, none).busiest, 0.5, 0.02);
  const auto spread = meanwhile::graph::spread_by_workers(grid.x, entry_.spread);
  ASSERT_EQ(spread.size(), 10U);  // 2 to 8, 16, 32, 64
  EXPECT_EQ(spread[2].first, 4);
  EXPECT_GT(spread[2].second.copies, 1);
  EXPECT_LT(spread[2].second.copies, 2.5);
}

TEST_F(BeliefEntry, ReadsAModelWithEvidenceAndAnswers) {
  // P(0) = (0.25, 0.75); variable 1 is a noisy copy of it.
  const auto model = write("m.uai", "BAYES\n2\n2 2\n2\n1 0\n2 0 1\n2\n.25 .75\n4\n.9 .1 .2 .8\n");
  Json parameters = entry_.complete(entry_.schema.defaults(), {}, true);
  parameters["evidence"] = write("m.evid", "1 1 1").string();
  const data::Part part = test::factor_part(entry_.read({model}, parameters, 1), 2);
  const auto learner = entry_.make(parameters);
  test::Rounds rounds(*learner, part);
  Outcome outcome;
  while (!outcome.done()) outcome = rounds.next();
  EXPECT_EQ(outcome.ending, Ending::kConverged);
  EXPECT_NEAR(outcome.record.at("log10_z").get<double>(), std::log10(0.25 * 0.1 + 0.75 * 0.8),
              1e-9);
  const test::SavedState saved(*learner);
  std::string text;
  entry_.load_model(saved.file())->write_answer("MAP", [&](std::string_view s) { text += s; });
  EXPECT_EQ(text, "MAP\n2 1 1\n");
  for (const std::string& name : entry_.measures_in_json) {
    EXPECT_EQ(outcome.record.contains(name), name != "log10_value") << name;
  }
}

TEST_F(BeliefEntry, SaysWhatIsWrong) {
  const auto model = write("m.uai", "MARKOV\n1\n2\n1\n1 0\n2 1 1\n");
  const Json parameters = entry_.schema.defaults();
  EXPECT_NE(usage_error_of([&] {
              entry_.read({model, model}, parameters, 1);
            }).find("one model"),
            std::string::npos);
  Json wrong = parameters;
  wrong["damping"] = 1.5;
  EXPECT_NE(usage_error_of([&] { entry_.complete(wrong, {}, true); }).find("damping is 1.5"),
            std::string::npos);
  const auto zeros = write("z.uai", "MARKOV\n1\n2\n1\n1 0\n2 0 0\n");
  const std::string message = input_error_of([&] { entry_.read({zeros}, parameters, 1); });
  EXPECT_NE(message.find("z.uai: factor 0"), std::string::npos) << message;
  input_error_of([&] { entry_.read({folder_ / "none.uai"}, parameters, 1); });
}

}  // namespace
}  // namespace meanwhile::learn::belief
