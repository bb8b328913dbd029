#include "meanwhile/runtime/storage/slice_versions.h"

#include <algorithm>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/runtime/storage/layout.h"

namespace meanwhile::runtime {

using base::Error;
using base::ErrorKind;

namespace {

constexpr std::size_t kVersionWords = tables::kDigestWords + 1;

std::vector<std::int64_t> words_in(const data::SafetensorsFile& state, const std::string& name) {
  const auto words = state.tensor(name).as<std::int64_t>();
  return {words.begin(), words.end()};
}

}  // namespace

SliceVersions::SliceVersions(const tables::TableSet& set)
    : SliceVersions(std::vector<std::int64_t>(
          static_cast<std::size_t>(set.count()) * tables::kDigestWords, 0)) {}

SliceVersions::SliceVersions(std::vector<std::int64_t> digests)
    : digests_(std::move(digests)), steps_(digests_.size() / tables::kDigestWords, 0) {}

SliceVersions::SliceVersions(const data::SafetensorsFile& state)
    : digests_(words_in(state, tables::kDigests)),
      steps_(words_in(state, std::string("carried/") + kSliceSteps)) {}

void SliceVersions::check(const tables::TableSet& set, const std::string& name) const {
  tables::check_digests(set, digests_, name);
  const bool fits = steps_.size() == static_cast<std::size_t>(set.count()) &&
                    std::all_of(steps_.begin(), steps_.end(),
                                [](std::int64_t step) { return step >= 0 && step <= kMostSteps; });
  if (!fits) throw Error(ErrorKind::kInput, "{}: the steps of its slices are damaged", name);
}

exchange::Block SliceVersions::block(const tables::TableSet& set) {
  return {.rows = set.count(),
          .width = kVersionWords,
          .element = exchange::Element::kInt64,
          .sparse = true};
}

void SliceVersions::put(exchange::Update& update, int block, std::size_t slice,
                        const SliceVersion& version) {
  const auto row = update.touch<std::int64_t>(block, static_cast<std::int64_t>(slice));
  std::copy(version.digest.begin(), version.digest.end(), row.begin());
  row.back() = version.step;
}

void SliceVersions::take(const exchange::Update& total, int block) {
  for (const std::int64_t slice : total.touched(block)) {
    const auto row = total.row<std::int64_t>(block, slice);
    const std::int64_t step = row.back();
    if (step == 0) continue;
    if (step < 0 || step > kMostSteps) {
      throw Error(ErrorKind::kFailed, "the total says that slice {} was put before step {}", slice,
                  step);
    }
    const auto at = static_cast<std::size_t>(slice);
    steps_[at] = step;
    std::copy_n(row.begin(), tables::kDigestWords,
                digests_.begin() + static_cast<std::ptrdiff_t>(at * tables::kDigestWords));
  }
}

void SliceVersions::add_to(learn::State& state, const tables::TableSet& set) const {
  const auto slices = static_cast<std::int64_t>(steps_.size());
  state.learned[tables::kDigests] = data::tensor_of<std::int64_t>(
      digests_, {slices, static_cast<std::int64_t>(tables::kDigestWords)});
  state.carried[kSliceSteps] = data::tensor_of<std::int64_t>(steps_, {slices});
  if (!state.about.is_object()) state.about = base::Json::object();
  state.about["tables"] = tables::json_of(set);
}

}  // namespace meanwhile::runtime
