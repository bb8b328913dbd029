#include "meanwhile/learn/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "meanwhile/job/run_directory.h"
#include "meanwhile/job/train.h"
#include "meanwhile/learn/settle.h"
#include "meanwhile/learn/state_file.h"
#include "test/expect_error.h"
#include "test/learn/points.h"
#include "test/temporary_folder.h"

namespace meanwhile::learn {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Registry, HoldsTheLearnersInTheOrderOfTheHelp) {
  EXPECT_THAT(standard_registry().names(),
              ElementsAre("kmeans", "svm", "logistic", "linear", "lda", "pagerank", "components",
                          "spread", "kcore", "belief", "factorize"));
}

TEST(Registry, AnUnknownLearnerIsAnsweredWithTheNearest) {
  EXPECT_EQ(standard_registry().find("kmean"), nullptr);
  EXPECT_THAT(input_error_of([] { standard_registry().at("kmean"); }),
              AllOf(HasSubstr("'kmean'"), HasSubstr("did you mean kmeans?")));
}

TEST(Registry, EveryEntryIsWhole) {
  const TemporaryFolder folder;
  std::ofstream(folder / "seeds.csv") << "1 a\n";
  std::set<std::string> calibrated, kernels;
  for (const Entry& entry : standard_registry().entries()) {
    SCOPED_TRACE(entry.name);
    // Parameters without which there is nothing to learn.
    Json given = Json::object();
    if (entry.schema.find("seeds") != nullptr) given["seeds"] = (folder / "seeds.csv").string();
    EXPECT_FALSE(entry.summary.empty());
    EXPECT_THAT(entry.examples, HasSubstr("meanwhile train " + entry.name));
    const Json parameters = settle(entry, nullptr, given);
    const auto learner = entry.make(parameters);
    EXPECT_EQ(learner->name(), entry.name);
    kernels.insert(learner->cost({100, 10, 1000}).kernel);
    EXPECT_GT(learner->rounds_left(), 0);
    EXPECT_TRUE(entry.restore && entry.warm_start && entry.load_model);
    for (const CalibrationShape& shape : entry.calibration(false)) {
      const auto trial = entry.make(settle(entry, nullptr, shape.parameters));
      calibrated.insert(trial->cost({100, 10, 1000}).kernel);
    }
    entry.is_incremental(parameters);
    for (const Parameter& parameter : entry.schema.parameters()) {
      EXPECT_FALSE(parameter.help.empty()) << parameter.name;
      if (given.contains(parameter.name)) continue;
      EXPECT_EQ(parameters.at(parameter.name), parameter.preset) << parameter.name;
    }
    // Each choice of `send` is a choice of the parameter.
    for (const std::string& send : entry.send_choices(parameters)) {
      EXPECT_NO_THROW(settle(entry, nullptr, {{"send", send}}));
    }
  }
  // Every inner loop is measured with some learner.
  for (const std::string& kernel : kernels) EXPECT_EQ(calibrated.count(kernel), 1U) << kernel;
}

TEST(Registry, EveryDefaultIsAllowedByItsOwnSchema) {
  for (const Entry& entry : standard_registry().entries()) {
    EXPECT_NO_THROW(check_given(entry.schema, entry.schema.defaults())) << entry.name;
  }
}

TEST(Registry, AModelIsLoadedFromAFileAndFromARunDirectory) {
  const TemporaryFolder folder;
  const Entry& entry = standard_registry().at("kmeans");
  const auto learner = entry.make(settle(entry, nullptr, {{"n_clusters", 3}}));
  auto run = job::RunDirectory::create(folder / "run");
  job::train(*learner, test::dense(test::uniform(60, 2, 1), 2), {.seed = 1}, &run);
  for (const auto& path : {folder / "run", folder / "run" / "model.safetensors"}) {
    const LoadedModel loaded = load_model(standard_registry(), path);
    EXPECT_EQ(loaded.entry, &entry);
    EXPECT_EQ(loaded.model->cols(), 2);
    EXPECT_EQ(loaded.model->transformed_cols(), 3);
    EXPECT_EQ(loaded.file, folder / "run" / "model.safetensors");
  }
  EXPECT_THAT(input_error_of([&] { load_model(standard_registry(), folder / "none"); }),
              HasSubstr("no such run directory"));
}

TEST(Registry, AModelOfAnUnknownFormatOrLearnerIsRefused) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "m.safetensors";
  data::write_safetensors(path, {},
                          {{"kind", "model"}, {"learner", "kmeans"}, {"format_version", "7"}});
  EXPECT_THAT(input_error_of([&] { load_model(standard_registry(), path); }),
              AllOf(HasSubstr("m.safetensors"), HasSubstr("format_version 7")));
  data::write_safetensors(path, {},
                          {{"kind", "model"}, {"learner", "forest"}, {"format_version", "1"}});
  EXPECT_THAT(input_error_of([&] { load_model(standard_registry(), path); }),
              AllOf(HasSubstr("m.safetensors"), HasSubstr("'forest'")));
  data::write_safetensors(path, {}, {{"kind", "data"}});
  EXPECT_THAT(input_error_of([&] { load_model(standard_registry(), path); }),
              HasSubstr("not a model"));
}

}  // namespace
}  // namespace meanwhile::learn
