// The program with one learner more, which has shard memory: chaos/workers.py kills its workers.
#include "meanwhile/cli/run_program.h"
#include "test/job/memory_entry.h"

int main(int argc, char** argv) {
  return meanwhile::cli::run_program({argv, argv + argc}, meanwhile::job::registry_with_memory());
}
