#include "meanwhile/python/session.h"

#include "meanwhile/job/round_log.h"
#include "meanwhile/python/values.h"
#include "meanwhile/runtime/threads.h"

namespace meanwhile::python {

namespace {

base::Json line_of(const job::RoundEvent& event) {
  base::Json line;
  if (event.outcome.phase == learn::Phase::kTrain) {
    line["round"] = event.round;
  } else {
    line["phase"] = event.outcome.phase == learn::Phase::kScore ? "score" : "prepare";
  }
  line["objective"] = event.outcome.objective;
  if (event.outcome.record.is_object()) line.update(event.outcome.record);
  line["rounds_left"] = event.rounds_left;
  line["seconds"] = event.seconds;
  line["elapsed_s"] = event.elapsed_s;
  return line;
}

}  // namespace

void Session::loaded(const data::Part& part) {
  address = std::visit([](const auto& m) { return reinterpret_cast<std::uintptr_t>(m.values); },
                       part.data.x);
}

void Session::round(const job::RoundEvent& event) {
  if (event.outcome.phase == learn::Phase::kPrepare) return;
  history.push_back(line_of(event));
  if (callback_.is_none()) return;
  watch_.on_caller([this] {
    const nb::object answer = callback_(to_python(history.back()));
    if (answer.ptr() == Py_True) watch_.request_stop();
  });
}

job::RunResult Session::run(const job::RunSpec& spec, int threads) {
  job::RunResult result;
  watch_.run([&] {
    runtime::Threads runtime({.threads = threads});
    result = job::run(spec, learn::standard_registry(), runtime, *this);
  });
  return result;
}

}  // namespace meanwhile::python
