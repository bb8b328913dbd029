// Values of flags as text: parsed, or refused with what would have been right.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace meanwhile::cli {

// THROW Error(kUsage), `name` first. All of `text` must be the number.
std::int64_t parse_whole(const std::string& name, const std::string& text, std::int64_t least,
                         std::int64_t most);
double parse_real(const std::string& name, const std::string& text, double least);
// "500M", "2G", "1048576"; K, M, G, T are powers of 1024.
std::int64_t parse_bytes(const std::string& name, const std::string& text);
// Returns `text`. THROWS Error(kUsage) when it is none of `choices`.
const std::string& parse_choice(const std::string& name, const std::string& text,
                                const std::vector<std::string>& choices);

// A word of a shell's command line.
std::string shell_quoted(const std::string& word);

}  // namespace meanwhile::cli
