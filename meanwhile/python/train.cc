#include "meanwhile/python/train.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/python/model.h"
#include "meanwhile/python/rows.h"
#include "meanwhile/python/session.h"
#include "meanwhile/python/values.h"

namespace meanwhile::python {

namespace nb = nanobind;
using base::Error;
using base::ErrorKind;
using base::Json;

namespace {

struct Result {
  std::shared_ptr<Model> model;
  std::vector<std::string> notes;
  bool converged = false;
  std::string run_dir;
  std::uintptr_t address = 0;
};

// The exception that ended the run, with how to go on from where it was.
[[noreturn]] void raise_interrupt(nb::python_error& raised, const Session& session,
                                  const job::RunSpec& spec) {
  if (!raised.matches(PyExc_KeyboardInterrupt)) throw std::move(raised);
  const Json last = session.history.empty() ? Json::object() : session.history.back();
  const std::int64_t rounds = base::integer_or(last, "round", 0);
  std::string text = "interrupted after " + base::counted(rounds, "round");
  std::error_code error;
  if (spec.keeps_directory && !std::filesystem::exists(spec.out / "run.json", error)) {
    text += "; there is no run to go on with yet";
  } else if (spec.keeps_directory) {
    text +=
        fmt::format("; to go on, call it again with run_dir={:?}, resume=True", spec.out.string());
  } else {
    text += "; with run_dir= a run can be resumed";
  }
  PyErr_SetString(PyExc_KeyboardInterrupt, text.c_str());
  throw nb::python_error();
}

Result train(const std::string& learner, const Rows& rows, nb::handle parameters,
             std::optional<std::uint64_t> seed, std::optional<int> shards, int threads,
             const std::optional<std::string>& deal, bool normalize, bool tfidf, const Rows* eval,
             const std::shared_ptr<Model>& start, nb::handle run_dir, bool resume,
             double time_limit, double checkpoint_seconds, nb::object callback) {
  job::RunSpec spec;
  spec.learner = learner;
  spec.parameters = to_json_object(parameters, "parameters");
  spec.rows = rows.data;
  if (eval != nullptr) spec.eval_rows = eval->data;
  spec.read.normalize = normalize, spec.read.tfidf = tfidf;
  spec.seed = seed, spec.shards = shards;
  if (deal) {
    spec.deal = data::deal_of(*deal);
    if (!spec.deal) {
      throw Error(ErrorKind::kUsage, "`deal` is '{}'; it must be one of: blocks, content", *deal);
    }
  }
  if (start) spec.start = Model::share(start);
  spec.keeps_directory = !run_dir.is_none();
  if (spec.keeps_directory) spec.out = to_path(run_dir);
  if (resume && !spec.keeps_directory) {
    throw Error(ErrorKind::kUsage, "`resume`: needs `run_dir`, the run to go on with");
  }
  if (resume) spec.resume = spec.out;
  spec.time_limit_s = time_limit, spec.checkpoint_seconds = checkpoint_seconds;

  Session session(std::move(callback));
  job::RunResult ran;
  try {
    ran = session.run(spec, threads);
  } catch (nb::python_error& raised) {
    raise_interrupt(raised, session, spec);
  }
  Result result;
  if (ran.nothing_left || spec.keeps_directory) {
    result.model = std::make_shared<Model>(ran.directory);
  } else if (!ran.model.empty()) {
    result.model = std::make_shared<Model>(std::move(ran.model));
  } else {
    throw Error(ErrorKind::kFailed, "training ended before its first round: there is no model");
  }
  result.model->record = std::move(ran.record);
  result.model->history = std::move(session.history);
  result.notes = std::move(session.notes);
  for (std::string& note : result.notes) note = with_keywords(note);
  result.converged = ran.trained.ending == learn::Ending::kConverged;
  if (ran.nothing_left) {
    result.converged = learn::ended_of(result.model->file()).ending == learn::Ending::kConverged;
  }
  result.run_dir = ran.directory.string();
  result.address = session.address;
  return result;
}

nb::list history_of(const Model& model) {
  nb::list list;
  for (const Json& line : model.history) list.append(to_python(line));
  return list;
}

nb::list learners() {
  nb::list list;
  constexpr const char* kTypes[] = {"whole", "real", "boolean", "choice", "text"};
  for (const learn::Entry& entry : learn::standard_registry().entries()) {
    Json parameters = Json::array();
    for (const learn::Parameter& parameter : entry.schema.parameters()) {
      parameters.push_back({{"name", parameter.name},
                            {"help", with_keywords(parameter.help)},
                            {"type", kTypes[static_cast<std::size_t>(parameter.type)]},
                            {"default", parameter.preset},
                            {"choices", parameter.choices},
                            {"other_text", parameter.other_text},
                            {"least", parameter.least},
                            {"automatic", parameter.automatic},
                            {"fixed", parameter.fixed},
                            {"rare", parameter.rare}});
    }
    list.append(to_python({{"name", entry.name},
                           {"summary", entry.summary},
                           {"parameters", parameters},
                           {"classes", entry.classes},
                           {"held_out", entry.held_out},
                           {"of_text", entry.of_text}}));
  }
  return list;
}

}  // namespace

void add_train(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<Result>(module, "Result", "What a run made.")
      .def_ro("model", &Result::model)
      .def_ro("notes", &Result::notes)
      .def_ro("converged", &Result::converged)
      .def_ro("address", &Result::address)
      .def_prop_ro("record", [](const Result& r) { return to_python(r.model->record); })
      .def_prop_ro("history", [](const Result& r) { return history_of(*r.model); })
      .def_prop_ro("run_dir", [](const Result& r) -> nb::object {
        if (r.run_dir.empty()) return nb::none();
        return nb::cast(r.run_dir);
      });
  module.def("train", &train, "learner"_a, "rows"_a, "parameters"_a = nb::none(), nb::kw_only(),
             "seed"_a = nb::none(), "shards"_a = nb::none(), "threads"_a = 0, "deal"_a = nb::none(),
             "normalize"_a = false, "tfidf"_a = false, "eval"_a = nb::none(),
             "start"_a = nb::none(), "run_dir"_a = nb::none(), "resume"_a = false,
             "time_limit"_a = 0.0, "checkpoint_seconds"_a = 10.0, "callback"_a = nb::none());
  module.def("learners", &learners);
}

}  // namespace meanwhile::python
