#include "meanwhile/runtime/storage/archive.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

namespace meanwhile::runtime {

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

std::string text_of(const std::vector<Line>& lines) {
  std::string text;
  for (const Line& line : lines) {
    text += line.json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  return text;
}

std::vector<Line> lines_of(const std::string& text) {
  std::vector<Line> lines;
  for (std::size_t begin = 0, end; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    Json json = Json::parse(text.substr(begin, end - begin), nullptr, false);
    if (json.is_object()) {
      const std::int64_t step = json.value("step", std::int64_t{0});
      lines.push_back({step, std::move(json)});
    }
  }
  return lines;
}

storage::Bytes bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// Listings may be late: until some running show nothing.
void remove_all(storage::BlobStore& blobs, const std::string& prefix,
                const std::function<bool(const std::string&)>& keep) {
  for (int empty = 0; empty < kEmptyLists;) {
    std::vector<std::string> names;
    for (const storage::BlobInfo& blob : blobs.list(prefix)) {
      if (!keep(blob.name)) names.push_back(blob.name);
    }
    empty = names.empty() ? empty + 1 : 0;
    if (!names.empty()) blobs.remove(names);
  }
}

}  // namespace

Json round_line(const learn::Outcome& outcome, std::int64_t rounds, std::int64_t step,
                double seconds, double elapsed_s) {
  Json line;
  if (outcome.phase == learn::Phase::kTrain) {
    line["round"] = rounds;
  } else {
    line["phase"] = "score";
  }
  line["objective"] = outcome.objective;
  if (outcome.record.is_object()) line.update(outcome.record);
  line["step"] = step;
  line["seconds"] = seconds;
  line["elapsed_s"] = elapsed_s;
  return line;
}

void Archive::begin(const data::Metadata& carried) {
  const auto found = carried.find("metrics");
  lines_ = found == carried.end() ? std::vector<Line>() : lines_of(found->second);
  const auto elapsed = carried.find("elapsed_s");
  elapsed_s_ = elapsed == carried.end() ? 0 : std::stod(elapsed->second);
  // Others may have put more of the history than was known here.
  const auto put = carried.find("metrics_step");
  metrics_wanted_ = put == carried.end() ? -1 : std::stoll(put->second);
  metrics_known_ = false;
  metrics_.clear();
  metrics_lines_ = 0;
  metrics_step_ = -1;
}

void Archive::add(Line line) { lines_.push_back(std::move(line)); }

// The history, as far as this worker knows it with what was put before.
std::string Archive::all_metrics() {
  if (!metrics_known_) {
    metrics_known_ = true;
    Pace pace;
    for (int tries = 0; tries < kMostTries; ++tries) {
      if (const auto blob = store_.blobs->get(names_.metrics())) {
        metrics_.assign(reinterpret_cast<const char*>(blob->bytes.data()), blob->bytes.size());
        const std::vector<Line> known = lines_of(metrics_);
        metrics_ = text_of(known);
        metrics_lines_ = known.size();
        if (!known.empty()) metrics_step_ = known.back().step;
      }
      if (metrics_step_ >= metrics_wanted_) break;
      // An older one, or one that was cut on its way.
      std::this_thread::sleep_for(std::chrono::duration<double>(pace.next()));
    }
  }
  std::vector<Line> fresh;
  for (Line& line : lines_) {
    if (line.step > metrics_step_) fresh.push_back(std::move(line));
  }
  lines_.clear();
  metrics_lines_ += fresh.size();
  if (!fresh.empty()) metrics_step_ = fresh.back().step;
  metrics_ += text_of(fresh);
  return metrics_;
}

void Archive::put_metrics() {
  metrics_s_ = base::now_s();
  chores_.add(
      [this, bytes = bytes_of(all_metrics())] { store_.blobs->put(names_.metrics(), bytes); });
}

void Archive::keep(const ShardRunner& bench, std::size_t total_bytes) {
  bytes_since_state_ += total_bytes;
  ++totals_since_state_;
  // While the last one is still on its way, the totals do: they stay until a newer state is there.
  if (!chores_.idle()) return;
  if (bytes_since_state_ * kTotalsPerState < state_bytes_ && totals_since_state_ < kMostTotals) {
    return;
  }
  // The history first: a state carries what the history has not.
  if (base::now_s() - metrics_s_ >= kMetricsSeconds ||
      lines_.size() >= std::max(kMetricsLines, metrics_lines_ / kMetricsShare)) {
    put_metrics();
  }
  storage::Bytes state =
      bench.state({{"metrics", text_of(lines_)},
                   {"metrics_step", fmt::format("{}", std::max(metrics_step_, metrics_wanted_))},
                   {"elapsed_s", fmt::format("{}", elapsed_s_)}});
  state_bytes_ = state.size();
  bytes_since_state_ = 0;
  totals_since_state_ = 0;
  chores_.add([this, step = bench.step(),
               bytes = std::make_shared<const storage::Bytes>(std::move(state))] {
    store_.blobs->put(names_.state(step), *bytes);
    if (state_before_ >= 0) remove_before(state_before_);
    state_before_ = step;
  });
}

// Of rounds and states. Whoever lags behind further than that goes on from a state.
void Archive::remove_before(std::int64_t step) {
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
  } else {
    const Layout layout = job_.layout();
    for (std::int64_t old = removed_to_; old < step; ++old) {
      for (int shard = 0; shard < layout.shards; ++shard) {
        names.push_back(names_.update(old, layout.group_of(shard), shard));
      }
      for (int g = 0; g < layout.groups; ++g) {
        if (layout.two_levels()) names.push_back(names_.sum(old, g));
      }
      names.push_back(names_.total(old));
      names.push_back(names_.state(old));
    }
  }
  if (!names.empty()) store_.blobs->remove(names);
  removed_to_ = step;
}

