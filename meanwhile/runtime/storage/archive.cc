#include "meanwhile/runtime/storage/archive.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <memory>

#include "meanwhile/job/round_log.h"
#include "meanwhile/learn/state_file.h"

namespace meanwhile::runtime {

using base::Error;
using base::ErrorKind;

namespace {

constexpr double kMetricsSeconds = 10;  // between two times the history is put whole
// Or when so many lines, and an eighth of all, are not in it: until then states carry them.
constexpr std::size_t kMetricsLines = 64, kMetricsShare = 8;
// A state may be many times larger than a total (L-BFGS has a memory): it is put when the totals
// since the last one are half as large, so that states never are most of what is sent.
constexpr std::size_t kTotalsPerState = 2;
constexpr int kMostTotals = 20;  // between two states, however small: each keeps its round there
constexpr int kMostTries = 20;   // to read what must be there
constexpr int kEmptyLists = 3;
constexpr int kMostLists = 1000;  // until then: others may write what is removed here

// The number that the metadata of a state holds; `otherwise` when it holds none, or something else.
template <class Number>
Number number_in(const data::Metadata& metadata, const char* key, Number otherwise) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) return otherwise;
  const std::string& text = found->second;
  Number value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = problem == std::errc() && end == text.data() + text.size();
  return whole && value >= 0 && value <= static_cast<Number>(kMostSteps) ? value : otherwise;
}

storage::Bytes bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// Those of `listed` that are slices which no state before step `step` or later needs.
std::vector<std::string> old_slices(const std::vector<storage::BlobInfo>& listed,
                                    const Names& names, std::int64_t step) {
  std::vector<std::string> slices;
  for (const storage::BlobInfo& blob : listed) {
    if (blob.name.starts_with(names.tables())) slices.push_back(blob.name);
  }
  return superseded(slices, step);
}

// Listings may be late: removes what `choose` returns until several listings in a row show nothing
// of it.
using Choose = std::function<std::vector<std::string>(const std::vector<storage::BlobInfo>&)>;
void remove_all(storage::BlobStore& blobs, const std::string& prefix, const Choose& choose) {
  for (int empty = 0, lists = 0; empty < kEmptyLists; ++lists) {
    if (lists == kMostLists) {
      throw Error(ErrorKind::kFailed, "{}: blobs below {} come back as they are removed",
                  blobs.name(), prefix);
    }
    const std::vector<std::string> names = choose(blobs.list(prefix));
    empty = names.empty() ? empty + 1 : 0;
    if (!names.empty()) blobs.remove(names);
  }
}

}  // namespace

void Archive::begin(const data::Metadata& state_metadata) {
  const auto found = state_metadata.find("metrics");
  lines_ = found == state_metadata.end() ? std::vector<Line>() : parse_history(found->second).lines;
  elapsed_s_ = number_in(state_metadata, "elapsed_s", 0.0);
  // Other workers may have put more of the history than this one knows.
  metrics_wanted_ = number_in(state_metadata, "metrics_step", std::int64_t{-1});
  preparing_ = {};
  const auto preparing = state_metadata.find("preparing");
  const auto said =
      preparing == state_metadata.end() ? std::nullopt : base::try_parse_object(preparing->second);
  if (said) {
    preparing_ = {base::count_or(*said, "steps", 0), base::count_or(*said, "last", 0),
                  base::number_or(*said, "seconds", 0)};
  }
  history_tries_ = 0;
  history_pace_ = {};
  metrics_lines_ = 0;
  metrics_step_ = -1;
}

void Archive::add(Line line) {
  if (preparing_.steps > 0) {
    Json json = job::prepare_line(preparing_.steps, preparing_.seconds);
    json["step"] = preparing_.last;
    lines_.push_back({preparing_.last, std::move(json)});
    preparing_ = {};
  }
  lines_.push_back(std::move(line));
}

void Archive::add_preparing(std::int64_t step, double seconds) {
  ++preparing_.steps;
  preparing_.last = step;
  preparing_.seconds += seconds;
}

