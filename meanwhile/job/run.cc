// The steps of a run, in their order:
//
//   settle    the spec, the run to resume and the defaults, merged and checked
//   compare   the same run on every worker
//   load      the data, by all workers
//   choose    with `plan`: workers, exchange and what is sent
//   learner   new, restored, or started from a model
//   expect    what a round should take
//   open      the run directory, by the first worker
//   train     the rounds, as the runtime does them
//   close     what ran, how it ended, and how far the plan was off
//
// Steps that only the first worker does are agreed upon: if it fails there, all fail.
#include "meanwhile/job/run.h"

#include <fmt/format.h>

#include <new>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/file.h"
#include "meanwhile/base/host.h"
#include "meanwhile/base/simd.h"
#include "meanwhile/base/version.h"
#include "meanwhile/job/agree.h"
#include "meanwhile/job/notes.h"
#include "meanwhile/job/prepare.h"
#include "meanwhile/job/replicate.h"
#include "meanwhile/job/run_record.h"
#include "meanwhile/job/same_run.h"
#include "meanwhile/job/settle_staleness.h"
#include "meanwhile/transport/collect.h"

namespace meanwhile::job {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;
using base::Json;

namespace {

// The run as one worker does it.
class WorkerRun {
 public:
  // `run` is shared by the workers of a process; follow_plan() may change its parameters, which no
  // runtime with several workers in a process allows.
  WorkerRun(SettledRun& run, const Worker& worker, Runtime& runtime, Observer& observer,
            Planner* planner)
      : run_(run), worker_(worker), runtime_(runtime), observer_(observer), planner_(planner) {}

  // `ready`: null: the data is to be read.
  RunResult result(const Ready* ready) {
    for (const std::string& note : run_.notes) observer_.note(note);
    const Deployment deployment = runtime_.deployment();
    if (worker_.transport != nullptr) check_same_run(*worker_.transport, run_);
    loaded_ = ready == nullptr ? load(run_, worker_, observer_, deployment.medium)
                               : LoadedRun{*ready->part, {}, false, ready->load_s};
    if (worker_.first()) observer_.loaded(loaded_.part);
    check_replay(run_, loaded_.part);
    note_idle(loaded_.part, deployment.workers * deployment.threads, observer_);
    begin_record();
    if (ready != nullptr) result_.record.update(ready->record);
    if (run_.spec.plan && planner_ != nullptr) follow_plan();
    const auto learner = ready != nullptr && ready->make ? ready->make(run_.parameters)
                                                         : make_learner(run_, loaded_, observer_);
    if (nothing_left(run_, loaded_, *learner)) return nothing(*learner);
    on_first([&] {
      if (planner_ != nullptr) {
        result_.record["predicted"] = planner_->expect(planned(exchange_), *learner);
      }
      if (run_.spec.keeps_directory) open();
    });
    const auto twin = make_twin(run_, loaded_, runtime_.deployment());
    train(*learner, twin.get());
    note_unconverged(*learner, run_.parameters, result_.trained, observer_);
    if (worker_.first()) close();
    result_.first = worker_.first();
    return std::move(result_);
  }

 private:
  // Runs `step` on the first worker; every worker throws what it throws.
  void on_first(const std::function<void()>& step) {
    const auto mine = [&] {
      if (worker_.first()) step();
    };
    if (worker_.transport == nullptr) {
      mine();
    } else {
      agree(*worker_.transport, mine);
    }
  }

  // `exchange`: not set: open.
  PlannedRun planned(std::optional<Exchange> exchange) const {
    learn::Shape shape = shape_of(loaded_.part);
    if (loaded_.part.spread.copies > 0) {
      shape.spread = {{runtime_.deployment().workers, loaded_.part.spread}};
    }
    return {*run_.entry,
            run_.parameters,
            shape,
            static_cast<int>(loaded_.part.shards.size()),
            runtime_.deployment(),
            exchange,
            !run_.spec.parameters.contains("send"),
            run_.bound.staleness};
  }

