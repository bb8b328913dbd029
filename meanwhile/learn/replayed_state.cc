// The state of a replay: what readers look at, and moves and summaries that are still needed.
#include <fmt/format.h>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/replayed.h"

namespace meanwhile::learn {

using base::Error;
using base::ErrorKind;

State ReplayedLearner::state() const {
  State state = learner_->state();
  lent_.clear();
  lent_summaries_.clear();
  lent_secants_.clear();
  if (is_replaying() || stretch_ > 0) put_state(state);
  return state;
}

void ReplayedLearner::put_state(State& state) const {
  Json replay = {{"stretch", stretch_}, {"settled", settled_}};
  const auto lend = [&](const std::string& name, const Numbers& numbers) {
    const auto& lent = lent_.emplace_back(numbers);
    state.carried["replay." + name] =
        data::tensor_of(std::span<const std::int64_t>(lent), {std::ssize(lent)});
  };
  const auto lend_secants = [&](const std::string& name, const std::vector<float>& secants) {
    const auto& lent = lent_secants_.emplace_back(secants);
    state.carried["replay." + name] =
        data::tensor_of(std::span<const float>(lent), {std::ssize(lent)});
  };
  if (is_replaying()) {
    Json clocks = Json::array(), kept = Json::array(), summaries = Json::array();
    for (std::size_t r = 0; r < readers_.size(); ++r) {
      clocks.push_back(readers_[r].clock);
      lend(fmt::format("looks_at.{}", r), readers_[r].looks_at);
      lend(fmt::format("cut.{}", r), readers_[r].cut);
      // Its moves are among those that are kept.
      const tables::Foresight::State& foresight = readers_[r].foresight.state();
      lend(fmt::format("foresight.{}", r), foresight.looked_at);
      lend_secants(fmt::format("pull.{}", r), foresight.pull);
      lend_secants(fmt::format("size.{}", r), foresight.size);
    }
    lend("moved", moved_);
    for (const auto& [of, move] : kept_) {
      kept.push_back({of.first, of.second});
      lend(fmt::format("move.{}.{}", of.first, of.second), *move);
    }
    for (const auto& [clock, summary] : summaries_) {
      summaries.push_back(clock);
      const auto& lent = lent_summaries_.emplace_back(summary);
      state.carried[fmt::format("replay.summary.{}", clock)] =
          data::tensor_of(std::span<const double>(lent), {std::ssize(lent)});
    }
    replay.update({{"clocks", clocks}, {"kept", kept}, {"summaries", summaries}});
  }
  state.progress["replay"] = replay;
}

void ReplayedLearner::restore_foresight(const data::SafetensorsFile& file, std::size_t reader) {
  Reader& of = readers_[reader];
  const std::int64_t clocks = worked(static_cast<int>(reader));
  const auto tensor = [&](const char* name) {
    return file.tensor(fmt::format("carried/replay.{}.{}", name, reader));
  };
  const auto looked_at = tensor("foresight").as<std::int64_t>();
  const auto pull = tensor("pull").as<float>(), size = tensor("size").as<float>();
  const auto expected = static_cast<std::size_t>(log_->size());
  if (looked_at.size() != (clocks > 0 ? expected : 0) || pull.size() != expected ||
      size.size() != expected) {
    throw Error(ErrorKind::kInput, "the foresight of reader {} is not of {} numbers", reader,
                expected);
  }
  tables::Foresight::State state{clocks,
                                 {looked_at.begin(), looked_at.end()},
                                 {},
                                 {pull.begin(), pull.end()},
                                 {size.begin(), size.end()}};
  for (auto clock = std::max<std::int64_t>(0, clocks - tables::kForeseen); clock < clocks;
       ++clock) {
    const auto move = kept_.find({static_cast<int>(reader), clock});
    if (move == kept_.end()) {
      throw Error(ErrorKind::kInput, "the move of reader {} at clock {} is missing", reader, clock);
    }
    state.moves.push_back(move->second);
  }
  of.foresight.restore(std::move(state));
}

void ReplayedLearner::restore(const data::SafetensorsFile& file) {
  const auto found = file.metadata().find("progress");
  if (found == file.metadata().end()) return;
  const Json progress = base::parse_json(found->second, "progress");
  if (!progress.contains("replay")) return;
  const auto numbers = [&](const std::string& name, std::size_t size) {
    const auto values = file.tensor("carried/replay." + name).as<std::int64_t>();
    if (values.size() != size) {
      throw Error(ErrorKind::kInput, "replay.{} has {} numbers, expected {}", name, values.size(),
                  size);
    }
    return Numbers(values.begin(), values.end());
  };
  try {
    const Json& replay = progress["replay"];
    stretch_ = replay.at("stretch");
    settled_ = replay.at("settled");
    if (!replay.contains("clocks")) return;
    const auto size = static_cast<std::size_t>(log_->size());
    const std::size_t R = replay["clocks"].size();
    if (stretch_ >= log_->stretches().size() || R != static_cast<std::size_t>(stretch().readers)) {
      throw Error(ErrorKind::kInput, "the state is of a replay of another record");
    }
    readers_.clear();
    for (std::size_t r = 0; r < R; ++r) {
      readers_.push_back({replay["clocks"][r], numbers(fmt::format("looks_at.{}", r), size),
                          numbers(fmt::format("cut.{}", r), stretch().clock_size() / R),
                          foresight_of(r)});
    }
    moved_ = numbers("moved", size);
    for (const Json& of : replay.at("kept")) {
      const int reader = of.at(0);
      const std::int64_t clock = of.at(1);
      kept_[{reader, clock}] =
          std::make_shared<const Numbers>(numbers(fmt::format("move.{}.{}", reader, clock), size));
    }
    for (std::size_t r = 0; r < R; ++r) restore_foresight(file, r);
    for (const Json& clock : replay.at("summaries")) {
      const auto values =
          file.tensor(fmt::format("carried/replay.summary.{}", clock.get<std::int64_t>()))
              .as<double>();
      summaries_[clock.get<std::int64_t>()] = {values.begin(), values.end()};
    }
  } catch (const Json::exception& e) {
    throw Error(ErrorKind::kInput, "the state of a replay: {}", e.what());
  }
}

}  // namespace meanwhile::learn
