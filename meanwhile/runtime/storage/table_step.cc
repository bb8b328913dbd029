// Cost of a step with S shards and B bins: S B puts and S B gets of deltas, and a put of each slice
// that changed. A worker has the deltas of one bin in memory, and a slice for each thread.
#include "meanwhile/runtime/storage/table_step.h"

#include <algorithm>
#include <atomic>

#include "meanwhile/runtime/storage/job_failed.h"

namespace meanwhile::runtime {

namespace {

// A delta that could not be read so often, and for so long, is damaged.
constexpr int kTriesToReadDelta = 4;
constexpr double kReadDeltaSeconds = 1;
constexpr std::size_t kSectionWords = 3;

// A shard's additions to the slices of a bin: (table, slice, bytes) of each slice, then the rows.
storage::Bytes seal_delta(const std::vector<const tables::SealedDelta*>& slices) {
  std::vector<std::int64_t> sections;
  std::vector<std::byte> rows;
  for (const tables::SealedDelta* delta : slices) {
    for (const std::int64_t word : {std::int64_t{delta->table}, std::int64_t{delta->slice},
                                    static_cast<std::int64_t>(delta->rows.size())}) {
      sections.push_back(word);
    }
    rows.insert(rows.end(), delta->rows.begin(), delta->rows.end());
  }
  return seal(
      {{"sections", data::tensor_of<std::int64_t>(
                        sections, {std::ssize(slices), static_cast<std::int64_t>(kSectionWords)})},
       {"rows", {"U8", {std::ssize(rows)}, rows}}},
      {{"kind", "delta"}});
}

}  // namespace

TableCost table_cost(const Layout& layout, int workers, int slices) {
  const double deltas = static_cast<double>(layout.shards) * layout.bins();
  const int busy = std::min(workers, layout.shards);
  return {deltas, deltas, static_cast<double>(slices), static_cast<double>(slices) * (busy - 1)};
}

TableStep::TableStep(storage::BlobStore& blobs, const JobRecord& job, std::int64_t step,
                     const StoredTables& learner, base::ThreadPool& pool)
    : blobs_(blobs),
      names_(job.names()),
      layout_(job.layout()),
      step_(step),
      pool_(pool),
      slices_(learner.slices()),
      set_(learner.set()),
      versions_(learner.versions()),
      block_(learner.version_block()) {}

void TableStep::keep_only(const std::set<int>& shards) {
  std::erase_if(waiting_, [&](const auto& entry) { return shards.count(entry.first) == 0; });
}

std::int64_t TableStep::look() {
  std::int64_t arrived = 0;
  unreadable_.clear();
  for (const storage::BlobInfo& blob : blobs_.list(names_.deltas(step_))) {
    const auto of = bin_of(blob.name, names_, step_);
    if (!of || of->first >= layout_.bins() || of->second >= layout_.shards) continue;
    arrived += there_.insert(*of).second ? 1 : 0;
  }
  return arrived;
}

bool TableStep::is_there(int shard) const {
  for (int bin = 0; bin < layout_.bins(); ++bin) {
    if (there_.count({bin, shard}) == 0) return false;
  }
  return true;
}

std::set<int> TableStep::open(const std::set<int>& shards) const {
  std::set<int> open;
  for (const int shard : shards) {
    if (waiting_.count(shard) == 0 || !is_there(shard)) open.insert(shard);
  }
  return open;
}

std::vector<int> TableStep::missing() const {
  std::vector<int> missing;
  for (int shard = 0; shard < layout_.shards; ++shard) {
    if (!is_there(shard)) missing.push_back(shard);
  }
  return missing;
}

void TableStep::put(int shard, exchange::Update update,
                    const std::vector<tables::SealedDelta>& delta) {
  std::vector<std::vector<const tables::SealedDelta*>> of_bin(
      static_cast<std::size_t>(layout_.bins()));
  for (const tables::SealedDelta& slice : delta) {
    const tables::Slices& slices = set_.slices[static_cast<std::size_t>(slice.table)];
    const int bin = slices.owner_of(slice.slice, layout_.bins());
    of_bin[static_cast<std::size_t>(bin)].push_back(&slice);
  }
  for (int bin = 0; bin < layout_.bins(); ++bin) {
    const storage::Bytes blob = seal_delta(of_bin[static_cast<std::size_t>(bin)]);
    blobs_.put_if_absent(names_.delta(step_, bin, shard), blob);
    ++slices_.traffic().deltas_put;
    slices_.traffic().bytes_pushed += std::ssize(blob);
  }
  base::MutexLock lock(mutex_);
  for (int bin = 0; bin < layout_.bins(); ++bin) there_.insert({bin, shard});
  waiting_.insert_or_assign(shard, std::move(update));
}

// Nothing when the blob cannot be read whole, or holds what no shard adds to the bin.
std::optional<TableStep::Put> TableStep::read(int bin, int shard) {
  auto blob = get_sealed(blobs_, names_.delta(step_, bin, shard));
  if (!blob || !blob->file.has("sections") || !blob->file.has("rows")) return std::nullopt;
  const data::Tensor &sections = blob->file.tensor("sections"), &rows = blob->file.tensor("rows");
  if (sections.dtype != "I64" || rows.dtype != "U8") return std::nullopt;
  const auto words = sections.as<std::int64_t>();
  std::span<const std::byte> rest = rows.bytes;
  Put put{std::move(*blob), {}};
  for (std::size_t i = 0; i + kSectionWords <= words.size(); i += kSectionWords) {
    const std::int64_t table = words[i], slice = words[i + 1], bytes = words[i + 2];
    if (table < 0 || table >= std::ssize(set_.tables)) return std::nullopt;
    const tables::Slices& slices = set_.slices[static_cast<std::size_t>(table)];
    if (slice < 0 || slice >= slices.count() || bytes < 0 || bytes > std::ssize(rest) ||
        slices.owner_of(static_cast<int>(slice), layout_.bins()) != bin) {
      return std::nullopt;
    }
    const auto size = static_cast<std::size_t>(bytes);
    put.rows[{static_cast<int>(table), static_cast<int>(slice)}] = rest.first(size);
    rest = rest.subspan(size);
  }
  slices_.traffic().bytes_added += std::ssize(put.blob.bytes);
  ++slices_.traffic().deltas_fetched;
  return put;
}

// The deltas of all shards; nothing when one of them is not to be had.
std::optional<std::vector<TableStep::Put>> TableStep::puts_of(int bin, double now_s) {
  for (int shard = 0; shard < layout_.shards; ++shard) {
    if (there_.count({bin, shard}) == 0) return std::nullopt;
  }
  std::vector<std::optional<Put>> found(static_cast<std::size_t>(layout_.shards));
  pool_.run(layout_.shards, [&](std::int64_t shard, int) {
    found[static_cast<std::size_t>(shard)] = read(bin, static_cast<int>(shard));
  });
  std::vector<Put> puts;
  for (int shard = 0; shard < layout_.shards; ++shard) {
    const std::string name = names_.delta(step_, bin, shard);
    if (auto& put = found[static_cast<std::size_t>(shard)]) {
      unread_.forget(name);
      puts.push_back(std::move(*put));
      continue;
    }
    unreadable_ = name;
    if (!unread_.is_lost(name, now_s, kTriesToReadDelta, kReadDeltaSeconds)) continue;
    // The first copy stays, so a damaged one keeps others out. The shard is then worked on again.
    blobs_.remove(std::vector{name});
    unread_.forget(name);
    there_.erase({bin, shard});
  }
  if (std::ssize(puts) < layout_.shards) return std::nullopt;
  return puts;
}

// Puts the next version of the slices that are added to. False when a slice is not to be had yet.
bool TableStep::add(const std::vector<Put>& puts, exchange::Update& update) {
  std::map<std::pair<int, int>, std::vector<tables::ShardRows>> changed;
  for (std::size_t shard = 0; shard < puts.size(); ++shard) {
    for (const auto& [slice, rows] : puts[shard].rows) {
      changed[slice].push_back({static_cast<int>(shard), rows});
    }
  }
  std::vector<std::pair<int, int>> list;
  for (const auto& entry : changed) list.push_back(entry.first);
  std::vector<SliceVersion> next(list.size());
  std::atomic<bool> whole = true;
  pool_.run(std::ssize(list), [&](std::int64_t i, int) {
    const int table = list[static_cast<std::size_t>(i)].first,
              slice = list[static_cast<std::size_t>(i)].second;
    const auto t = static_cast<std::size_t>(table);
    const SliceVersion before = versions_.at(set_.index(table, slice));
    std::shared_ptr<tables::Slice> content;
    if (before.is_zero()) {
      content = std::make_shared<tables::Slice>(set_.tables[t], set_.slices[t].rows_of(slice));
    } else if (const auto old = slices_.get(set_, table, slice, before)) {
      content = std::make_shared<tables::Slice>(*old);
    } else {
      whole = false;
      return;
    }
    fail_job(fmt::format("slice {} of the table {}", slice, set_.tables[t].name), [&] {
      content->add(changed.at({table, slice}), layout_.shards, set_.slices[t], slice);
    });
    next[static_cast<std::size_t>(i)] = slices_.put(set_, table, slice, step_ + 1, content);
  });
  if (!whole) return false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    SliceVersions::put(update, block_, set_.index(list[i].first, list[i].second), next[i]);
  }
  update.settle();
  return true;
}

std::optional<exchange::Update> TableStep::finish(int shard, double now_s) {
  const auto found = waiting_.find(shard);
  if (found == waiting_.end()) return std::nullopt;
  if (const auto bin = layout_.bin_of(shard)) {
    const auto puts = puts_of(*bin, now_s);
    if (!puts || !add(*puts, found->second)) return std::nullopt;
  }
  exchange::Update update = std::move(found->second);
  waiting_.erase(found);
  return update;
}

}  // namespace meanwhile::runtime
