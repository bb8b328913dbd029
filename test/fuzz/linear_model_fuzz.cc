// A file of a linear model: read as a model that says something of rows, as a checkpoint that
// training goes on from, and as a model that training on other rows starts from.
#include <algorithm>
#include <cmath>
#include <vector>

#include "meanwhile/base/parallel.h"
#include "meanwhile/data/safetensors.h"
#include "meanwhile/job/run_directory.h"
#include "meanwhile/learn/linear/linear.h"
#include "meanwhile/learn/linear/model.h"
#include "test/fuzz/fuzz.h"

namespace data = meanwhile::data;
namespace fuzz = meanwhile::fuzz;
namespace linear = meanwhile::learn::linear;
using meanwhile::base::Json;

namespace {

constexpr std::int64_t kRows = 9;
constexpr int kRounds = 12, kShards = 2;
constexpr std::int64_t kMost = 64;  // columns and classes; larger ones are only slower

// Rows of the model's columns, with its labels.
struct Points {
  std::vector<float> values;
  std::vector<double> labels, label_values;
  data::Dataset dataset;

  explicit Points(const linear::Model& model)
      : values(static_cast<std::size_t>(kRows * model.cols)), label_values(model.classes) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * i % 17) / 8;
    for (std::size_t i = 0; i < kRows; ++i) {
      const std::size_t K = model.classes.size();
      labels.push_back(K == 0 ? static_cast<double>(i) : model.classes[i % K]);
    }
    if (label_values.empty()) label_values = labels;
    dataset.x = data::Dense<float>{values.data(), kRows, model.cols};
    dataset.labels = labels;
    dataset.class_names = model.class_names;
  }
};

bool too_large(const linear::Model& model) {
  return model.cols > kMost || model.outputs > static_cast<std::size_t>(kMost);
}

void use(const data::SafetensorsFile& file) {
  const linear::Model model = linear::load_model(file);
  if (too_large(model)) return;
  const Points points(model);
  const std::vector<double> predicted = linear::predict(model, points.dataset, 1);
  for (const double label : predicted) {
    const auto& known = model.classes;
    if (!known.empty() && std::find(known.begin(), known.end(), label) == known.end()) {
      fuzz::fail("a label that is no class");
    }
  }
  std::vector<double> z(kRows * model.outputs);
  linear::margins(model, points.dataset, 0, kRows, 1, z);
  if (model.kind == linear::Kind::kLogistic) {
    std::vector<double> p(model.classes.size());
    linear::probabilities(model, std::span(z).first(model.outputs), p);
    // A weight may be so large that a margin is infinite, which leaves no number.
    if (std::any_of(p.begin(), p.end(), [](double x) { return x < 0 || x > 1; })) {
      fuzz::fail("a probability that is none");
    }
  }
  for (std::size_t k = 0; k < model.classes.size(); ++k) model.class_label(k);
  for (std::int64_t j = 0; j < model.cols; ++j) model.feature_name(j);
  linear::evaluate(model, points.dataset, 1).dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <class Begin>
void train(const data::SafetensorsFile& file, const Begin& begin) {
  const linear::Model model = linear::load_model(file);
  if (too_large(model)) return;
  linear::Linear learner(model.kind, linear::parameters_from_json(model.parameters));
  begin(learner);
  const Points points(model);
  const data::Part part = data::whole(points.dataset, kShards, 7, 1);
  meanwhile::base::ThreadPool pool(1);
  learner.attach({.part = &part, .seed = 7, .pool = &pool});
  meanwhile::learn::ShardMemory none;
  for (int round = 0; round < kRounds; ++round) {
    meanwhile::exchange::Update total(learner.update_shape());
    for (int shard = 0; shard < kShards; ++shard) {
      meanwhile::exchange::Update update(learner.update_shape());
      learner.work(shard, none, update);
      update.settle();
      total.add(update);
    }
    const auto outcome = learner.absorb(total);
    if (outcome.done() || !std::isfinite(outcome.objective)) break;
  }
  data::sha256(learner.state().learned);
  data::sha256(learner.state().carried);
}

void go_on(const data::SafetensorsFile& file) {
  meanwhile::job::rounds_of(file);
  train(file, [&](linear::Linear& learner) { learner.restore(file); });
}

void start_from(const data::SafetensorsFile& file) {
  train(file, [&](linear::Linear& learner) { learner.start_from(file); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  for (const auto task : {use, go_on, start_from}) {
    fuzz::outcome([&] { task(data::SafetensorsFile(fuzz::as_bytes(bytes, size), "input")); });
  }
  return 0;
}
