// The parameters of a job, merged and checked once, before any data is read.
#pragma once

#include "meanwhile/learn/entry.h"

namespace meanwhile::learn {

// The run that a job resumes.
struct Resumed {
  Json parameters;
  bool has_state = false;  // false: it was killed before its first checkpoint, and begins again
};

// Checks `given`, an object of values by name, against the schema: names, types, choices and least
// values. THROWS Error(kUsage).
void check_given(const Schema& schema, const Json& given);

// All parameters: those `given` over those of the run to resume (null: none) over the defaults,
// completed by the learner. THROWS Error(kUsage, kInput); so it does when a parameter that is fixed
// differs from that of a run with a state.
Json settle(const Entry& entry, const Resumed* resumed, const Json& given);

// Whether two sets of settled parameters differ in nothing but when a run ends.
bool same_but_for_end(const Schema& schema, const Json& a, const Json& b);

}  // namespace meanwhile::learn
