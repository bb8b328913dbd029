// The cells of a table that are not numbers.
#pragma once

#include <optional>
#include <string_view>

namespace meanwhile::data {

// Nothing, NA, N/A, NaN, null or ?, in capitals or not.
bool is_missing(std::string_view cell);

// true and yes: 1; false and no: 0; in capitals or not. Nothing for all else.
std::optional<double> parse_boolean(std::string_view cell);

// YYYY-MM-DD, or that and a time: [T or a blank]HH:MM[:SS[.fraction]][Z or +HH:MM]. Days since
// 1970-01-01; a time is a fraction of its day. Nothing for all else, and for days that no calendar
// has.
std::optional<double> parse_date(std::string_view cell);

}  // namespace meanwhile::data