  std::string exchange_name() const {
    const Deployment deployment = runtime_.deployment();
    if (deployment.medium == Medium::kStorage) return "storage";
    return deployment.workers == 1 ? "memory" : to_string(exchange_);
  }

  // Mirrors pay where a worker needs a small part of the total.
  Exchange default_exchange() const {
    constexpr int kWorkers = 4;
    const bool mirrors = run_.entry->mirrors && runtime_.deployment().workers >= kWorkers;
    return mirrors ? Exchange::kMirrors : Exchange::kAllreduce;
  }

  void begin_record() {
    exchange_ = run_.spec.exchange.value_or(default_exchange());
    Json& record = result_.record;
    record = {{"learner", run_.entry->name},
              {"parameters", run_.parameters},
              {"seed", run_.seed},
              {"shards", loaded_.part.shards.size()},
              {"deal", to_string(loaded_.part.deal)},
              {"runtime", runtime_.deployment().runtime},
              {"exchange", exchange_name()},
              {"staleness", run_.bound.staleness},
              {"reads", run_.is_fresh() ? "fresh" : "fixed"},
              {"replicas", run_.spec.replicas},
              {"simd", base::simd_target()},
              {"data", shape_json(loaded_.part)},
              {"seconds", {{"load", loaded_.load_s}}}};
    std::vector<std::string> paths;
    for (const fs::path& path : run_.spec.inputs) paths.push_back(path.string());
    record["data"]["paths"] = paths;
    if (run_.spec.rows) record["data"]["from"] = "memory";
    record["data"]["sha256"] = loaded_.part.sha256;
    if (!run_.eval.empty()) record["eval"] = run_.eval;
  }

  // The first worker decides: the profile of the machine lies on one host.
  void follow_plan() {
    Json chosen;
    if (worker_.transport == nullptr) {
      chosen = planner_->choose(planned(run_.spec.exchange));
    } else {
      std::string mine;
      on_first([&] {
        mine = planner_->choose(planned(run_.spec.exchange))
                   .dump(-1, ' ', false, Json::error_handler_t::replace);
      });
      const auto all = transport::all_gather(*worker_.transport, std::as_bytes(std::span(mine)));
      const auto* text = reinterpret_cast<const char*>(all.front().data());
      chosen = base::parse_json({text, all.front().size()}, "the plan of the first worker");
    }
    if (chosen.contains("send")) {
      run_.parameters["send"] = chosen["send"];
      result_.record["parameters"] = run_.parameters;
    }
    if (chosen.contains("exchange")) {
      exchange_ = exchange_of(chosen["exchange"].get<std::string>());
      result_.record["exchange"] = exchange_name();
    }
    const int workers = chosen["workers"].get<int>();
    if (runtime_.deployment().open) runtime_.use(workers);
    result_.record["plan"] = chosen;
    std::string text = fmt::format("plan: {}", base::counted(workers, "worker"));
    for (const char* name : {"exchange", "send"}) {
      if (chosen.contains(name)) {
        text += fmt::format(", {} {}", name, chosen[name].get<std::string>());
      }
    }
    observer_.note(fmt::format("{}: {}", text, chosen["why"].get<std::string>()));
  }

  // The state is the last one. A process that was killed after it wrote the state has not
  // completed run.json: that is done here.
  RunResult nothing(const learn::RoundLearner& learner) {
    on_first([&] {
      RunDirectory& directory = run_.resumed->directory;
      if (base::flag_or(directory.run(), "finished", false)) return tidy_resumed();
      lock_resumed();
      const data::SafetensorsFile& state = *run_.resumed->state;
      directory.write_run({{"status", "done"},
                           {"finished", true},
                           {"rounds", run_.resumed->rounds},
                           {"rounds_left", learner.rounds_left()},
                           {"stopped_because", learn::ended_of(state).because},
                           {"model_sha256", data::sha256(learn::learned_tensors(state))},
                           {"ended", base::iso_time()}});
      directory.remove_checkpoints();
    });
    result_.first = worker_.first();
    result_.nothing_left = true;
    result_.record = run_.resumed->directory.run();
    result_.directory = run_.spec.resume;
    return std::move(result_);
  }

