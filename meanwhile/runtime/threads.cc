#include "meanwhile/runtime/threads.h"

#include <exception>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/transport/threads.h"

namespace meanwhile::runtime {

using base::Error;
using base::ErrorKind;
using job::Worker;

namespace {

// Tells the other workers before it throws.
void run_worker(const std::function<void(const Worker&)>& body, const Worker& worker) {
  try {
    body(worker);
  } catch (const Error& e) {
    worker.transport->fail(e.kind(), e.what());
    throw;
  } catch (const std::exception& e) {
    worker.transport->fail(ErrorKind::kFailed, e.what());
    throw;
  }
}

}  // namespace

Threads::Threads(const Options& options) : options_(options) {
  if (options_.threads == 0) options_.threads = base::hardware_threads();
}

job::Deployment Threads::deployment() const {
  const int n = options_.threads;
  return {"threads",
          job::Medium::kMemory,
          options_.as_workers ? n : 1,
          options_.as_workers ? 1 : n,
          1,
          !options_.fixed && !options_.as_workers};
}

void Threads::check(const job::RunSpec& spec) const {
  if (spec.plan && options_.as_workers) {
    throw Error(ErrorKind::kUsage, "{}: threads have no exchange to choose; leave {} out",
                base::parameter("plan"), base::parameter("exchange"));
  }
}

void Threads::each_worker(const std::function<void(const Worker&)>& body) {
  if (!options_.as_workers) return body({nullptr, options_.threads});
  transport::ThreadGroup group(options_.threads, options_.timeout_s);
  const auto other = [&](int number) {
    try {
      run_worker(body, {&group.member(number + 1), 1, false});
    } catch (const std::exception&) {  // the first worker throws the same
    }
  };
  const base::JoinThreads join(base::start_threads(options_.threads - 1, other, [&] {
    group.member(0).fail(ErrorKind::kSystem, "cannot start the other workers");
  }));
  run_worker(body, {&group.member(0), 1});
}

job::Trained Threads::train(const Worker& worker, const job::Training& training) {
  return job::train_here(worker, training, deployment().threads);
}

}  // namespace meanwhile::runtime
