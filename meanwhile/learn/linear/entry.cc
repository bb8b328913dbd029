#include "meanwhile/learn/linear/entry.h"

#include <memory>

#include "meanwhile/learn/linear/linear.h"
#include "meanwhile/learn/linear/trained.h"

namespace meanwhile::learn::linear {

namespace {

struct Words {
  const char *summary, *examples;
};

Words words_of(Kind kind) {
  switch (kind) {
    case Kind::kSvm:
      return {"support vector machine: linear, hinge or squared hinge loss",
              "examples:\n"
              "  meanwhile train svm train.libsvm.gz --l2 1e-4 --eval test.libsvm --out runs/svm\n"
              "  meanwhile train svm train.libsvm --send gradient --exchange tree "
              "--batch-fraction 0.01\n"
              "  mpirun -n 8 meanwhile train svm train.libsvm --out runs/mpi\n"};
    case Kind::kLogistic:
      return {"logistic regression: two classes, or more (softmax, one against the rest)",
              "examples:\n"
              "  meanwhile train logistic train.libsvm --l1 1e-5 --l2 1e-6\n"
              "  meanwhile train logistic train.csv --label-column -1 --validation-fraction 0.1\n"
              "  meanwhile train logistic train.libsvm --solver lbfgs --tol 1e-6\n"};
    case Kind::kLinear:
      return {"linear regression: squared or Huber's loss",
              "examples:\n"
              "  meanwhile train linear houses.csv --label-column price --loss huber\n"
              "  meanwhile train linear houses.csv --label-column price --l1 0.1 --standardize\n"};
  }
  return {};
}

Schema schema_for(Kind kind) {
  Parameters defaults;
  defaults.loss = losses(kind).front();
  Schema schema = schema_of(defaults);
  schema.least(1, {"max_iter", "patience", "history"})
      .fix({"loss", "fit_intercept", "multi_class", "path", "path_ratio"})
      .ends_run({"max_iter"})
      .rare({"send", "batch_fraction", "learning_rate", "adaptive", "average", "fit_intercept",
             "multi_class", "huber_delta", "patience", "history", "path_ratio", "block",
             "l2_intercept", "slope_tol"});
  schema.at("loss").help = "loss function";
  schema.at("loss").choices = choices(losses(kind));
  if (kind == Kind::kLinear) {
    schema.drop({"class_weight", "multi_class"});
  } else {
    schema.drop({"huber_delta"});
  }
  return schema;
}

std::unique_ptr<Linear> make(Kind kind, const Json& json) {
  return std::make_unique<Linear>(kind, parameters_from_json(json));
}

bool by_sgd(const Json& parameters) { return parameters.at("solver").get<std::string>() == "sgd"; }

CalibrationShape shape(const char* solver, const char* send, std::int64_t cols,
                       std::int64_t width) {
  const bool sgd = std::string_view(solver) == "sgd";
  return {{{"solver", solver},
           {"send", send},
           {"max_iter", 8},
           {"tol", 0},
           {"learning_rate", sgd ? 1e-3 : 0.0}},
          width > 1,
          cols,
          width,
          512};
}

std::vector<CalibrationShape> calibration(bool quick) {
  std::vector<CalibrationShape> shapes;
  // Dense rows; sparse ones with weights that stay in the nearest cache, and with many more.
  for (const std::int64_t width : {1, 256, 32'768}) {
    for (const std::int64_t cols : {16, 128}) {
      shapes.push_back(shape("lbfgs", "model", cols, width));
      shapes.push_back(shape("sgd", "model", cols, width));
      if (!quick) shapes.push_back(shape("sgd", "gradient", cols, width));
    }
  }
  return shapes;
}

}  // namespace

Entry entry(Kind kind) {
  Entry entry;
  entry.name = to_string(kind);
  entry.summary = words_of(kind).summary;
  entry.examples = words_of(kind).examples;
  entry.schema = schema_for(kind);
  entry.held_out = true;
  entry.takes_weights = true;
  // A row that stands for many lies in one shard, and SGD averages the models of shards.
  entry.small_by_content = [](const Json& parameters) { return !by_sgd(parameters); };
  entry.classes = kind != Kind::kLinear;
  entry.complete = [kind](const Json& parameters, const Json&, bool) {
    return to_json(settled(kind, parameters_from_json(parameters)));
  };
  entry.make = [kind](const Json& parameters) { return make(kind, parameters); };
  entry.restore = [kind](const data::SafetensorsFile& state, const Json& parameters) {
    auto linear = make(kind, parameters);
    linear->restore(state);
    return linear;
  };
  entry.warm_start = [kind](const data::SafetensorsFile& state, const Json& parameters) {
    auto linear = make(kind, parameters);
    linear->start_from(state);
    return linear;
  };
  entry.load_model = [](const data::SafetensorsFile& file) {
    return std::make_unique<LinearModel>(load_model(file));
  };
  entry.is_incremental = by_sgd;
  // Means of models may be late. A line search needs the gradient at the point that it asks about.
  entry.dial = by_sgd;
  entry.why_no_moves = [](const Json& parameters, bool held_out) -> std::string {
    if (parameters.at("send") != "model") return "`send` gradient needs the gradients of all rows";
    if (base::flag_or(parameters, "adaptive", false)) return "`adaptive` rates need whole sums";
    if (base::number_or(parameters, "l1", 0) > 0) return "`l1` ends weights in the mean of all";
    const bool held = held_out || base::number_or(parameters, "validation_fraction", 0) > 0;
    return held ? "held-out rows choose one of the models, and workers look at different ones" : "";
  };
  // Other solvers than sgd send what they need.
  entry.send_choices = [](const Json& parameters) {
    return by_sgd(parameters) ? std::vector<std::string>{"model", "gradient"}
                              : std::vector<std::string>();
  };
  entry.measures_shown = {"held_out_loss", "held_out_accuracy"};
  entry.measures_in_json = {"held_out_loss", "held_out_accuracy", "gap", "relative_gap", "path"};
  entry.calibration = calibration;
  entry.in_quick_calibration = kind == Kind::kSvm;
  return entry;
}

}  // namespace meanwhile::learn::linear
