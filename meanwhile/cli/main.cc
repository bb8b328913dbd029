#include "meanwhile/cli/run_program.h"

int main(int argc, char** argv) {
  return meanwhile::cli::run_program({argv, argv + argc}, meanwhile::learn::standard_registry());
}