  // Removes what killed writers left, where that is possible: the run itself is complete.
  void tidy_resumed() {
    try {
      run_.resumed->directory.lock();
    } catch (const Error&) {
    }
  }

  bool continues_in_place() const {
    std::error_code error;
    return run_.resumed && fs::equivalent(run_.spec.out, run_.spec.resume, error);
  }

  // The run was read before it was locked, and the data was read in between.
  void lock_resumed() {
    RunDirectory& directory = run_.resumed->directory;
    directory.lock();
    const auto seal_of = [](const data::SafetensorsFile& file) {
      const auto found = file.metadata().find(data::kSeal);
      return found == file.metadata().end() ? "" : found->second;
    };
    if (!run_.resumed->state) return;
    const fs::path& path = run_.resumed->state_path;
    if (fs::exists(path) && seal_of(data::SafetensorsFile(path)) == seal_of(*run_.resumed->state)) {
      return;
    }
    throw Error(ErrorKind::kFailed, "{}: another process went on with it meanwhile; try again",
                run_.spec.resume.string());
  }

  void open() {
    Json fields = result_.record;
    fields.update(Json{{"versions", base::versions()},
                       {"command", run_.spec.command},
                       {"machine", base::machine()},
                       {"started", base::iso_time()},
                       {"ended", nullptr}});
    if (run_.resumed) {
      fields["resumed"] = {{"from", run_.spec.resume.string()}, {"rounds", run_.resumed->rounds}};
    }
    if (continues_in_place()) {
      lock_resumed();
      // Before run.json forgets the hash by which a state without a seal is known.
      if (run_.resumed->state) run_.resumed->seal_state(run_.resumed->state_path);
      directory_.emplace(run_.resumed->directory);
      // Data that does not fit the run leaves its record as it was.
      directory_->remember(fields);
    } else if (run_.resumed && run_.resumed->state) {
      // Until the state is there, run.json does not say what to begin again.
      directory_.emplace(RunDirectory::create(run_.spec.out));
      copy_resumed();
      directory_->write_run(fields);
    } else {
      directory_.emplace(RunDirectory::create(run_.spec.out, fields));
    }
    result_.directory = directory_->path();
    result_.aside = directory_->aside();
  }

  // So that the new directory can be resumed by itself.
  void copy_resumed() {
    const fs::path& state = run_.resumed->state_path;
    const fs::path checkpoints = directory_->path() / "checkpoints";
    fs::create_directories(checkpoints);
    const fs::path metrics = run_.resumed->directory.path() / "metrics.jsonl";
    if (fs::exists(metrics)) {
      base::write_file(directory_->path() / "metrics.jsonl", base::read_file(metrics));
    }
    if (const auto memory = saved_memory(*run_.resumed->state)) {
      fs::copy(state.parent_path() / memory->folder, checkpoints / memory->folder,
               fs::copy_options::recursive);
    }
    // The state last: with it, all that it names is there.
    run_.resumed->seal_state(checkpoints /
                             fmt::format("round-{:08}.safetensors", run_.resumed->rounds));
  }