void Archive::finish(const ShardRunner& bench, const Json& ended, double patience_s,
                     const std::string& worker) {
  chores_.finish();
  store_.blobs->put(names_.model(), bench.state());
  store_.blobs->put(names_.metrics(), bytes_of(all_metrics()));
  store_.blobs->put(names_.result(), json_bytes(ended));
  wait_for_others(patience_s, worker);
  remove_job(store_, job_, true);
}

// They leave when they see the result; a little patience spares them from missing it.
void Archive::wait_for_others(double patience_s, const std::string& worker) {
  Pace pace;
  for (const double begin_s = base::now_s(); base::now_s() - begin_s < patience_s;) {
    bool others = false;
    for (const storage::BlobInfo& blob : store_.blobs->list(names_.live())) {
      const auto other = names_.worker_of(blob.name);
      others |= other && *other != worker && blob.age_s < job_.lease_s;
    }
    if (!others) return;
    std::this_thread::sleep_for(std::chrono::duration<double>(pace.next()));
  }
}

void remove_job(storage::Store& store, const JobRecord& job, bool keep_result) {
  const Names names = job.names();
  store.queue->destroy();
  if (keep_result) {
    // What those who died had used belongs to the bill.
    for (const storage::BlobInfo& blob : store.blobs->list(names.live())) {
      const auto worker = names.worker_of(blob.name);
      if (!worker) continue;
      if (const auto said = store.blobs->get(blob.name)) {
        store.blobs->put_if_absent(names.usage(*worker), said->bytes);
      }
    }
  }
  // Where it may be interrupted: whoever comes finds a job that is not ready, or cancelled, rather
  // than one that goes on, or has a result, of which the half is missing.
  if (!keep_result) store.blobs->remove(std::vector{names.ready(), names.result()});
  remove_all(*store.blobs, names.all(), [&](const std::string& name) {
    if (!keep_result) return name == names.cancelled();
    return name == names.result() || name == names.model() || name == names.metrics() ||
           name.starts_with(names.usages());
  });
  if (keep_result) return;
  // Of submitters that were killed while they tried whether the store is one.
  remove_all(*store.blobs, "probe/", [](const std::string&) { return false; });
  store.blobs->remove({{names.cancelled()}});
  store.blobs->remove({{Names::job()}});
}

}  // namespace meanwhile::runtime
