// A scorer as a SELECT of SQL.
#pragma once

#include <string>
#include <string_view>

#include "meanwhile/exports/scorer.h"

namespace meanwhile::exports {

struct SqlOptions {
  std::string table = "data";  // the table of rows
  bool probabilities = false;  // of classes, which needs EXP
};

// One SELECT: all columns of the table, then scores and the prediction. `about`: any text, for the
// comment at the top. THROWS Error(kUsage) for what SQL cannot say: rows of unit length, and
// probabilities of a model that has none.
std::string sql_select(const Scorer& scorer, const SqlOptions& options, std::string_view about);

// "name" and 'text' with quotes inside doubled, as standard SQL has it.
std::string sql_name(std::string_view name);
std::string sql_text(std::string_view text);

}  // namespace meanwhile::exports
