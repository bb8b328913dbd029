// A trained model, whatever learner made it: what the commands, Python and other programs use.
//
//   const auto loaded = learn::load_model(learn::standard_registry(), "runs/a");
//   loaded.model->predict(data, threads);
//
// Thread safety: any number of calls at the same time, for none changes the model. A call uses
// `threads` threads itself, and no result depends on their number.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meanwhile/base/threads.h"
#include "meanwhile/data/dataset.h"
#include "meanwhile/data/text/vocabulary.h"
#include "meanwhile/learn/learner.h"

namespace meanwhile::learn {

class PairModel;  // pair_model.h

// The columns of the data that a model was trained on.
struct ColumnSchema {
  std::int64_t count = 0;
  std::vector<std::string> names = {};  // empty: columns are known by number alone
};

// The label of each row: a class, a cluster, or a number.
struct Predictions {
  std::vector<double> values;
  std::vector<std::string> names;  // not empty: values are indices into it
};

// Options of evaluate(). A learner takes those that are its own.
struct Measuring {
  std::int64_t silhouette_sample = 5000;  // rows, at most; 0: no silhouette
  std::uint64_t seed = 0;                 // of samples
};

class Model {
 public:
  virtual ~Model() = default;

  virtual const ColumnSchema& columns() const = 0;
  std::int64_t cols() const { return columns().count; }
  // Whether sparse data may have more columns than the model; the model ignores them.
  virtual bool ignores_extra_columns() const { return false; }
  // The words that columns stand for; null when the model has none.
  virtual std::shared_ptr<const data::Vocabulary> vocabulary() const { return nullptr; }

  // Whether the model gives a row one label. If not, transform() is its answer.
  virtual bool has_labels() const { return true; }
  // THROWS Error(kUsage) when there are no labels, Error(kInput) when columns do not fit the model.
  virtual Predictions predict(const data::Dataset& data, base::Threads threads) const;

  // Labels of the classes, in order; empty when the model has none.
  virtual std::vector<std::string> classes() const { return {}; }
  // Probabilities of all classes for rows [begin, end): (end - begin) x classes, row-major.
  // THROWS Error(kUsage) when the model gives none.
  virtual void probabilities(const data::Dataset& data, std::int64_t begin, std::int64_t end,
                             base::Threads threads, std::span<double> values) const;

  // Rows [begin, end) in the terms of the model: (end - begin) x transformed_cols(), row-major.
  virtual std::int64_t transformed_cols() const = 0;
  virtual void transform(const data::Dataset& data, std::int64_t begin, std::int64_t end,
                         base::Threads threads, std::span<double> values) const = 0;

  // A model that is its own answer, as the ranks of a graph's vertices, needs no data: the forms in
  // which it can be written, the default first. Empty: the model predicts for rows.
  virtual std::vector<std::string> answer_forms() const { return {}; }
  // Writes the answer in pieces of text. THROWS Error(kUsage) for a form that is none of these.
  virtual void write_answer(const std::string& form,
                            const std::function<void(std::string_view)>& write) const;

  // A model of pairs, which reads its files itself; null: the model is for rows. Belongs to it.
  virtual const PairModel* pairs() const { return nullptr; }

  // Measures of the model on `data`. THROWS Error(kInput) when the data does not fit.
  virtual Json evaluate(const data::Dataset& data, base::Threads threads,
                        const Measuring& measuring = {}) const = 0;
  // Describes the model alone.
  virtual Json describe() const = 0;
};

}  // namespace meanwhile::learn
