#include "meanwhile/tables/reads_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/base/json.h"

namespace meanwhile::tables {

using base::Error;
using base::ErrorKind;
using base::Json;

namespace {

constexpr char kKind[] = "reads";
constexpr int kMostReaders = 1 << 14;

Json header_of(const ReadsLog& log) {
  const RecordedRun& run = log.run();
  Json stretches = Json::array();
  for (const Stretch& stretch : log.stretches()) {
    stretches.push_back({{"grid", std::log2(stretch.grid)},
                         {"readers", stretch.readers},
                         {"clocks", stretch.clocks}});
    if (stretch.whole) stretches.back()["whole"] = true;
    if (!stretch.worked.empty()) stretches.back()["worked"] = stretch.worked;
  }
  return {
      {"learner", run.learner}, {"parameters", run.parameters}, {"data_sha256", run.data_sha256},
      {"seed", run.seed},       {"shards", run.shards},         {"staleness", log.staleness()},
      {"size", log.size()},     {"stretches", stretches}};
}

// A reader rests at the end, never at all clocks, and not all readers rest.
void check_worked(const Stretch& stretch) {
  if (stretch.worked.empty()) return;
  const auto [least, most] = std::minmax_element(stretch.worked.begin(), stretch.worked.end());
  if (std::ssize(stretch.worked) == stretch.readers && *least >= 1 && *most == stretch.clocks) {
    return;
  }
  throw Error(ErrorKind::kInput, "{} readers worked at {} clocks, of {} readers and {} clocks",
              stretch.worked.size(), fmt::join(stretch.worked, ", "), stretch.readers,
              stretch.clocks);
}

// Every lag is one that the rule allows.
void check(const ReadsLog& log, const Stretch& stretch) {
  const auto R = static_cast<std::size_t>(stretch.readers);
  const std::size_t each = stretch.clock_size();
  if (stretch.clocks < 0 ||
      stretch.lags.size() / each != static_cast<std::size_t>(stretch.clocks) ||
      stretch.lags.size() % each != 0) {
    throw Error(ErrorKind::kInput, "a stretch of {} clocks has {} lags", stretch.clocks,
                stretch.lags.size());
  }
  check_worked(stretch);
  for (std::int64_t clock = 0; clock < stretch.clocks; ++clock) {
    for (int reader = 0; reader < stretch.readers; ++reader) {
      const bool rests = clock >= stretch.worked_by(reader);
      for (int slice = 0; slice < stretch.slices(); ++slice) {
        const std::size_t at = stretch.place(clock, reader, slice);
        for (std::size_t source = 0; source < R; ++source) {
          const std::int64_t lag = stretch.lags[at + source], seen = clock - lag;
          const bool own = source == static_cast<std::size_t>(reader);
          if (lag <= log.staleness() && seen >= 0 && seen <= stretch.clocks &&
              ((!own && !rests) || lag == 0)) {
            continue;
          }
          throw Error(ErrorKind::kInput,
                      "clock {} of reader {} saw {} clocks of reader {}, which staleness {} does "
                      "not allow",
                      clock, reader, seen, source, log.staleness());
        }
      }
    }
  }
}

}  // namespace

std::vector<std::byte> ReadsLog::bytes() const {
  std::vector<std::int32_t> lags;
  for (const Stretch& stretch : stretches_) {
    lags.insert(lags.end(), stretch.lags.begin(), stretch.lags.end());
  }
  const std::map<std::string, data::Tensor> tensors = {
      {"lags", data::tensor_of(std::span<const std::int32_t>(lags), {std::ssize(lags)})}};
  return data::safetensors_bytes(tensors, {{"kind", kKind}, {"record", header_of(*this).dump()}});
}

ReadsLog ReadsLog::read(std::span<const std::byte> bytes, const std::string& name) {
  try {
    const data::SafetensorsFile file(bytes, name);
    const auto kind = file.metadata().find("kind");
    if (kind == file.metadata().end() || kind->second != kKind) {
      throw Error(ErrorKind::kInput, "is no record of reads");
    }
    if (file.seal() != data::Seal::kWhole) {
      throw Error(ErrorKind::kInput, "was changed or cut short since it was written");
    }
    const Json header = base::parse_json(file.metadata().at("record"), "record");
    ReadsLog log({header.at("learner"), header.at("parameters"), header.at("data_sha256"),
                  header.at("seed"), header.at("shards")},
                 header.at("staleness"), header.at("size"));
    if (log.staleness_ < 0 || log.size_ < 0 || log.run_.shards < 1) {
      throw Error(ErrorKind::kInput, "{} numbers, {} shards, staleness {}", log.size_,
                  log.run_.shards, log.staleness_);
    }
    const auto lags = file.tensor("lags").as<std::int32_t>();
    std::size_t at = 0;
    for (const Json& said : header.at("stretches")) {
      Stretch stretch;
      const double exponent = said.at("grid");
      if (std::abs(exponent) > 1000) throw Error(ErrorKind::kInput, "a grid of 2^{}", exponent);
      stretch.grid = std::exp2(exponent);
      stretch.readers = said.at("readers");
      stretch.clocks = said.at("clocks");
      if (stretch.readers < 1 || stretch.readers > std::min(kMostReaders, log.run_.shards)) {
        throw Error(ErrorKind::kInput, "{} readers of {} shards", stretch.readers, log.run_.shards);
      }
      stretch.whole = said.value("whole", false);
      if (said.contains("worked")) said["worked"].get_to(stretch.worked);
      const std::size_t most = (lags.size() - at) / stretch.clock_size();
      if (stretch.clocks < 0 || static_cast<std::size_t>(stretch.clocks) > most) {
        throw Error(ErrorKind::kInput, "names more clocks than it holds");
      }
      const std::size_t count = static_cast<std::size_t>(stretch.clocks) * stretch.clock_size();
      for (const std::int32_t lag : lags.subspan(at, count)) {
        stretch.lags.push_back(static_cast<std::int16_t>(std::clamp(lag, -32768, 32767)));
      }
      at += count;
      check(log, stretch);
      log.add(std::move(stretch));
    }
    return log;
  } catch (const Json::exception& e) {
    throw Error(ErrorKind::kInput, "{}: {}", name, e.what());
  } catch (const std::out_of_range&) {
    throw Error(ErrorKind::kInput, "{}: is no record of reads", name);
  } catch (Error& e) {
    throw e.in(name);
  }
}

namespace {

// Calls use(reader, staleness) for every entry of the cuts of a clock but the readers' own.
template <class Use>
void each_stale(const Stretch& stretch, std::int64_t clock, const Use& use) {
  for (int reader = 0; reader < stretch.readers; ++reader) {
    if (clock >= stretch.worked_by(reader)) continue;
    for (int slice = 0; slice < stretch.slices(); ++slice) {
      const std::size_t at = stretch.place(clock, reader, slice);
      for (int source = 0; source < stretch.readers; ++source) {
        if (source == reader) continue;
        const std::int16_t lag = stretch.lags[at + static_cast<std::size_t>(source)];
        use(reader, std::max<std::int64_t>(0, lag));
      }
    }
  }
}

}  // namespace

std::vector<std::int64_t> staleness_histogram(const Stretch& stretch, std::int64_t clock) {
  std::vector<std::int64_t> counts;
  each_stale(stretch, clock, [&](int, std::int64_t stale) { add_stale(counts, stale); });
  return counts;
}

std::vector<std::int64_t> staleness_histogram(const ReadsLog& log) {
  std::vector<std::int64_t> counts;
  for (const Stretch& stretch : log.stretches()) {
    for (std::int64_t clock = 0; clock < stretch.clocks; ++clock) {
      each_stale(stretch, clock, [&](int, std::int64_t stale) { add_stale(counts, stale); });
    }
  }
  return counts;
}

Waits waits_of(const Stretch& stretch, std::int64_t clock) {
  Waits waits;
  for (int reader = 0; reader < stretch.readers; ++reader) {
    waits.clocks += clock < stretch.worked_by(reader) ? 1 : 0;
  }
  int last = -1;  // reader that was counted
  each_stale(stretch, clock, [&](int reader, std::int64_t stale) {
    if (stale == 0 || reader == last) return;
    last = reader;
    ++waits.saved;
  });
  return waits;
}

Waits waits_of(const ReadsLog& log) {
  Waits waits;
  for (const Stretch& stretch : log.stretches()) {
    for (std::int64_t clock = 0; clock < stretch.clocks; ++clock) {
      const Waits of = waits_of(stretch, clock);
      waits.clocks += of.clocks, waits.saved += of.saved;
    }
  }
  return waits;
}

}  // namespace meanwhile::tables
