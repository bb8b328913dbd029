#include "meanwhile/runtime/storage/layout.h"

#include <charconv>

namespace meanwhile::runtime {

namespace {

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || problem != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  // A name that no worker gives. The next step must be a number, too.
  if (value < 0 || value > kMostSteps) return std::nullopt;
  return value;
}

// The word of `name` behind `prefix`, if that is a number.
std::optional<std::int64_t> number_behind(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  return parse_number(name.substr(0, name.find('/')));
}

}  // namespace

std::optional<Task> parse_task(std::string_view text, const Layout& layout) {
  if (text == "root") return Task{Task::Kind::kRoot, 0};
  const bool shard = text.starts_with("shard "), group = text.starts_with("group ");
  if (!shard && !group) return std::nullopt;
  const auto index = parse_number(text.substr(6));
  const int end = shard ? layout.shards : layout.two_levels() ? layout.groups : 0;
  if (!index || *index < 0 || *index >= end) return std::nullopt;
  return Task{shard ? Task::Kind::kShard : Task::Kind::kGroup, static_cast<int>(*index)};
}

std::vector<Task> tasks_of(const Layout& layout) {
  std::vector<Task> tasks;
  for (int g = 0; g < layout.groups; ++g) {
    const exchange::Range range = layout.group(g);
    for (int shard = range.begin; shard < range.end; ++shard) {
      tasks.push_back({Task::Kind::kShard, shard});
    }
    if (layout.two_levels()) tasks.push_back({Task::Kind::kGroup, g});
  }
  tasks.push_back({Task::Kind::kRoot, 0});
  return tasks;
}

std::optional<std::int64_t> number_of(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return parse_number(slash == name.npos ? name : name.substr(slash + 1));
}

std::optional<std::int64_t> step_of(std::string_view name, const Names& names) {
  return number_behind(names.rounds(), name);
}

std::optional<std::pair<std::int64_t, int>> clock_of(std::string_view name, const Names& names,
                                                     std::int64_t step) {
  const std::string prefix = names.moves(step);
  const auto clock = number_behind(prefix, name), shard = number_of(name);
  if (!clock || !shard || *clock > kMostSteps || *shard > INT32_MAX) return std::nullopt;
  if (name != names.move(step, *clock, static_cast<int>(*shard))) return std::nullopt;
  return std::pair(*clock, static_cast<int>(*shard));
}

std::optional<std::pair<int, int>> bin_of(std::string_view name, const Names& names,
                                          std::int64_t step) {
  const auto bin = number_behind(names.deltas(step), name), shard = number_of(name);
  if (!bin || !shard || *bin > INT32_MAX || *shard > INT32_MAX) return std::nullopt;
  const std::pair of(static_cast<int>(*bin), static_cast<int>(*shard));
  if (name != names.delta(step, of.first, of.second)) return std::nullopt;
  return of;
}

std::vector<std::string> superseded(const std::vector<std::string>& names, std::int64_t step) {
  std::vector<std::string> old;
  const auto slice_of = [](const std::string& name) { return name.substr(0, name.rfind('/')); };
  for (std::size_t i = 0; i + 1 < names.size(); ++i) {
    const auto own = number_of(names[i]), next = number_of(names[i + 1]);
    if (!own || !next || *next > step || *own >= *next) continue;
    if (slice_of(names[i]) == slice_of(names[i + 1])) old.push_back(names[i]);
  }
  return old;
}

std::optional<std::int64_t> memory_step_of(std::string_view name, const Names& names) {
  return number_behind(names.memories(), name);
}

}  // namespace meanwhile::runtime
