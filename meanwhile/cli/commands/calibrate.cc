// meanwhile calibrate: measures this machine, or with mpirun these, and writes the profile.
#include "meanwhile/plan/calibrate.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "meanwhile/base/clock.h"
#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/base/host.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/base/simd.h"
#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/flags/cluster.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/flags/plan_flags.h"
#include "meanwhile/cli/flags/store_flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/progress.h"
#include "meanwhile/cli/output/show.h"
#include "meanwhile/learn/registry.h"

namespace meanwhile::cli {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;

namespace {

class Calibrate {
 public:
  static constexpr bool kOfManyRanks = true;

  Calibrate(const FlagTable& table, const learn::Registry& registry) {
    table.text("--out", out_, "profile to write (default: your own, which plan and train then use)")
        .type("FILE");
    table.whole("--threads", threads_, "number of threads; 0: all that the machine has", 0);
    table.toggle("--quick", quick_,
                 "measure a few shapes of k-means and svm only: seconds instead of a minute");
    table.choice("--learner", learner_, registry.names(),
                 "measure this learner only (default: all)");
    table.real("--seconds", seconds_,
               "seconds that a measured round should take; raise it on a machine that is "
               "shared or works in bursts",
               1e-4);
    table.choice("--simd", simd_, base::simd_targets(),
                 "use at most this instruction set; results do not change");
    table.real("--timeout", timeout_, "seconds to wait for a silent rank", 0.1);
    store_.add_to(table, false);
    store_.add_prices(table);
    table.footer(
        "\nexamples:\n"
        "  meanwhile calibrate --out here.toml\n"
        "  mpirun -n 8 meanwhile calibrate --out mycluster.toml\n"
        "  meanwhile calibrate --store azure://account/container/try --out cloud.toml\n"
        "\nWith mpirun, a worker of the profile is a rank, and the network between ranks is\n"
        "measured; with --store, the store is, by all ranks at once, too.\n");
  }

  int run(const Context& context);

 private:
  int measure(const Context& context, transport::Transport* transport);
  std::string summary(const plan::Machine& machine, double seconds) const;

  std::string out_;
  int threads_ = 0;
  bool quick_ = false;
  std::string simd_, learner_;
  double seconds_ = plan::CalibrateOptions{}.seconds;
  double timeout_ = transport::kDeadlineSeconds;
  StoreFlags store_;
};

int Calibrate::run(const Context& context) {
  if (out_.empty()) out_ = own_machine_path();
  if (out_.empty()) throw Error(ErrorKind::kUsage, "--out: there is no home; name a file");
  if (!simd_.empty()) base::limit_simd(simd_);
  if (store_.given()) store_.check();
  const Launched launch = launched();
  if (threads_ == 0) threads_ = std::max(1, base::hardware_threads() / launch.local_size);
  // Whether it can be written is known before anything is measured.
  const fs::path folder = fs::absolute(out_).parent_path();
  std::error_code error;
  if (launch.rank == 0) {
    if (fs::is_directory(out_, error) || fs::path(out_).filename().empty()) {
      throw Error(ErrorKind::kUsage, "--out: {} is a directory; expected a file such as here.toml",
                  out_);
    }
    fs::create_directories(folder, error);
    if (!fs::is_directory(folder, error)) {
      throw Error(ErrorKind::kUsage, "--out: {} is not a directory", folder.string());
    }
    try {
      base::FileWriter trial(out_);  // has a name of its own, and leaves nothing
    } catch (const Error& e) {
      throw Error(e.kind(), "--out: {} cannot be written: {}", out_, e.what());
    }
  }
  if (launch.size == 1) return measure(context, nullptr);
  Cluster cluster(timeout_);
  try {
    return measure(context, &cluster.world());
  } catch (const Error& e) {
    cluster.give_up(context.console, e, exit_code(e));
  }
}

int Calibrate::measure(const Context& context, transport::Transport* transport) {
  Progress progress(context.console);
  const double begin_s = base::now_s();
  plan::CalibrateOptions options;
  options.quick = quick_;
  options.learner = learner_;
  options.seconds = seconds_;
  options.threads = threads_;
  options.folder = fs::absolute(out_).parent_path();
  options.transport = transport;
  options.say = [&](const std::string& what) { progress.step("measuring " + what); };
  std::unique_ptr<OpenStore> opened;
  if (store_.given()) {
    store_.create_container();
    opened = store_.open();
    options.blobs = opened->store.blobs.get();
    options.notice = 0.5 / store_.polls_per_task_s();
  }
  plan::Machine machine = plan::calibrate(context.registry, options);
  if (opened) store_.tidy();
  progress.clear();
  const base::Json here = base::machine();
  machine.description = fmt::format(
      "{}, {}, measured {}{}", here.value("cpu", ""), base::counted(threads_, "thread"),
      base::iso_time(),
      transport == nullptr
          ? ""
          : fmt::format(", a worker is one of {}", base::counted(transport->size(), "rank")));
  machine.price.hour = store_.prices().per_hour;
  machine.price.million_requests = store_.prices().per_million_requests;
  if (transport != nullptr && transport->rank() > 0) return kExitDone;
  std::string text = "# Made by 'meanwhile calibrate'. Seconds, bytes, operations a second.\n";
  text += plan::to_toml(machine);
  base::write_file(out_, text);
  // The history of runs belongs to the profile before.
  std::error_code error;
  fs::remove(plan::history_path(out_), error);
  context.console.say(summary(machine, base::now_s() - begin_s));
  return kExitDone;
}

// Formats the time of a wait or a request.
std::string short_time(double seconds) {
  return seconds < 0.01 ? fmt::format("{:.1f} µs", 1e6 * seconds) : duration(seconds);
}

std::string Calibrate::summary(const plan::Machine& machine, double seconds) const {
  const auto per_second = [](double value) {
    return bytes_shown(static_cast<std::int64_t>(value)) + "/s";
  };
  std::string text =
      fmt::format("{} of learners, memory {}, disk {}", base::counted(machine.rates.size(), "rate"),
                  per_second(machine.memory), per_second(machine.disk));
  if (machine.cores > 1) {
    text += fmt::format(", {} threads are {:.2f} times one", machine.cores,
                        machine.cores * machine.together);
  }
  if (machine.network) {
    text +=
        fmt::format("\nnetwork {}, {} a wait, {} a message", per_second(machine.network->bandwidth),
                    short_time(machine.network->latency), short_time(machine.network->per_message));
  }
  if (machine.storage) {
    text += fmt::format("\nstorage: reads {}, writes {}, {} a request{}",
                        per_second(machine.storage->read), per_second(machine.storage->write),
                        short_time(machine.storage->latency),
                        machine.storage->aggregate > 0
                            ? fmt::format(", {} for all", per_second(machine.storage->aggregate))
                            : "");
  }
  return fmt::format("{}\nprofile: {} (after {})\n", text, out_, duration(seconds));
}

}  // namespace

Command add_calibrate(const FlagTable& program, const learn::Registry& registry) {
  return make_command<Calibrate>(program.command("calibrate", "measure this machine for plans"),
                                 registry);
}

}  // namespace meanwhile::cli
