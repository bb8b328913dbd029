#include "meanwhile/learn/lda/parameters.h"

#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/described.h"

namespace meanwhile::learn::lda {

namespace {

using base::Error;
using base::ErrorKind;

constexpr std::int64_t kMostCount = std::int64_t{1} << 40;
constexpr std::int64_t kMostTopics = 1 << 20;

void in_range(const char* name, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return;
  throw Error(ErrorKind::kUsage, "{} is {}; it must be from {} to {}", name, value, least, most);
}

void not_negative(const char* name, double value) {
  if (value >= 0 && std::isfinite(value)) return;
  throw Error(ErrorKind::kUsage, "{} is {}; it must be 0 or more", name, value);
}

}  // namespace

void validate(const Parameters& p) {
  in_range("n_topics", p.n_topics, 1, kMostTopics);
  in_range("passes", p.passes, 1, kMostTopics);
  in_range("batch_size", p.batch_size, 0, kMostCount);
  in_range("max_documents", p.max_documents, 0, kMostCount);
  in_range("sweeps", p.sweeps, 1, 1 << 14);
  in_range("inference_max_iter", p.inference_max_iter, 1, kMostCount);
  const bool by_rounds = p.step_by == StepBy::kRounds;
  if (by_rounds && !(p.kappa >= 0 && p.kappa <= 1)) {
    throw Error(ErrorKind::kUsage, "kappa is {}; it must be from 0 to 1", p.kappa);
  }
  if (!by_rounds && !(p.kappa > 0.5 && p.kappa <= 1)) {
    throw Error(ErrorKind::kUsage, "kappa is {}; it must be above 0.5, and at most 1", p.kappa);
  }
  if (by_rounds && (p.send == Send::kModel || p.sampler != Sampler::kNone)) {
    throw Error(ErrorKind::kUsage,
                "step_by is rounds, which goes with send gradient and sampler none");
  }
  not_negative("total_documents", p.total_documents);
  not_negative("inference_change", p.inference_change);
  not_negative("tau0", p.tau0);
  not_negative("alpha", p.alpha);
  not_negative("eta", p.eta);
  not_negative("inference_tol", p.inference_tol);
  not_negative("tol", p.tol);
}

Json to_json(const Parameters& parameters) { return described_json(parameters); }

Parameters parameters_from_json(const Json& json) {
  auto parameters = from_described<Parameters>(json, "LDA");
  validate(parameters);
  return parameters;
}

}  // namespace meanwhile::learn::lda
