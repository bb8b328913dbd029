// JSON as a person reads it.
#pragma once

#include <string>
#include <vector>

#include "meanwhile/cli/output/console.h"
#include "meanwhile/learn/entry.h"
#include "meanwhile/learn/learner.h"

namespace meanwhile::cli {

// A line "name  value" for each field, fields of objects indented below their name; of long lists
// the first few.
std::string shown(const base::Json& object);

// "53.4 kB", "1.2 GB": powers of 1000.
std::string bytes_shown(std::int64_t bytes);

// "1.20", "0.0034": of the currency in which a profile has its prices.
std::string money(double price);

// One line of JSON; what is not UTF-8 is replaced.
std::string json_line(const base::Json& json);

// Choices of the learner and measures of the last round, from its record: a line, or nothing.
std::string last_measures(const learn::Entry& entry, const base::Json& record);

// Remarks of the library, a line each, with parameters as flags.
void say_notes(Console& console, const std::vector<std::string>& notes);

}  // namespace meanwhile::cli
