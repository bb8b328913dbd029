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

// THROWS Error(kUsage) when writing the file `out` would replace one of the files `read`, or one in
// a directory of them. A file that is read may be mapped, and its rows are needed until the end.
void check_not_read(const std::string& out, const std::vector<std::string>& read);

// A word of a shell's command line.
std::string shell_quoted(const std::string& word);

}  // namespace meanwhile::cli
