#include "meanwhile/learn/factorize/entry.h"

#include <memory>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/learn/factorize/calibration.h"
#include "meanwhile/learn/factorize/model.h"
#include "meanwhile/learn/factorize/parameters.h"
#include "meanwhile/learn/factorize/ratings_input.h"
#include "meanwhile/learn/factorize/solvers.h"

namespace meanwhile::learn::factorize {

std::unique_ptr<RoundLearner> make_learner(const Parameters& parameters) {
  return parameters.solver == Solver::kAls ? als_learner(parameters) : sgd_learner(parameters);
}

Entry entry() {
  Entry entry;
  entry.name = kName;
  entry.summary = "matrix factorisation: ratings or counts of items by users, to recommend items";
  entry.examples =
      "examples:\n"
      "  meanwhile train factorize ratings.csv --n-factors 32 --out runs/films\n"
      "  meanwhile recommend runs/films --user alice --top 10\n"
      "  meanwhile train factorize plays.tsv --feedback implicit --alpha 40 --out runs/music\n"
      "  meanwhile train factorize log.csv --user-column customer --item-column sku "
      "--rating-column ''\n";
  entry.schema = schema_of(Parameters{});
  entry.schema.least(1, {"n_factors", "max_iter"})
      .fix({"solver", "feedback", "n_factors", "l2", "alpha", "biases", "cg_steps", "learning_rate",
            "user_column", "item_column", "rating_column", "weight_column", "header", "format",
            "duplicates"})
      .ends_run({"max_iter"})
      .rare({"cg_steps", "learning_rate", "weight_column", "header", "format", "duplicates"});
  entry.instead_of_changing = "train anew";
  entry.read = [](const std::vector<std::filesystem::path>& files, const Json& parameters,
                  int threads) {
    return read_ratings(files, parameters_from_json(parameters), threads);
  };
  entry.reads =
      "ratings: CSV, TSV or Parquet with columns for user, item and rating; libsvm, Matrix Market, "
      "or what convert made of them; also .gz and .zst";
  entry.row_name = "user";
  entry.value_name = "rating";
  entry.complete = [](const Json& parameters, const Json&, bool) {
    return to_json(parameters_from_json(parameters));
  };
  entry.make = [](const Json& parameters) {
    return make_learner(parameters_from_json(parameters));
  };
  entry.restore = [](const data::SafetensorsFile& state, const Json& parameters) {
    auto learner = make_learner(parameters_from_json(parameters));
    learner->restore(state);
    return learner;
  };
  entry.calibration = calibration;
  entry.warm_start = [](const data::SafetensorsFile&,
                        const Json&) -> std::unique_ptr<RoundLearner> {
    throw base::Error(base::ErrorKind::kUsage,
                      "{}: the ratings are not those of that run; train anew without it",
                      base::parameter("resume"));
  };
  entry.load_model = [](const data::SafetensorsFile& file) {
    return std::make_unique<FactorModel>(file);
  };
  return entry;
}

}  // namespace meanwhile::learn::factorize
