// Messages of the queue, one a line: tasks of the job, or nothing.
#include "meanwhile/runtime/storage/leases.h"
#include "test/fuzz/store_fuzz.h"

namespace fuzz = meanwhile::fuzz;
namespace runtime = meanwhile::runtime;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const runtime::JobRecord job = fuzz::small_job();
  fuzz::MemoryQueue queue;
  std::string body;
  for (std::size_t i = 0; i < size && queue.bodies.size() < 32; ++i) {
    if (bytes[i] != '\n') body += static_cast<char>(bytes[i]);
    if (bytes[i] == '\n' || i + 1 == size) queue.bodies.push_back(std::exchange(body, ""));
  }
  // The id is a hash that the fuzzer would have to guess.
  for (std::string& text : queue.bodies) {
    const std::size_t at = text.find("ID");
    if (at != text.npos) text.replace(at, 2, job.id);
  }
  runtime::Leases leases(queue, job);
  for (const runtime::Task& task : leases.take(100).tasks) {
    const int end = task.kind == runtime::Task::Kind::kShard ? job.shards() : job.layout().groups;
    if (task.index < 0 || task.index >= end) fuzz::fail("a task that the job does not have");
  }
  leases.renew_all();
  leases.give_back_all();
  return 0;
}
