#include "meanwhile/runtime/storage/storage_runtime.h"

#include <fmt/format.h>

#include <atomic>
#include <exception>
#include <sstream>
#include <vector>

#include "meanwhile/base/clock.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/base/host.h"
#include "meanwhile/base/memory.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/job/run_record.h"
#include "meanwhile/job/settle_staleness.h"
#include "meanwhile/runtime/storage/archive.h"
#include "meanwhile/runtime/storage/first_slices.h"
#include "meanwhile/runtime/storage/worker.h"

namespace meanwhile::runtime {

using base::Error;
using base::ErrorKind;
using base::parameter;

namespace {

std::vector<std::string> names_of(const std::vector<std::filesystem::path>& paths) {
  std::vector<std::string> names;
  for (const auto& path : paths) names.push_back(path.string());
  return names;
}

Submitted submit_training(const job::Training& training, double lease_s, int threads,
                          OpenStore& opened) {
  Submission submission{training.part, training.eval, training.learner};
  submission.parameters = training.parameters;
  submission.seed = training.seed;
  submission.staleness = training.staleness;
  submission.fresh = training.clocks.has_value();
  const tables::ReadsLog* reads = training.replayed;
  if (training.clocks) reads = training.clocks->before;
  if (reads != nullptr && !reads->stretches().empty()) submission.reads = reads->bytes();
  submission.rounds_done = training.rounds_done;
  submission.resumed_from = training.resumed_from;
  submission.lease_s = lease_s;
  submission.about = {{"files", names_of(training.spec.inputs)},
                      {"command", training.spec.command},
                      {"submitted", base::iso_time()},
                      {"machine", base::machine()}};
  if (!training.predicted.is_null()) submission.about["predicted"] = training.predicted;
  submission.threads = threads;
  const double begin_s = base::now_s();
  Submitted submitted = submit(opened.store, submission);
  // The submitter's requests are on the bill, too.
  Json about = worker_about();
  about["usage"] = to_json(opened.meter.usage());
  about["seconds"] = base::now_s() - begin_s;
  if (submitted.found == Found::kNothing || submitted.found == Found::kUnready) {
    opened.store.blobs->put(submitted.job.names().usage("submit-" + worker_id()),
                            json_bytes(about));
  }
  return submitted;
}

// Where the time of the rounds after `rounds_before` went, as the workers' lines say.
job::SecondsByPhase seconds_of(const job::RunDirectory& directory, std::int64_t rounds_before) {
  job::SecondsByPhase seconds;
  std::istringstream lines(base::read_file(directory.path() / "metrics.jsonl"));
  for (std::string text; std::getline(lines, text);) {
    const auto line = base::try_parse_object(text);
    if (!line) continue;
    learn::Outcome outcome;
    if (line->contains("round")) {
      // All lines up to this one are of the run that was resumed.
      if (base::count_or(*line, "round", 0) <= rounds_before) {
        seconds = {};
        continue;
      }
    } else {
      outcome.phase = base::text_or(*line, "phase", "") == "prepare" ? learn::Phase::kPrepare
                                                                     : learn::Phase::kScore;
    }
    const Json& said = base::member_or_null(*line, "seconds_by_phase");
    seconds.add(outcome, base::number_or(said, "work", 0), base::number_or(said, "exchange", 0),
                base::number_or(*line, "seconds", 0));
  }
  return seconds;
}

// How stale the reads were that the record in the directory holds.
void take_reads(const job::RunDirectory& directory, job::TrainResult& result) {
  const std::filesystem::path path = directory.path() / "reads.bin";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return;
  const std::string text = base::read_file(path);
  const auto log = tables::ReadsLog::read(std::as_bytes(std::span(text)), path.string());
  result.observed_staleness = tables::staleness_histogram(log);
  result.waits = tables::waits_of(log);
}

void take_ending(const Json& ended, job::TrainResult& result) {
  result.done = true;
  result.rounds = base::count_or(ended, "rounds", 0);
  result.stopped_because = base::text_or(ended, "stopped_because", "");
  result.ending = learn::ended_from_text(result.stopped_because).ending;
  result.objective = base::number_or(ended, "objective", result.objective);
  result.model_sha256 = base::text_or(ended, "model_sha256", "");
  const Json& record = base::member_or_null(ended, "record");
  result.record = record.is_object() ? record : Json::object();
}

}  // namespace

StorageRuntime::StorageRuntime(StorePlace place, const learn::Registry& registry,
                               const Options& options)
    : place_(std::move(place)), registry_(registry), options_(options) {
  if (options_.workers == 0) options_.workers = base::hardware_threads();
}

job::Deployment StorageRuntime::deployment() const {
  return {"storage", job::Medium::kStorage, options_.workers, 1, options_.workers, !options_.fixed};
}

void StorageRuntime::check(const job::RunSpec& spec) const {
  if (spec.time_limit_s > 0) {
    throw Error(ErrorKind::kUsage,
                "{}: not with a store, where no worker speaks for all; stop the workers, or give "
                "fewer rounds",
                parameter("time_limit"));
  }
  if (spec.exchange) {
    throw Error(ErrorKind::kUsage, "{}: at a store, updates are added by groups and a root, always",
                parameter("exchange"));
  }
}

void StorageRuntime::each_worker(const std::function<void(const job::Worker&)>& body) {
  body({nullptr, options_.workers});
}

job::Trained StorageRuntime::train(const job::Worker&, const job::Training& training) {
  const auto opened = place_.open();
  training.observer.step("submitting");
  const Submitted submitted =
      submit_training(training, options_.lease_s, options_.workers, *opened);
  const JobRecord& job = submitted.job;
  if (submitted.found == Found::kRunning) {
    training.observer.note(fmt::format("{} already holds this job, which goes on", place_.url));
  }
  // The rows are at the store: each worker takes its own from there.
  training.part.data = {};
  if (training.eval != nullptr) training.eval->data = {};
  job::RunDirectory& directory = *training.directory;
  directory.write_run({{"status", "running"},
                       {"store", place_.url},
                       {"job", job.id},
                       {"shards", job.shards()},
                       {"threads", 1},
                       {"workers", options_.workers}});
  job::Trained trained;
  job::TrainResult& result = trained.result;
  result.threads = 1;
  result.workers = options_.workers;
  result.shards = job.shards();
  const double begin_s = base::now_s();
  try {
    const WorkerResult worked =
        submitted.found == Found::kFinished
            ? WorkerResult()
            : work(job, training.spec.memory_limit_bytes, training.observer);
    result.train_s = base::now_s() - begin_s;
    if (worked.ending == Ending::kGone) {
      throw Error(ErrorKind::kFailed, "{}: the job was cancelled", place_.url);
    }
    if (worked.ending == Ending::kInterrupted) {
      result.interrupted = true;
      result.stopped_because = "interrupted";
      directory.write_run({{"status", "interrupted"}, {"finished", false}});
      return trained;
    }
    if (training.resumed) directory.keep_metrics(training.rounds_done, training.metrics_lines);
    base::SystemClock clock;
    const Json ended = fetch_result(*opened, job, options_.prices, directory, clock);
    if (!ended["metrics_whole"].get<bool>()) training.observer.note(kDamagedMetrics);
    take_ending(ended, result);
    if (job.fresh) take_reads(directory, result);
    trained.record["bill"] = ended["bill"];
    result.seconds_by_phase = seconds_of(directory, training.rounds_done);
    remove_job(opened->store, job, false);
    place_.tidy();
  } catch (const std::exception& e) {
    directory.write_run({{"status", "failed"}, {"error", e.what()}});
    throw;
  }
  return trained;
}

// All workers of this process, the first on this thread. Returns what the first did.
WorkerResult StorageRuntime::work(const JobRecord& job, std::int64_t memory_limit_bytes,
                                  job::Observer& observer) const {
  const std::atomic<bool>* stop = observer.begin_rounds();
  const std::string id = worker_id();
  const MakeLearner make =
      learner_of(registry_, job, replayed_by(job, *place_.open()->store.blobs));
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(options_.workers));
  WorkerResult first;
  const auto run = [&](int number) {
    try {
      const auto opened = place_.open();
      WorkerOptions options;
      options.id = options_.workers == 1 ? id : fmt::format("{}-{}", id, number);
      options.polls_per_task_s = place_.polls_per_task_s;
      options.timeout_s = options_.timeout_s;
      options.memory_limit_bytes =
          (memory_limit_bytes == 0 ? base::memory_bytes() / 4 * 3 : memory_limit_bytes) /
          options_.workers;
      options.stop = stop;
      options.about = worker_about();
      std::function<void(const job::RoundEvent&)> observe;
      if (number == 0) observe = [&](const job::RoundEvent& event) { observer.round(event); };
      WorkerResult result =
          runtime::work(opened->store, opened->meter, job, make, options, observe);
      if (number == 0) first = std::move(result);
    } catch (...) {
      failures[static_cast<std::size_t>(number)] = std::current_exception();
    }
  };
  {
    // No worker takes a task before all threads are there.
    enum Start { kWait, kGo, kLeave };
    std::atomic<Start> start = kWait;
    const auto say = [&](Start what) {
      start = what;
      start.notify_all();
    };
    const auto other = [&](int number) {
      start.wait(kWait);
      if (start == kGo) run(number + 1);
    };
    const base::JoinThreads others(
        base::start_threads(options_.workers - 1, other, [&] { say(kLeave); }));
    say(kGo);
    run(0);
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return first;
}

SubmittedRun submit_run(const job::RunSpec& spec, const learn::Registry& registry,
                        const StorePlace& place, double lease_s, job::Observer& observer) {
  const int threads = base::hardware_threads();
  const job::SettledRun run = job::settle(spec, registry);
  for (const std::string& note : run.notes) observer.note(note);
  const auto opened = place.open();
  job::LoadedRun loaded = job::load(run, {nullptr, threads}, observer, job::Medium::kStorage);
  job::check_replay(run, loaded.part);
  const auto learner = job::make_learner(run, loaded, observer);
  observer.step("submitting");
  job::Training training{spec, *run.entry, run.parameters, *learner, loaded.part, observer};
  if (loaded.eval) training.eval = &*loaded.eval;
  training.seed = run.seed;
  training.staleness = run.bound.staleness;
  training.replayed = run.replayed.get();
  training.clocks = job::clock_options(run, loaded.part);
  training.rounds_done = run.resumed ? run.resumed->rounds : 0;
  if (run.resumed && !loaded.other_data) training.resumed_from = run.resumed->state_path;
  Json record = {{"learner", run.entry->name},
                 {"parameters", run.parameters},
                 {"seed", run.seed},
                 {"deal", to_string(loaded.part.deal)},
                 {"staleness", run.bound.staleness},
                 {"reads", run.is_fresh() ? "fresh" : "fixed"},
                 {"runtime", job::runtime_name(job::Medium::kStorage)},
                 {"data", job::shape_json(loaded.part)},
                 {"seconds", {{"load", loaded.load_s}}}};
  record["data"]["paths"] = names_of(spec.inputs);
  record["data"]["sha256"] = loaded.part.sha256;
  if (!run.eval.empty()) record["eval"] = run.eval;
  const learn::Shape shape = job::shape_of(loaded.part);
  const std::vector<learn::Stretch> course = learner->course(shape);
  return {submit_training(training, lease_s, threads, *opened), std::move(record), shape, course};
}

namespace {

// Writes the memory of shards and the slices of tables that go with the model, and then the model,
// which names their folder.
void write_model(storage::BlobStore& blobs, const JobRecord& job, const Result& result,
                 job::RunDirectory& directory, base::Clock& clock) {
  const data::SafetensorsFile model(result.model, job.names().model());
  const bool has_tables = model.has(std::string("carried/") + kSliceSteps),
             has_memory = result.ended.contains("memory_shards");
  if (!has_memory && !has_tables) return directory.write_model(result.model);
  const std::filesystem::path folder = directory.model_memory();
  job::SavedMemory memory{folder.filename().string(), {}};
  for (int shard = 0; shard < job.shards() && has_memory; ++shard) {
    const Sealed blob = result_blob(blobs, job.names().model_memory(shard), clock);
    memory.sha256.push_back(job::write_memory(folder, shard, blob.file.tensors()));
  }
  if (has_tables) fetch_slices(blobs, job.names(), model, folder, clock);
  data::Metadata metadata = model.metadata();
  metadata.erase(data::kSeal);  // of the metadata without the next line
  metadata[job::kMemoryKey] = job::text_of(memory);
  Tensors tensors = model.tensors();
  tensors.erase(std::string("carried/") + kSliceSteps);  // of blobs, not of files
  directory.write_model(data::safetensors_bytes(tensors, metadata));
}

}  // namespace

Json fetch_result(OpenStore& opened, const JobRecord& job, const Prices& prices,
                  job::RunDirectory& directory, base::Clock& clock) {
  const auto result = result_of(*opened.store.blobs, job, clock);
  if (!result) {
    throw Error(ErrorKind::kInput, "{}: the job has not ended", opened.store.blobs->name());
  }
  // Left by a worker that died at the end.
  tidy_up(opened.store, job);
  // Behind the rounds of a run that was resumed.
  const std::filesystem::path metrics = directory.path() / "metrics.jsonl";
  const std::string before = std::filesystem::exists(metrics) ? base::read_file(metrics) : "";
  directory.write_metrics(before + result->metrics);
  if (!result->reads.empty()) directory.write_reads(result->reads);  // before the model names it
  write_model(*opened.store.blobs, job, *result, directory, clock);
  Json ended = result->ended;
  ended["metrics_whole"] = result->metrics_whole;
  ended["bill"] = bill(*opened.store.blobs, job, prices);
  Json fields = {{"status", "done"}, {"finished", true}, {"shards", job.shards()}};
  for (const char* name :
       {"rounds", "rounds_left", "stopped_because", "model_sha256", "objective", "bill"}) {
    if (ended.contains(name)) fields[name] = ended[name];
  }
  const Json run = directory.run();
  const Json& seconds = base::member_or_null(run, "seconds");
  fields["seconds"] = seconds.is_object() ? seconds : Json::object();
  fields["seconds"]["train"] = base::number_or(ended, "elapsed_s", 0);
  directory.write_run(fields);
  return ended;
}

}  // namespace meanwhile::runtime
