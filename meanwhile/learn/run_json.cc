#include "meanwhile/learn/run_json.h"

#include <algorithm>

#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/base/version.h"
#include "meanwhile/data/seal.h"

namespace meanwhile::learn {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;
using base::Json;

namespace {

constexpr char kName[] = "run.json";

}  // namespace

void refuse_unsealed(const fs::path& file, const std::string& wrong, Reading& reading) {
  if (!reading.unsealed) {
    throw Error(ErrorKind::kInput, "{}: {}; {} takes it as it is", file.string(), wrong,
                base::parameter("unsealed"));
  }
  std::string note = fmt::format("{} {}; it is taken as it is", file.string(), wrong);
  if (std::find(reading.notes.begin(), reading.notes.end(), note) == reading.notes.end()) {
    reading.notes.push_back(std::move(note));
  }
}

Json read_run_json(const fs::path& run, Reading& reading) {
  const fs::path file = run / kName;
  const std::string text = base::read_file(file);
  Json json = base::parse_json(text, file.string());
  if (!json.is_object()) {
    throw Error(ErrorKind::kInput, "{}: is not a JSON object", file.string());
  }
  const std::string version = base::text_or(json, "version", "");
  switch (data::check_seal(text, {})) {
    case data::Seal::kWhole:
      break;
    case data::Seal::kBroken:
      refuse_unsealed(file, "is damaged: its seal is not that of its text", reading);
      break;
    case data::Seal::kNone:
      if (version == kUnsealedVersion) break;
      refuse_unsealed(file, "is damaged: it has lost its seal", reading);
      break;
  }
  json.erase(data::kSeal);
  return json;
}

void write_run_json(const fs::path& run, const Json& record) {
  Json sealed = {{data::kSeal, data::blank_seal()}};
  sealed.update(record);
  sealed["version"] = base::kVersion;
  // Paths and command lines need not be UTF-8; what is not is replaced.
  std::string text = sealed.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  base::Sha256 nothing;
  data::put_seal(text, nothing);
  // Its name lasts with that of the next state, which says more: one wait for the disk less.
  base::write_file(run / kName, text, base::Sync::kFile);
}

}  // namespace meanwhile::learn
