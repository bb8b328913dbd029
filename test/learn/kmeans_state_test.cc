// Model files that are damaged or made up: refused, or harmless.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "meanwhile/data/safetensors.h"
#include "meanwhile/learn/kmeans/kmeans.h"
#include "test/expect_error.h"
#include "test/temporary_folder.h"

namespace meanwhile::learn::kmeans {
namespace {

using testing::HasSubstr;

// A checkpoint of two clusters in two columns after its first of two starts.
struct Checkpoint {
  std::vector<double> centers = {1, 2, 3, 4}, counts = {2, 3};
  std::vector<double> best_centers = {1, 2, 3, 5}, best_counts = {1, 4};
  Json parameters = {{"n_clusters", 2}, {"n_init", 2}, {"max_iter", 3}};
  Json progress = {
      {"trial", 1}, {"round", 2}, {"rounds", 5}, {"seeded", true}, {"best_inertia", 1.0}};

  std::map<std::string, data::Tensor> tensors() const {
    const auto matrix = [](const std::vector<double>& values) {
      return data::tensor_of<double>(values, {static_cast<std::int64_t>(values.size()) / 2, 2});
    };
    const auto vector = [](const std::vector<double>& values) {
      return data::tensor_of<double>(values, {static_cast<std::int64_t>(values.size())});
    };
    return {{"centers", matrix(centers)},
            {"counts", vector(counts)},
            {"carried/best_centers", matrix(best_centers)},
            {"carried/best_counts", vector(best_counts)}};
  }

  void restore(const std::map<std::string, data::Tensor>& tensors) const {
    const TemporaryFolder folder;
    data::write_safetensors(
        folder / "a", tensors,
        {{"learner", "kmeans"}, {"parameters", parameters.dump()}, {"progress", progress.dump()}});
    KMeans(parameters_from_json(parameters)).restore(data::SafetensorsFile(folder / "a"));
  }
  std::string error() const {
    return input_error_of([&] { restore(tensors()); });
  }
};

TEST(KMeansState, IsReadWhenItIsWhole) {
  EXPECT_NO_THROW(Checkpoint().restore(Checkpoint().tensors()));
}

TEST(KMeansState, CentresMustBeNumbers) {
  Checkpoint file;
  file.centers[1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(file.error(), HasSubstr("centers or counts hold what is no number"));
  file = {};
  file.counts[0] = -1;
  EXPECT_THAT(file.error(), HasSubstr("centers or counts hold what is no number"));
  file = {};
  file.best_centers[3] = std::numeric_limits<double>::infinity();
  EXPECT_THAT(file.error(), HasSubstr("carried/best_centers or"));
}

TEST(KMeansState, EveryCentreHasItsCount) {
  Checkpoint file;
  file.counts = {1};
  EXPECT_THAT(file.error(), HasSubstr("counts is not one number for each of 2 rows"));
  file = {};
  file.best_counts = {1, 2, 3};
  EXPECT_THAT(file.error(), HasSubstr("carried/best_counts is not one number for each of 2 rows"));
}

TEST(KMeansState, TheBestCentresAreLikeTheOthers) {
  Checkpoint file;
  file.best_centers = {1, 2, 3, 4, 5, 6};
  file.best_counts = {1, 2, 3};
  EXPECT_THAT(file.error(), HasSubstr("3 best centres for 2 clusters"));
  file = {};
  std::map<std::string, data::Tensor> tensors = file.tensors();
  const double narrow[] = {1, 2};
  tensors["carried/best_centers"] = data::tensor_of<double>(narrow, {2, 1});
  EXPECT_THAT(input_error_of([&] { file.restore(tensors); }),
              HasSubstr("centres of 2 and of 1 columns"));
}

TEST(KMeansState, TheBestCentresFitTheDataBeforeTheNextStartHasSome) {
  Checkpoint file;
  file.progress["seeded"] = false;
  const TemporaryFolder folder;
  data::write_safetensors(folder / "a", file.tensors(),
                          {{"learner", "kmeans"},
                           {"parameters", file.parameters.dump()},
                           {"progress", file.progress.dump()}});
  KMeans kmeans(parameters_from_json(file.parameters));
  kmeans.restore(data::SafetensorsFile(folder / "a"));
  const std::vector<float> values(9);
  data::Dataset wide;
  wide.x = data::Dense<float>{values.data(), 3, 3};
  const data::Part part = data::whole(wide, 1, 0, 1);
  EXPECT_THAT(input_error_of([&] { kmeans.attach({.part = &part}); }),
              HasSubstr("the centres have 2 columns, the data has 3"));
}

TEST(KMeansState, CountersCannotOverflow) {
  for (const char* name : {"trial", "round", "rounds", "far", "since_lowest", "best_rounds"}) {
    for (const std::int64_t value : {std::int64_t{-1}, INT64_MAX}) {
      Checkpoint file;
      file.progress[name] = value;
      EXPECT_THAT(file.error(), HasSubstr(name));
    }
  }
}

TEST(KMeansState, ParametersHaveBounds) {
  for (const char* name : {"n_clusters", "n_init", "max_iter", "batch_size"}) {
    Json json = {{name, std::int64_t{1} << 31}};
    EXPECT_THAT(error_of(base::ErrorKind::kUsage, [&] { parameters_from_json(json); }),
                HasSubstr(std::string(name) + " is 2147483648; it must be at most 1073741824"));
  }
}

}  // namespace
}  // namespace meanwhile::learn::kmeans
