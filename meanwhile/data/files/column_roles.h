// Columns as options name them: by a name of the header, or by a number from 0, a negative one
// counting from the last. One option may name several, "a,b,c", or all that fit a pattern, "x*".
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "meanwhile/data/files/read.h"
#include "meanwhile/data/table/schema.h"

namespace meanwhile::data {

// The columns that `given` names, the value of `parameter`. A name of the header takes precedence
// over a list, a pattern and a number. `names`: empty if there is no header, else one a field.
// THROWS Error(kUsage) for a column that does not exist, naming those that do.
std::vector<std::size_t> find_columns(const std::string& parameter, const std::string& given,
                                      const std::vector<std::string>& names, std::size_t fields);
// The one column that `given` names. THROWS as find_columns, also if there are several.
std::size_t find_column(const std::string& parameter, const std::string& given,
                        const std::vector<std::string>& names, std::size_t fields);

// The role of each column. THROWS as find_columns, and Error(kUsage) if a column gets two roles.
std::vector<ColumnRole> find_roles(const ReadOptions& options,
                                   const std::vector<std::string>& names, std::size_t fields);

// Whether an option names a column by a name, not by a number: then there must be a header.
bool asks_for_names(const ReadOptions& options);

}  // namespace meanwhile::data