// Adds `lines` to the history, which has step `wanted` at least. Returns false when the history
// cannot be read whole yet, or another worker wrote it meanwhile: a worker that held the root and
// stood still must not put an older history over a newer one.
bool Archive::put_history(const std::vector<Line>& lines, std::int64_t wanted) {
  auto history = get_history(*store_.blobs, names_.metrics());
  const bool is_newest = history ? history->whole && history->last_step() >= wanted : wanted < 0;
  // After the last try the lines that can be read must do.
  const bool last_try = history_tries_ + 1 >= kMostTries;
  bool put = false;
  if (is_newest || last_try) {
    const std::int64_t last = history ? history->last_step() : -1;
    std::vector<Line> merged = history ? std::move(history->lines) : std::vector<Line>();
    std::copy_if(lines.begin(), lines.end(), std::back_inserter(merged),
                 [&](const Line& line) { return line.step > last; });
    const storage::Bytes bytes = bytes_of(sealed(text_of(merged)));
    if (last_try) store_.blobs->put(names_.metrics(), bytes);
    put = last_try || (history ? store_.blobs->put_if_match(names_.metrics(), bytes, history->etag)
                               : store_.blobs->put_if_absent(names_.metrics(), bytes));
    if (put) {
      metrics_lines_ = merged.size();
      if (!merged.empty()) metrics_step_ = merged.back().step;
    }
  }
  history_tries_ = put ? 0 : history_tries_ + 1;
  return put;
}

void Archive::keep(double now_s, const ShardRunner& runner, std::size_t total_bytes) {
  bytes_since_state_ += total_bytes;
  ++totals_since_state_;
  // A save of memory is of no use without its state.
  if (!runner.saves_memory()) {
    // If the previous state is still uploading, skip this one: newcomers can replay the totals,
    // which are kept until a newer state exists.
    if (!uploads_.idle()) return;
    if (bytes_since_state_ * kTotalsPerState < state_bytes_ && totals_since_state_ < kMostTotals) {
      return;
    }
  }
  // A state carries the lines that the history may not have.
  std::erase_if(lines_, [step = metrics_step_.load()](const Line& l) { return l.step <= step; });
  if (now_s - metrics_s_ >= kMetricsSeconds ||
      lines_.size() >= std::max(kMetricsLines, metrics_lines_ / kMetricsShare)) {
    metrics_s_ = now_s;
    uploads_.add([this, lines = lines_, wanted = metrics_wanted_] { put_history(lines, wanted); });
  }
  const Json preparing = {
      {"steps", preparing_.steps}, {"last", preparing_.last}, {"seconds", preparing_.seconds}};
  storage::Bytes state = runner.state(
      {{"metrics", text_of(lines_)},
       {"preparing", preparing.dump()},
       {"metrics_step", fmt::format("{}", std::max(metrics_step_.load(), metrics_wanted_))},
       {"elapsed_s", fmt::format("{}", elapsed_s_)}});
  state_bytes_ = state.size();
  bytes_since_state_ = 0;
  totals_since_state_ = 0;
  uploads_.add([this, step = runner.step(),
                beside = Beside{runner.has_memory(), runner.has_tables()},
                bytes = std::make_shared<const storage::Bytes>(std::move(state))] {
    store_.blobs->put(names_.state(step), *bytes);
    if (state_before_ >= 0) remove_needless(beside);
    state_before_ = step;
  });
}

// Rounds before the last state but one, and before the last complete save of memory, if there is
// memory: a worker that takes a shard over replays the totals since.
void Archive::remove_needless(Beside beside) {
  if (!beside.memory) return remove_before(state_before_, beside);
  const std::int64_t last_save = state_before_ - state_before_ % job_.memory_every;
  if (complete_save_ < last_save) {
    complete_save_ = newest_complete_save(*store_.blobs, job_);
  }
  remove_before(std::min(state_before_, complete_save_), beside);
}

