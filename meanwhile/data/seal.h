// The seal of a file: a SHA-256 of all its bytes but the digits of the seal itself, which count as
// zeros. It is a field "seal" of the JSON that the file is or begins with. Files of a run,
// converted data and blobs of a store carry the same seal, made and checked here alone.
//
// The hash is over the raw bytes, not over what they mean: a flipped blank of the padding breaks
// the seal as a flipped weight does. Bytes behind the JSON are hashed before it, because a writer
// that streams knows the JSON last.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "meanwhile/base/sha256.h"

namespace meanwhile::data {

inline constexpr char kSeal[] = "seal";  // the name of the field

// The value of the field until put_seal().
std::string blank_seal();

// Writes the digits into `text`, the file up to the end of its JSON. `rest`: has been given the
// bytes that follow it. REQUIRES: `text` holds a blank seal.
void put_seal(std::string& text, base::Sha256& rest);

enum class Seal {
  kWhole,   // the file is as it was written
  kBroken,  // a byte differs
  kNone,    // there is no field of this name, or it does not hold as many digits as a seal has
};
Seal check_seal(std::string_view text, std::span<const std::byte> rest);

}  // namespace meanwhile::data
