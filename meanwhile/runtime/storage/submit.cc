#include "meanwhile/runtime/storage/submit.h"

#include <algorithm>
#include <atomic>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/base/sha256.h"
#include "meanwhile/base/version.h"
#include "meanwhile/job/memory_files.h"
#include "meanwhile/job/run_directory.h"
#include "meanwhile/learn/table_state.h"
#include "meanwhile/runtime/storage/archive.h"
#include "meanwhile/runtime/storage/checked.h"
#include "meanwhile/runtime/storage/first_slices.h"
#include "meanwhile/runtime/storage/missing.h"
#include "meanwhile/runtime/storage/shard_memories.h"

namespace meanwhile::runtime {

using base::Error;
using base::ErrorKind;

namespace {

constexpr int kLeastUploads = 4;  // at the same time: waiting for a store takes no core

[[noreturn]] void refuse(const storage::BlobStore& blobs, const JobRecord& there) {
  throw Error(ErrorKind::kUsage,
              "{} holds another job ({} of {}, submitted {}); give this one a place of its "
              "own, or remove that one with 'meanwhile cancel --store {}'",
              blobs.name(), there.learner, base::counted(there.data.rows(), "row"),
              base::text_or(there.about, "submitted", "at an unknown time"), blobs.name());
}

// Makes the store this job's, or finds that it is. Returns whether the job was there.
bool claim(storage::BlobStore& blobs, const JobRecord& job) {
  auto there = find_job(blobs);
  if (!there) {
    if (blobs.put_if_absent(Names::job(), json_bytes(to_json(job)))) return false;
    there = find_job(blobs);
  }
  if (!there || there->id != job.id) {
    if (there) refuse(blobs, *there);
    throw Error(ErrorKind::kSystem,
                "{}: another job was submitted and removed in the meantime; try again",
                blobs.name());
  }
  return true;
}

void put_rows(storage::BlobStore& blobs, const data::Part& part, base::ThreadPool& pool,
              const std::function<std::string(int)>& name, const std::function<void()>& done) {
  pool.run(static_cast<std::int64_t>(part.shards.size()), [&](std::int64_t s, int) {
    const data::Shard& shard = part.shards[static_cast<std::size_t>(s)];
    if (shard.rows > 0) {
      const data::ShardFile file = data::shard_file(part.data, shard);
      blobs.put(name(shard.index), seal(file.tensors, file.metadata));
    }
    done();
  });
}

// The memory of a shard before step 0.
learn::ShardMemory memory_before(const Submission& submission, int shard) {
  return job::first_memory(submission.learner, shard,
                           static_cast<int>(submission.part.shards.size()), submission.resumed_from,
                           submission.rounds_done);
}

// The hash of all memory before step 0; empty when it is zeros, or there is none. All of it is
// read, so that a job whose memory is missing or damaged is refused before anything is put.
std::string check_memory(const Submission& submission) {
  base::Sha256 hash;
  for (int shard = 0; shard < static_cast<int>(submission.part.shards.size()); ++shard) {
    const learn::ShardMemory memory = memory_before(submission, shard);
    if (memory.empty() || submission.resumed_from.empty()) return "";
    hash.add(data::sha256(memory.tensors()));
  }
  return hash.hex();
}

}  // namespace

Submitted submit(storage::Store& store, const Submission& submission,
                 const std::function<void(int)>& progress) {
  const data::Part& part = submission.part;
  base::ThreadPool pool(std::max(submission.threads, kLeastUploads));
  learn::RoundLearner& learner = submission.learner;
  learner.attach({&part, submission.eval, submission.seed, part.data.mapped, &pool});
  learn::State state = learner.state();
  if (state.learner.empty()) state.learner = learner.name();
  learn::put_table(state, part.data.table.get());
  const auto tables = FirstSlices::of(submission);
  if (tables) tables->versions().add_to(state, tables->set());
  const job::StateFile file =
      job::state_file(state, submission.rounds_done, submission.part.sha256);

  Submitted submitted;
  JobRecord& job = submitted.job;
  job.version = base::kVersion;
  job.learner = learner.name();
  job.parameters = submission.parameters;
  job.seed = submission.seed;
  job.staleness = submission.staleness;
  job.fresh = submission.fresh;
  if (!submission.reads.empty()) {
    base::Sha256 hash;
    hash.add(std::span<const std::byte>(submission.reads));
    job.reads_sha256 = hash.hex();
  }
  job.data = data::outline_of(part);
  if (submission.eval != nullptr) job.eval = data::outline_of(*submission.eval);
  job.state_sha256 = data::sha256(file.tensors);
  job.rounds_done = submission.rounds_done;
  job.memory_sha256 = check_memory(submission);
  job.lease_s = submission.lease_s;
  job.memory_every = submission.memory_every;
  job.about = submission.about;
  settle_id(job);
  check(job);
  data::check(job.data);

  const Names names = job.names();
  storage::BlobStore& blobs = *store.blobs;
  storage::probe(blobs);
  bool was_there = claim(blobs, job);
  if (was_there && blobs.get(names.cancelled())) {
    // The process that cancelled it did not come to the end.
    remove_job(store, job, false);
    was_there = claim(blobs, job);
  }
  if (was_there) {
    if (auto there = find_job(blobs)) job = std::move(*there);  // with the lease it has
    submitted.found = blobs.get(names.result())  ? Found::kFinished
                      : blobs.get(names.ready()) ? Found::kRunning
                                                 : Found::kUnready;
    if (submitted.found != Found::kUnready) return submitted;
  }
  std::atomic<int> there = 0;
  const auto done = [&] {
    const int now = ++there;
    if (progress) progress(now);
  };
  put_rows(
      blobs, part, pool, [&](int s) { return names.data(s); }, done);
  if (submission.eval != nullptr) {
    put_rows(
        blobs, *submission.eval, pool, [&](int s) { return names.eval(s); }, [] {});
  }
  if (!job.memory_sha256.empty()) {
    pool.run(job.shards(), [&](std::int64_t s, int) {
      const int shard = static_cast<int>(s);
      blobs.put(names.memory(0, shard), seal_memory(memory_before(submission, shard)));
    });
  }
  if (tables) tables->put(blobs, names, pool);
  if (!submission.reads.empty()) blobs.put(names.reads(), submission.reads);
  blobs.put(names.state(0), seal(file.tensors, file.metadata));
  // First the messages, then the word that makes them valid: a worker that finds the job ready
  // finds all of it.
  store.queue->create();
  for (const Task& task : tasks_of(job.layout())) store.queue->push(message_of(job, task));
  blobs.put(names.ready(), json_bytes({{"job", job.id}}));
  return submitted;
}

}  // namespace meanwhile::runtime
