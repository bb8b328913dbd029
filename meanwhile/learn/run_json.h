// run.json, the record of a run directory, as a sealed file. job/run_directory.h says what is in
// it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "meanwhile/base/json.h"

namespace meanwhile::learn {

// How sealed files are read, and what there is to say of them.
struct Reading {
  bool unsealed = false;                // take a file whose seal is broken or missing
  std::vector<std::string> notes = {};  // for the user: sentences without full stops
};

// Version 0.1.0 sealed nothing: its run.json is taken as it is, its states by their hash there.
inline constexpr char kUnsealedVersion[] = "0.1.0";

// Throws Error(kInput) "FILE: WRONG", or adds that to the notes when `reading` says so.
void refuse_unsealed(const std::filesystem::path& file, const std::string& wrong, Reading& reading);

// The record of the run directory `run`. THROWS Error(kInput) when it is missing, no JSON object,
// or not what the program wrote.
base::Json read_run_json(const std::filesystem::path& run, Reading& reading);

// Replaces it whole; adds version and seal.
void write_run_json(const std::filesystem::path& run, const base::Json& record);

}  // namespace meanwhile::learn
