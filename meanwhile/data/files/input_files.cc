#include "meanwhile/data/files/input_files.h"

#include <algorithm>
#include <system_error>

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/detect.h"

namespace meanwhile::data {

namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(folder, failure)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_regular_file() || name.starts_with('.') || name.starts_with('_')) continue;
    files.push_back(entry.path());
  }
  if (failure) {
    throw Error(ErrorKind::kInput, "{}: {}", folder.string(), failure.message());
  }
  if (files.empty()) {
    throw Error(ErrorKind::kInput, "{}: is a directory with no files in it", folder.string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

InputFile find_format(const fs::path& path, Format format, Format fallback) {
  InputFile file;
  file.path = path;
  std::error_code failure;
  const bool regular = path != "-" && fs::is_regular_file(path, failure);
  file.plain = regular && path.extension() != ".gz" && path.extension() != ".zst";
  file.format = format == Format::kAuto ? format_of_name(path) : format;
  if (!regular || file.format == Format::kAuto) {
    auto source = std::make_shared<TextSource>(path);
    constexpr std::size_t kEnough = 64 << 10;
    if (file.format == Format::kAuto) {
      file.format = format_of_content(source->head(kEnough), fallback);
    }
    if (!regular) file.opened = std::move(source);
  }
  return file;
}

}  // namespace

std::vector<InputFile> find_inputs(const std::vector<fs::path>& paths, Format format,
                                   Format fallback) {
  if (paths.empty()) throw Error(ErrorKind::kUsage, "no file to read");
  if (std::count(paths.begin(), paths.end(), "-") > 1) {
    throw Error(ErrorKind::kUsage, "-: standard input can be read once only");
  }
  std::vector<InputFile> files;
  for (const fs::path& path : paths) {
    std::error_code failure;
    if (path != "-" && !fs::exists(path, failure)) {
      throw Error(ErrorKind::kInput, "{}: {}", path.string(),
                  failure ? failure.message() : "No such file or directory");
    }
    if (path != "-" && fs::is_directory(path, failure)) {
      for (const fs::path& file : files_in(path))
        files.push_back(find_format(file, format, fallback));
    } else {
      files.push_back(find_format(path, format, fallback));
    }
  }
  return files;
}

}  // namespace meanwhile::data
