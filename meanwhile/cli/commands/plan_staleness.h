// The part of a plan that says how stale reads should be.
#pragma once

#include <string>

#include "meanwhile/base/json.h"
#include "meanwhile/cli/flags/plan_flags.h"
#include "meanwhile/plan/dial.h"

namespace meanwhile::cli {

// The flags of `plan` that describe workers which are slow.
class StragglerFlags {
 public:
  // This object must outlive the parsing of `table`.
  void add_to(const FlagTable& table);

  // THROWS Error(kUsage) for what contradicts itself.
  void check() const;
  // Whether the user spoke of stragglers.
  bool given() const;
  const plan::Stragglers& stragglers() const { return stragglers_; }

 private:
  plan::Stragglers stragglers_;
  Flag share_option_, one_option_, slowdown_option_, rounds_option_;
};

std::string dial_text(const plan::DialAdvice& advice, const plan::Stragglers& stragglers,
                      int workers);
base::Json dial_json(const plan::DialAdvice& advice, const plan::Stragglers& stragglers,
                     int workers);

}  // namespace meanwhile::cli