// Removes rounds and states. A worker that lags behind further than that goes on from a state.
void Archive::remove_before(std::int64_t step, Beside beside) {
  if (step <= removed_to_) return;
  std::vector<std::string> names;
  if (removed_to_ < 0) {
    for (const storage::BlobInfo& blob : store_.blobs->list(names_.rounds())) {
      const auto of = step_of(blob.name, names_);
      if (of && *of < step) names.push_back(blob.name);
    }
    for (const storage::BlobInfo& blob : store_.blobs->list(names_.states())) {
      const auto of = number_of(blob.name);
      if (of && *of < step) names.push_back(blob.name);
    }
    for (const storage::BlobInfo& blob : store_.blobs->list(names_.memories())) {
      const auto of = memory_step_of(blob.name, names_);
      if (of && *of < step) names.push_back(blob.name);
    }
  } else {
    const Layout layout = job_.layout();
    for (std::int64_t old = removed_to_; old < step; ++old) {
      for (int shard = 0; shard < layout.shards; ++shard) {
        names.push_back(names_.update(old, layout.group_of(shard), shard));
      }
      for (int g = 0; g < layout.groups; ++g) {
        if (layout.two_levels()) names.push_back(names_.sum(old, g));
      }
      for (int shard = 0; beside.memory && old % job_.memory_every == 0 && shard < layout.shards;
           ++shard) {
        names.push_back(names_.memory(old, shard));
      }
      if (job_.fresh || beside.tables) {
        for (storage::BlobInfo& blob : store_.blobs->list(names_.round(old))) {
          names.push_back(std::move(blob.name));
        }
      }
      names.push_back(names_.total(old));
      names.push_back(names_.state(old));
    }
  }
  if (beside.tables) {
    for (std::string& old : old_slices(store_.blobs->list(names_.tables()), names_, step)) {
      names.push_back(std::move(old));
    }
  }
  if (!names.empty()) store_.blobs->remove(names);
  removed_to_ = step;
}

bool Archive::finish(double now_s, const ShardRunner& runner, const Json& ended) {
  if (now_s < history_due_s_) return false;
  if (!put_history(lines_, metrics_wanted_)) {
    history_due_s_ = now_s + history_pace_.next();
    return false;
  }
  if (const tables::ReadsLog* reads = runner.reads(); reads && !reads->stretches().empty()) {
    store_.blobs->put(names_.recorded_reads(), reads->bytes());
  }
  store_.blobs->put(names_.model(),
                    runner.state({{learn::kEndedKey, ended.value("stopped_because", "")}}));
  store_.blobs->put(names_.result(), json_bytes(ended));
  return true;
}

bool others_live(storage::BlobStore& blobs, const JobRecord& job, const std::string& worker) {
  const Names names = job.names();
  for (const storage::BlobInfo& blob : blobs.list(names.live())) {
    const auto other = names.worker_of(blob.name);
    if (other && *other != worker && blob.age_s < job.lease_s) return true;
  }
  return false;
}

void remove_job(storage::Store& store, const JobRecord& job, bool keep_result) {
  const Names names = job.names();
  store.queue->destroy();
  if (keep_result) {
    // The usage of workers that died belongs to the bill.
    for (const storage::BlobInfo& blob : store.blobs->list(names.live())) {
      const auto worker = names.worker_of(blob.name);
      if (!worker) continue;
      if (const auto said = store.blobs->get(blob.name)) {
        store.blobs->put_if_absent(names.usage(*worker), said->bytes);
      }
    }
  }
  // The removal may be interrupted. A later command then finds a job that is not ready, or
  // cancelled, rather than one that goes on, or has a result, of which the half is missing.
  if (!keep_result) store.blobs->remove(std::vector{names.ready(), names.result()});
  const auto stays = [&](const std::string& name) {
    if (!keep_result) return name == names.cancelled();
    return name == names.result() || name == names.model() || name == names.metrics() ||
           name == names.recorded_reads() || name.starts_with(names.model_memories()) ||
           name.starts_with(names.usages()) || name.starts_with(names.tables());
  };
  remove_all(*store.blobs, names.all(), [&](const std::vector<storage::BlobInfo>& listed) {
    // The model has the last version of each slice.
    std::vector<std::string> chosen;
    if (keep_result) chosen = old_slices(listed, names, kMostSteps);
    for (const storage::BlobInfo& blob : listed) {
      if (!stays(blob.name)) chosen.push_back(blob.name);
    }
    return chosen;
  });
  if (keep_result) return;
  // Left by submitters that were killed while they probed the store.
  remove_all(*store.blobs, "probe/", [](const std::vector<storage::BlobInfo>& listed) {
    std::vector<std::string> chosen;
    for (const storage::BlobInfo& blob : listed) chosen.push_back(blob.name);
    return chosen;
  });
  store.blobs->remove({{names.cancelled()}});
  store.blobs->remove({{Names::job()}});
}

}  // namespace meanwhile::runtime
