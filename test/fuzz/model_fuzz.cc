// A model file: read as a model that rows are assigned with, and as a checkpoint that training goes
// on from.
#include <algorithm>
#include <vector>

#include "meanwhile/data/safetensors.h"
#include "meanwhile/job/run_directory.h"
#include "meanwhile/learn/kmeans/kmeans.h"
#include "test/fuzz/fuzz.h"

namespace data = meanwhile::data;
namespace fuzz = meanwhile::fuzz;
namespace kmeans = meanwhile::learn::kmeans;
using meanwhile::base::Json;

namespace {

constexpr std::int64_t kRows = 5;
constexpr std::int64_t kMost = 64;  // clusters and columns; larger ones are only slower

struct Points {
  std::vector<float> values;
  data::Dataset dataset;
  explicit Points(std::int64_t cols) : values(static_cast<std::size_t>(kRows * cols)) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * i % 17);
    dataset.x = data::Dense<float>{values.data(), kRows, cols};
  }
};

void use(const data::SafetensorsFile& file) {
  data::sha256(file.tensors());
  const kmeans::Model model = kmeans::load_model(file);
  if (model.n_clusters > kMost || model.cols > kMost) return;
  const Points points(model.cols);
  const kmeans::Assignment assignment = kmeans::assign(model, points.dataset, 1);
  for (const std::int32_t label : assignment.labels) {
    if (label < 0 || label >= model.n_clusters) fuzz::fail("a label without a centre");
  }
}

void go_on(const data::SafetensorsFile& file) {
  meanwhile::job::rounds_of(file);
  const auto text = file.metadata().find("parameters");
  if (text == file.metadata().end()) return;
  const auto parsed = meanwhile::base::try_parse_object(text->second);
  if (!parsed) return;
  const Json& json = *parsed;
  const kmeans::Parameters parameters = kmeans::parameters_from_json(json);
  if (parameters.n_clusters > kMost) return;
  kmeans::KMeans learner(parameters);
  learner.restore(file);
  const Points points(learner.model().cols > 0 ? std::min(learner.model().cols, kMost) : 2);
  const data::Part part = data::whole(points.dataset, 1, 7, 1);
  learner.attach({.part = &part, .seed = 7});
  for (int round = 0; round < 12; ++round) {
    std::vector<double> update(learner.update_size());
    learner.work(0, update);
    if (learner.absorb(update).done()) break;
  }
  data::sha256(learner.state().learned);
  data::sha256(learner.state().carried);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  for (const auto task : {use, go_on}) {
    fuzz::outcome([&] { task(data::SafetensorsFile(fuzz::as_bytes(bytes, size), "input")); });
  }
  return 0;
}
