#include "meanwhile/runtime/storage/history.h"

#include <algorithm>

#include "meanwhile/base/sha256.h"

namespace meanwhile::runtime {

using base::Json;

namespace {

constexpr const char* kSealKey = "seal";

std::string hash_of_text(std::string_view text) {
  base::Sha256 hash;
  hash.add(text);
  return hash.hex();
}

}  // namespace

std::string text_of(const std::vector<Line>& lines) {
  std::string text;
  for (const Line& line : lines) {
    text += line.json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  return text;
}

std::string sealed(std::string text) {
  const Json seal = {{kSealKey, hash_of_text(text)}};
  text += seal.dump() + "\n";
  return text;
}

History parse_history(std::string_view text) {
  History history;
  for (std::size_t begin = 0, end; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    auto json = base::try_parse_object(text.substr(begin, end - begin));
    if (!json) continue;
    if (json->contains(kSealKey)) {
      history.whole = end + 1 == text.size() &&
                      base::text_or(*json, kSealKey, "") == hash_of_text(text.substr(0, begin));
      continue;
    }
    const std::int64_t step = base::count_or(*json, "step", 0);
    history.lines.push_back({step, *std::move(json)});
  }
  return history;
}

std::optional<History> get_history(storage::BlobStore& blobs, const std::string& name) {
  const auto blob = blobs.get(name);
  if (!blob) return std::nullopt;
  History history =
      parse_history({reinterpret_cast<const char*>(blob->bytes.data()), blob->bytes.size()});
  history.etag = blob->etag;
  return history;
}

}  // namespace meanwhile::runtime
