#include "meanwhile/cli/commands/train_storage.h"

#include <fmt/format.h>

#include <exception>
#include <sstream>
#include <thread>
#include <vector>

#include "meanwhile/base/clock.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/cli/commands/train_audit.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/output/interrupt.h"
#include "meanwhile/cli/output/machine.h"
#include "meanwhile/cli/output/progress.h"
#include "meanwhile/runtime/storage/archive.h"
#include "meanwhile/runtime/storage/result.h"
#include "meanwhile/runtime/storage/worker.h"

namespace meanwhile::cli {

using base::Error;
using base::ErrorKind;
using base::Json;
using base::now_s;

void add_job_flags(const FlagTable& table, StorageAsked& asked) {
  table
      .real("--lease", asked.lease,
            "seconds without a sign after which a worker's tasks go to others", 1)
      .group("Storage");
}

runtime::Submitted submit_job(const Asked& asked, const StorageAsked& storage,
                              const Context& context, const Node& node,
                              learn::RoundLearner& learner, OpenStore& opened) {
  runtime::Submission submission{node.part, asked.eval.empty() ? nullptr : &node.eval, learner};
  submission.parameters = asked.parameters;
  submission.seed = asked.seed;
  submission.rounds_done = asked.resumed ? asked.resumed->rounds : 0;
  submission.lease_s = storage.lease;
  submission.about = {{"files", asked.input.files()},
                      {"command", context.command_line},
                      {"submitted", iso_time()},
                      {"machine", machine()}};
  if (node.expected) submission.about["predicted"] = node.record["predicted"];
  submission.threads = node.workers;
  const double begin_s = now_s();
  runtime::Submitted submitted = runtime::submit(opened.store, submission);
  // The submitter's requests are on the bill, too.
  Json about = worker_about();
  about["usage"] = runtime::to_json(opened.meter.usage());
  about["seconds"] = now_s() - begin_s;
  if (submitted.found == runtime::Found::kNothing || submitted.found == runtime::Found::kUnready) {
    opened.store.blobs->put(submitted.job.names().usage("submit-" + worker_id()),
                            runtime::json_bytes(about));
  }
  return submitted;
}

Json fetch_job(OpenStore& opened, const runtime::JobRecord& job, const StoreFlags& store,
               job::RunDirectory& directory) {
  base::SystemClock clock;
  const auto result = runtime::result_of(*opened.store.blobs, job, clock);
  if (!result) {
    throw Error(ErrorKind::kInput,
                "{}: the job has not ended; 'meanwhile status --store {}' shows how far it is",
                opened.store.blobs->name(), shell_quoted(store.url()));
  }
  // Behind the rounds of a run that was resumed.
  const std::filesystem::path metrics = directory.path() / "metrics.jsonl";
  const std::string before = std::filesystem::exists(metrics) ? base::read_file(metrics) : "";
  directory.write_metrics(before + result->metrics);
  directory.write_model(result->model);
  Json ended = result->ended;
  ended["bill"] = runtime::bill(*opened.store.blobs, job, store.prices());
  Json fields = {{"status", "done"}, {"finished", true}, {"shards", job.shards()}};
  for (const char* name :
       {"rounds", "rounds_left", "stopped_because", "model_sha256", "objective", "bill"}) {
    if (ended.contains(name)) fields[name] = ended[name];
  }
  fields["seconds"] = directory.run().value("seconds", Json::object());
  fields["seconds"]["train"] = ended.value("elapsed_s", 0.0);
  directory.write_run(fields);
  return ended;
}

namespace {

// Where the time of the rounds after `rounds_before` went, as the workers' lines say.
job::SecondsByPhase seconds_of(const job::RunDirectory& directory, std::int64_t rounds_before) {
  job::SecondsByPhase seconds;
  std::istringstream lines(base::read_file(directory.path() / "metrics.jsonl"));
  for (std::string text; std::getline(lines, text);) {
    const Json line = Json::parse(text, nullptr, false);
    if (!line.is_object() || !line.contains("seconds_by_phase")) continue;
    const bool trains = line.contains("round");
    if (trains && line["round"].get<std::int64_t>() <= rounds_before) continue;
    learn::Outcome outcome;
    outcome.phase = trains ? learn::Phase::kTrain : learn::Phase::kScore;
    const Json& said = line["seconds_by_phase"];
    seconds.add(outcome, said.value("work", 0.0), said.value("exchange", 0.0),
                line.value("seconds", 0.0));
  }
  return seconds;
}

// All workers of this process; the first is on this thread. Returns what the first says.
runtime::WorkerResult work(const learn::Registry& registry, const StoreFlags& store,
                           const runtime::JobRecord& job, int workers, double timeout_s,
                           Progress& progress) {
  const std::atomic<bool>* stop = catch_interrupts();
  const std::string id = worker_id();
  const runtime::MakeLearner make = learner_of(registry, job);
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(workers));
  runtime::WorkerResult first;
  const auto run = [&](int number) {
    try {
      const auto opened = store.open();
      runtime::WorkerOptions options;
      options.id = workers == 1 ? id : fmt::format("{}-{}", id, number);
      options.polls_per_task_s = store.polls_per_task_s();
      options.timeout_s = timeout_s;
      options.stop = stop;
      options.about = worker_about();
      std::function<void(const job::RoundEvent&)> observe;
      if (number == 0) observe = [&](const job::RoundEvent& event) { progress.round(event); };
      runtime::WorkerResult result =
          runtime::work(opened->store, opened->meter, job, make, options, observe);
      if (number == 0) first = std::move(result);
    } catch (...) {
      failures[static_cast<std::size_t>(number)] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (int number = 1; number < workers; ++number) others.emplace_back(run, number);
    run(0);
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return first;
}

}  // namespace

void run_on_store(Asked& asked, const StoreFlags& store, const StorageAsked& storage,
                  const Context& context, Node& node) {
  Progress progress(context.console);
  load(asked, progress, node);
  follow_plan(asked, context.console, node);
  const std::unique_ptr<learn::RoundLearner> learner = make_learner(asked, context.console, node);
  if (nothing_left(asked, *learner, node)) return;
  expect(asked, *learner, node);
  const auto opened = store.open();
  progress.step("submitting");
  const runtime::Submitted submitted = submit_job(asked, storage, context, node, *learner, *opened);
  const runtime::JobRecord& job = submitted.job;
  if (submitted.found == runtime::Found::kRunning) {
    context.console.say(
        fmt::format("note: {} holds this job already; going on with it\n", store.url()));
  }
  // The rows are at the store: each worker takes its own from there.
  node.part.data = {};
  node.eval.data = {};
  node.record["exchange"] = "storage";
  open_run(asked, context, node);
  node.directory->write_run({{"status", "running"},
                             {"store", store.url()},
                             {"job", job.id},
                             {"shards", job.shards()},
                             {"workers", node.workers},
                             {"nodes", node.workers}});
  job::TrainResult result;
  result.workers = result.nodes = node.workers;
  result.shards = job.shards();
  const double begin_s = now_s();
  try {
    const runtime::WorkerResult worked =
        submitted.found == runtime::Found::kFinished
            ? runtime::WorkerResult()
            : work(context.registry, store, job, node.workers, storage.timeout, progress);
    progress.clear();
    result.train_s = now_s() - begin_s;
    if (worked.ending == runtime::Ending::kGone) {
      throw Error(ErrorKind::kFailed, "{}: the job was cancelled", store.url());
    }
    if (worked.ending == runtime::Ending::kInterrupted) {
      result.interrupted = true;
      result.stopped_because = "interrupted";
      node.directory->write_run({{"status", "interrupted"}, {"finished", false}});
    } else {
      if (asked.resumed) node.directory->keep_metrics(asked.resumed->rounds);
      const Json ended = fetch_job(*opened, job, store, *node.directory);
      result.done = true;
      result.rounds = ended.value("rounds", std::int64_t{0});
      result.stopped_because = ended.value("stopped_because", "");
      result.objective = ended.value("objective", result.objective);
      result.model_sha256 = ended.value("model_sha256", "");
      result.record = ended.value("record", Json::object());
      node.record["bill"] = ended["bill"];
      result.seconds_by_phase =
          seconds_of(*node.directory, asked.resumed ? asked.resumed->rounds : 0);
      runtime::remove_job(opened->store, job, false);
      store.tidy();
    }
  } catch (const std::exception& e) {
    node.directory->write_run({{"status", "failed"}, {"error", e.what()}});
    throw;
  }
  node.result.emplace(std::move(result));
  close_run(node);
}

}  // namespace meanwhile::cli
