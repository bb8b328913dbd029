// The registry entry of a learner with shard memory, and a registry that holds it beside those of
// the library.
#pragma once

#include <memory>
#include <utility>

#include "meanwhile/learn/registry.h"
#include "test/job/memory_learner.h"

namespace meanwhile::job {

inline learn::Entry memory_entry() {
  const auto make = [](const base::Json& parameters) {
    return std::make_unique<MemoryLearner>(parameters.at("max_iter").get<std::int64_t>());
  };
  learn::Entry entry;
  entry.name = "running_mean";
  entry.summary = "a model that follows the mean of what each row remembers";
  entry.examples = "examples:\n  meanwhile train running_mean points.npy\n";
  entry.schema = learn::Schema({learn::parameter_of("max_iter", "rounds", 7)});
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

inline learn::Registry registry_with_memory() {
  auto entries = learn::standard_entries();
  entries.push_back(memory_entry());
  return learn::Registry(std::move(entries));
}

}  // namespace meanwhile::job
