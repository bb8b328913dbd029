// The files that are mapped now, by address: for a handler of SIGBUS, which a process gets when it
// touches pages of a mapped file that was cut short. The library installs no handler; a program
// that does (cli/output/cut_file.h) asks here which file it was.
#pragma once

#include <cstddef>
#include <span>

namespace meanwhile::base {

// The path of the MappedFile that `address` lies in; null when there is none, or when more files
// are mapped than the table holds. Async-signal-safe. The text is valid while the file is mapped.
const char* mapped_path(const void* address) noexcept;

// For MappedFile. Returns the place in the table; -1 when the table is full.
int register_mapping(std::span<const std::byte> bytes, const char* path) noexcept;
void forget_mapping(int slot) noexcept;

}  // namespace meanwhile::base
