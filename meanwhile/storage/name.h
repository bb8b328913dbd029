// The rules of blob_store.h for the names of blobs.
#pragma once

#include <string>
#include <string_view>

namespace meanwhile::storage {

// Returns what is wrong with the name of a blob; empty when nothing is.
std::string problem_of_name(std::string_view name);

}  // namespace meanwhile::storage
