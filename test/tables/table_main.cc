// The program with one learner more, which has tables: limits.py trains it.
#include <memory>
#include <utility>

#include "meanwhile/cli/run_program.h"
#include "meanwhile/learn/registry.h"
#include "test/job/table_learner.h"

namespace meanwhile::job {
namespace {

learn::Entry table_entry() {
  const auto make = [](const base::Json& parameters) {
    return std::make_unique<TableLearner>(TableParameters{
        parameters.at("max_iter").get<std::int64_t>(), parameters.at("words").get<std::int64_t>(),
        parameters.at("width").get<std::int32_t>(),
        parameters.at("all_kinds").get<std::int64_t>() != 0,
        parameters.at("remembers").get<std::int64_t>() != 0});
  };
  learn::Entry entry;
  entry.name = "words";
  entry.summary = "counts of words, in tables";
  entry.examples = "examples:\n  meanwhile train words documents.npy\n";
  entry.schema = learn::Schema({learn::parameter_of("max_iter", "rounds", 3),
                                learn::parameter_of("words", "words", 1000),
                                learn::parameter_of("width", "columns of a word", 32),
                                learn::parameter_of("all_kinds", "tables of all kinds", 0),
                                learn::parameter_of("remembers", "shards have memory", 0)});
  entry.schema.ends_run({"max_iter"});
  entry.complete = [](const base::Json& parameters, const base::Json&, bool) { return parameters; };
  entry.make = make;
  entry.restore = [make](const data::SafetensorsFile& state, const base::Json& parameters) {
    auto learner = make(parameters);
    learner->restore(state);
    return learner;
  };
  return entry;
}

}  // namespace
}  // namespace meanwhile::job

int main(int argc, char** argv) {
  auto entries = meanwhile::learn::standard_entries();
  entries.push_back(meanwhile::job::table_entry());
  return meanwhile::cli::run_program({argv, argv + argc},
                                     meanwhile::learn::Registry(std::move(entries)));
}
