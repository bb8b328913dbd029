#include "meanwhile/job/same_run.h"

#include <algorithm>
#include <string>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/base/sha256.h"
#include "meanwhile/base/version.h"
#include "meanwhile/transport/collect.h"

namespace meanwhile::job {

using base::Error;
using base::ErrorKind;
using base::Json;

namespace {

constexpr char kVersionName[] = "version", kLearnerName[] = "learner";
constexpr char kRoundsName[] = "the rounds of the state to resume";
constexpr char kStateName[] = "the hash of the state to resume";

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::string> texts_of_all(transport::Transport& transport, const std::string& mine) {
  std::vector<std::string> all;
  for (const transport::Bytes& bytes :
       transport::all_gather(transport, std::as_bytes(std::span(mine)))) {
    all.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return all;
}

// Fields that are no parameters are in plain words.
std::string shown(const std::string& name) {
  for (const char* plain : {kVersionName, kLearnerName, kRoundsName, kStateName}) {
    if (name == plain) return name;
  }
  return base::parameter(name);
}

// The first field in which `other` differs, with both values. Parameters of the learner lie one
// level below.
std::string difference(const Json& first, const Json& other, std::size_t rank) {
  for (const auto& [name, value] : first.items()) {
    const Json theirs = other.value(name, Json());
    if (value == theirs) continue;
    if (value.is_object() && theirs.is_object()) {
      const std::string inside = difference(value, theirs, rank);
      if (!inside.empty()) return inside;
    }
    return fmt::format("{} is {} on worker 0 and {} on worker {}", shown(name), text_of(value),
                       text_of(theirs), rank);
  }
  for (const auto& [name, value] : other.items()) {
    if (first.contains(name)) continue;
    return fmt::format("{} is {} on worker {} and unknown on worker 0", shown(name), text_of(value),
                       rank);
  }
  return "";
}

}  // namespace

Json identity_of(const SettledRun& run) {
  const RunSpec& spec = run.spec;
  const std::string exchange = spec.exchange ? to_string(*spec.exchange) : "auto";
  Json identity = {{kVersionName, base::kVersion},
                   {kLearnerName, run.entry->name},
                   {"parameters", run.parameters},
                   {"seed", run.seed},
                   {"shards", run.shards},
                   {"eval", run.eval},
                   {"staleness", run.bound.staleness},
                   {"exchange", exchange},
                   {"plan", spec.plan},
                   {"resume", spec.resume.string()},
                   {"out", run.asked_out}};
  identity["deal"] = run.deal ? to_string(*run.deal) : "auto";
  identity["reads"] = run.is_fresh() ? "fresh" : "fixed";
  identity["replay"] = spec.replay.string();
  identity["replicas"] = spec.replicas;
  identity["label_column"] = spec.read.label_column;
  identity["weight_column"] = spec.read.weight_column;
  identity["ignore_column"] = spec.read.ignore_columns;
  identity["columns"] = spec.read.columns;
  identity["categorical"] = spec.read.categorical;
  identity["missing"] = data::to_string(spec.read.missing);
  identity["max_levels"] = spec.read.max_levels;
  identity["text_column"] = spec.read.text_column;
  identity["ngrams"] = spec.read.words.ngrams;
  identity["labels"] = spec.read.labels.string();
  identity["weights"] = spec.read.weights.string();
  identity["tfidf"] = spec.read.tfidf;
  identity["normalize"] = spec.read.normalize ? "l2" : "none";
  identity["dtype"] = spec.read.dtype == data::DType::kFloat64 ? "float64" : "float32";
  identity["n_features"] = spec.read.n_features;
  if (run.resumed && run.resumed->state) {
    const auto& metadata = run.resumed->state->metadata();
    const auto seal = metadata.find(data::kSeal);
    identity[kRoundsName] = run.resumed->rounds;
    identity[kStateName] =
        seal != metadata.end() ? seal->second : data::sha256(run.resumed->state->tensors());
  }
  return identity;
}

void check_same_run(transport::Transport& transport, const SettledRun& run) {
  check_same_run(transport, identity_of(run));
}

void check_same_run(transport::Transport& transport, const Json& identity) {
  const std::string mine = text_of(identity);
  base::Sha256 hash;
  hash.add(mine);
  const std::vector<std::string> hashes = texts_of_all(transport, hash.hex());
  const auto other = std::find_if(hashes.begin(), hashes.end(),
                                  [&](const std::string& each) { return each != hashes.front(); });
  if (other == hashes.end()) return;
  const std::vector<std::string> texts = texts_of_all(transport, mine);
  const auto rank = static_cast<std::size_t>(other - hashes.begin());
  throw Error(ErrorKind::kUsage, "workers of one run must be given the same: {}",
              difference(base::parse_json(texts.front(), "what worker 0 was given"),
                         base::parse_json(texts[rank], "what another worker was given"), rank));
}

}  // namespace meanwhile::job