  void train(learn::RoundLearner& learner, learn::RoundLearner* twin) {
    Training training{run_.spec, *run_.entry, run_.parameters, learner, loaded_.part, observer_};
    training.twin = twin, training.replayed = run_.replayed.get();
    if (loaded_.eval) training.eval = &*loaded_.eval;
    training.seed = run_.seed;
    training.staleness = run_.bound.staleness;
    training.clocks = clock_options(run_, loaded_.part);
    training.resumed = run_.resumed.has_value();
    training.rounds_done = run_.resumed ? run_.resumed->rounds : 0;
    if (run_.resumed && run_.resumed->state) {
      training.metrics_lines = learn::metrics_lines_of(*run_.resumed->state);
    }
    if (run_.resumed && !loaded_.other_data) training.resumed_from = run_.resumed->state_path;
    training.exchange = exchange_;
    const Json predicted = result_.record.value("predicted", Json::object());
    if (predicted.contains("seconds")) training.predicted = predicted;
    training.directory = directory_ ? &*directory_ : nullptr;
    try {
      Trained trained = runtime_.train(worker_, training);
      result_.trained = std::move(trained.result);
      result_.record.update(trained.record);
    } catch (...) {
      // Without a status no round began: the data does not fit the parameters.
      const bool created = directory_ && !continues_in_place();
      if (created && !directory_->run().contains("status")) directory_->discard();
      throw;
    }
  }

  void close() {
    TrainResult& trained = result_.trained;
    Json& record = result_.record;
    record["peak_rss_bytes"] = base::peak_rss_bytes();
    if (directory_) record["out"] = directory_->path().string();
    result_.model = std::move(trained.model);
    Json fields = {{"ended", base::iso_time()},
                   {"seconds", record["seconds"]},
                   {"peak_rss_bytes", record["peak_rss_bytes"]}};
    const Json bill = record.value("bill", Json());
    if (planner_ != nullptr) {
      if (const auto compared = planner_->compare(trained, loaded_.load_s, bill)) {
        record["audit"] = fields["audit"] = compared->audit;
        result_.compared = compared->text;
        if (!compared->note.empty()) observer_.note(compared->note);
      }
    }
    const auto keep = [&](const std::string& name) {
      if (trained.record.contains(name)) record[name] = fields[name] = trained.record[name];
    };
    keep("chosen");
    for (const std::string& name : run_.entry->measures_in_json) keep(name);
    if (directory_) directory_->write_run(fields);
    record_end(record, trained);
  }

  SettledRun& run_;
  const Worker& worker_;
  Runtime& runtime_;
  Observer& observer_;
  Planner* planner_;
  LoadedRun loaded_;
  Exchange exchange_ = Exchange::kAllreduce;
  std::optional<RunDirectory> directory_;  // of the first worker
  RunResult result_;
};

// With the run directory to write.
SettledRun settle_with_out(const RunSpec& spec, const learn::Registry& registry) {
  SettledRun run = settle(spec, registry);
  if (!spec.keeps_directory) return run;
  fs::path& out = run.spec.out;
  if (out.empty()) out = run.resumed ? spec.resume : next_run(spec.learner);
  if (!spec.out.empty() || !run.resumed) check_out(out);
  return run;
}

}  // namespace

void check(const RunSpec& spec, const learn::Registry& registry) {
  settle_with_out(spec, registry);
}

RunResult run(const RunSpec& spec, const learn::Registry& registry, Runtime& runtime,
              Observer& observer, Planner* planner, const Ready* ready) {
  runtime.check(spec);
  SettledRun settled = settle_with_out(spec, registry);
  check_replicas(spec, runtime.deployment());
  Observer silent;
  OnlyStops only_stops(observer);
  RunResult result;
  runtime.each_worker([&](const Worker& worker) {
    Observer& watches = worker.first()   ? observer
                        : worker.reports ? static_cast<Observer&>(only_stops)
                                         : silent;
    try {
      RunResult done = WorkerRun(settled, worker, runtime, watches, planner).result(ready);
      if (worker.reports) result = std::move(done);
    } catch (const std::bad_alloc&) {
      throw out_of_memory(settled);
    } catch (const std::length_error&) {
      throw out_of_memory(settled);
    }
  });
  return result;
}

}  // namespace meanwhile::job
