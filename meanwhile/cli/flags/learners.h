// The learners the program knows, in one explicit table. A new learner is a line there and the two
// small classes below for it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/data/dataset.h"
#include "meanwhile/data/safetensors.h"
#include "meanwhile/data/text/vocabulary.h"
#include "meanwhile/learn/round_learner.h"

namespace CLI {
class App;
}

namespace meanwhile::cli {

// The parameters of a learner on the command line.
class LearnerFlags {
 public:
  virtual ~LearnerFlags() = default;
  // Settles the parameters: the defaults or those of the run to resume, then the flags given.
  // `has_state`: go_on() or warm_start() will be called, not begin().
  // THROWS Error(kUsage, kInput). Called once, before any data is read.
  virtual void settle(const base::Json* resumed, bool has_state) = 0;
  virtual base::Json parameters() const = 0;
  // Whether data that differs from round to round is what the learner is meant for.
  virtual bool is_incremental() const = 0;
  // What may be sent in a round, where the learner has the choice and no flag has made it; then
  // take_send() makes it.
  virtual std::vector<std::string> open_sends() const { return {}; }
  virtual void take_send(const std::string& /*send*/) {}
  // A learner that begins; that goes on from `state`; or that begins on other data than `state`
  // came from with what was learned there.
  virtual std::unique_ptr<learn::RoundLearner> begin() const = 0;
  virtual std::unique_ptr<learn::RoundLearner> go_on(const data::SafetensorsFile& state) const = 0;
  virtual std::unique_ptr<learn::RoundLearner> warm_start(
      const data::SafetensorsFile& state) const = 0;
};

// What a model says of each row: a class, a cluster, or a number.
struct Predictions {
  std::vector<double> values;
  std::vector<std::string> names;  // not empty: values are indices into it
};

// What was learned, for the commands that use it.
class TrainedModel {
 public:
  virtual ~TrainedModel() = default;
  virtual std::int64_t cols() const = 0;
  // Whether sparse data may have more columns than the model: they count nothing.
  virtual bool ignores_extra_columns() const { return false; }
  // The words its columns stand for; null when it has none, or knows none.
  virtual std::shared_ptr<const data::Vocabulary> vocabulary() const { return nullptr; }
  // Whether a row has one label. Of a model that gives none, transform() says all there is.
  virtual bool has_labels() const { return true; }
  // THROWS Error(kUsage) when there are no labels.
  virtual Predictions predict(const data::Dataset& data, int threads) const;
  // Labels of the classes, in order; empty when it has none.
  virtual std::vector<std::string> classes() const { return {}; }
  // Of rows [begin, end), (end - begin) x classes, row-major. THROWS Error(kUsage) when the model
  // gives none.
  virtual void probabilities(const data::Dataset& data, std::int64_t begin, std::int64_t end,
                             int threads, std::span<double> values) const;
  virtual std::int64_t transformed_cols() const = 0;
  // Rows [begin, end) of `data`, (end - begin) x transformed_cols(), row-major.
  virtual void transform(const data::Dataset& data, std::int64_t begin, std::int64_t end,
                         int threads, std::span<double> values) const = 0;
  virtual base::Json evaluate(const data::Dataset& data, int threads) const = 0;
  // What can be said of the model alone.
  virtual base::Json describe() const = 0;
};

struct LearnerEntry {
  const char* name;
  const char* summary;
  const char* examples;  // of `train`, for its help
  std::unique_ptr<LearnerFlags> (*add_flags)(CLI::App& app);
  std::unique_ptr<TrainedModel> (*load)(const data::SafetensorsFile& file);
  bool held_out = false;  // whether it looks at held-out data while it trains
  bool of_text = false;   // whether a file that may be text is text
};

std::span<const LearnerEntry> learners();

struct LoadedModel {
  const LearnerEntry* learner;
  std::filesystem::path file;
  std::unique_ptr<TrainedModel> model;
};

// The file of the model in `path`: a run directory (its newest state) or a model file. THROWS
// Error(kInput).
std::filesystem::path model_file(const std::filesystem::path& path);
// The model there. THROWS Error(kInput).
LoadedModel load_model(const std::filesystem::path& path);

// k-means, in kmeans.cc.
std::unique_ptr<LearnerFlags> add_kmeans_flags(CLI::App& app);
std::unique_ptr<TrainedModel> load_kmeans(const data::SafetensorsFile& file);

// Linear models, in linear.cc.
std::unique_ptr<LearnerFlags> add_svm_flags(CLI::App& app);
std::unique_ptr<LearnerFlags> add_logistic_flags(CLI::App& app);
std::unique_ptr<LearnerFlags> add_linear_flags(CLI::App& app);
std::unique_ptr<TrainedModel> load_linear(const data::SafetensorsFile& file);

// Topic models, in lda.cc and lda_model.cc.
std::unique_ptr<LearnerFlags> add_lda_flags(CLI::App& app);
std::unique_ptr<TrainedModel> load_lda(const data::SafetensorsFile& file);

}  // namespace meanwhile::cli
