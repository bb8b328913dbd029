#include "meanwhile/learn/registry.h"

#include <algorithm>

#include "meanwhile/base/error.h"
#include "meanwhile/base/nearest.h"
#include "meanwhile/learn/belief/entry.h"
#include "meanwhile/learn/factorize/entry.h"
#include "meanwhile/learn/graph/entries.h"
#include "meanwhile/learn/kmeans/entry.h"
#include "meanwhile/learn/lda/entry.h"
#include "meanwhile/learn/linear/entry.h"
#include "meanwhile/learn/metadata.h"
#include "meanwhile/learn/state_file.h"
#include "meanwhile/learn/table_state.h"

namespace meanwhile::learn {

using base::Error;
using base::ErrorKind;

std::vector<Entry> standard_entries() {
  return {
      kmeans::entry(),
      linear::entry(linear::Kind::kSvm),
      linear::entry(linear::Kind::kLogistic),
      linear::entry(linear::Kind::kLinear),
      lda::entry(),
      graph::pagerank_entry(),
      graph::components_entry(),
      graph::spread_entry(),
      graph::kcore_entry(),
      belief::entry(),
      factorize::entry(),
  };
}

const Registry& standard_registry() {
  static const Registry registry(standard_entries());
  return registry;
}

std::vector<std::string> Registry::names() const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) names.push_back(entry.name);
  return names;
}

const Entry* Registry::find(std::string_view name) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.name == name; });
  return found == entries_.end() ? nullptr : &*found;
}

const Entry& Registry::at(std::string_view name) const {
  if (const Entry* entry = find(name)) return *entry;
  throw Error(ErrorKind::kInput, "there is no learner '{}'; known are {}{}", name,
              base::listed(names()), base::did_you_mean(name, names()));
}

LoadedModel load_model(const Registry& registry, const std::filesystem::path& path,
                       Reading& reading) {
  const OpenedState opened = open_model(path, reading);
  return load_model(registry, opened.file, opened.path);
}

LoadedModel load_model(const Registry& registry, const data::SafetensorsFile& file,
                       const std::filesystem::path& path) {
  try {
    const Entry& entry = registry.at(learner_of(file));
    return {&entry, path, entry.load_model(file), table_of(file)};
  } catch (Error& e) {
    throw e.in(path.string());
  }
}

LoadedModel load_model(const Registry& registry, const std::filesystem::path& path) {
  Reading reading;
  return load_model(registry, path, reading);
}

}  // namespace meanwhile::learn
