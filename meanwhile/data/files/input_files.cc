#include "meanwhile/data/files/input_files.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/data/files/readers.h"

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

InputFile find_format(const fs::path& path, const ReadOptions& options) {
  InputFile file;
  file.path = path;
  std::error_code failure;
  const bool regular = path != "-" && fs::is_regular_file(path, failure);
  file.plain = regular && !is_compressed(path);
  file.reader = options.format != nullptr ? options.format : reader_of_name(path);
  if (!regular || file.reader == nullptr) {
    auto source = std::make_shared<TextSource>(path);
    constexpr std::size_t kEnough = 64 << 10;
    if (file.reader == nullptr) {
      try {
        file.reader = &reader_of_content(source->head(kEnough), options.expect_documents);
      } catch (Error& e) {
        throw e.in(path.string());
      }
    }
    if (!regular) file.opened = std::move(source);
  }
  return file;
}

}  // namespace

std::vector<InputFile> find_inputs(const std::vector<fs::path>& paths, const ReadOptions& options) {
  if (paths.empty()) throw Error(ErrorKind::kUsage, "no file to read");
  if (std::count(paths.begin(), paths.end(), "-") > 1) {
    throw Error(ErrorKind::kUsage, "-: standard input can be read only once");
  }
  std::vector<InputFile> files;
  for (const fs::path& path : paths) {
    std::error_code failure;
    if (path != "-" && !fs::exists(path, failure)) {
      throw Error(ErrorKind::kInput, "{}: {}", path.string(),
                  failure ? failure.message() : "No such file or directory");
    }
    if (path != "-" && fs::is_directory(path, failure)) {
      for (const fs::path& file : files_in(path)) files.push_back(find_format(file, options));
    } else {
      files.push_back(find_format(path, options));
    }
  }
  return files;
}

std::vector<TextInput> text_inputs(const std::vector<InputFile>& files) {
  std::vector<TextInput> inputs;
  for (const InputFile& file : files) {
    auto opened = file.held ? std::make_shared<TextSource>(file.path, file.held) : file.opened;
    inputs.push_back({file.path, std::move(opened), {}});
  }
  return inputs;
}

BinaryFile open_binary(const InputFile& file, const ReadOptions& options) {
  BinaryFile contents;
  contents.check_seals = options.check_seals;
  contents.unsealed = options.unsealed;
  contents.name = display_name(file.path);
  contents.mapped = file.plain;
  if (file.plain) {
    auto mapping = std::make_shared<const base::MappedFile>(file.path);
    contents.bytes = mapping->bytes();
    contents.owner = std::move(mapping);
  } else {
    auto source = file.opened ? file.opened : std::make_shared<TextSource>(file.path);
    auto buffer =
        std::make_shared<const base::Buffer<std::byte>>(source->rest(options.threads.stop));
    contents.bytes = buffer->span();
    contents.owner = std::move(buffer);
  }
  if (contents.bytes.empty()) {
    throw Error(ErrorKind::kInput, "{}: has no rows: it is empty", contents.name);
  }
  return contents;
}

}  // namespace meanwhile::data
