#include "meanwhile/runtime/storage/first_slices.h"

#include <system_error>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/job/table_engine.h"
#include "meanwhile/learn/metadata.h"
#include "meanwhile/learn/table_work.h"
#include "meanwhile/runtime/storage/checked.h"
#include "meanwhile/runtime/storage/result.h"

namespace meanwhile::runtime {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;

namespace {

// Calls use(table, slice, version) for all slices that are not zero.
template <class Use>
void each_slice(const tables::TableSet& set, const SliceVersions& versions, const Use& use) {
  for (std::size_t t = 0; t < set.tables.size(); ++t) {
    for (int slice = 0; slice < set.slices[t].count(); ++slice) {
      const int table = static_cast<int>(t);
      const SliceVersion version = versions.at(set.index(table, slice));
      if (!version.is_zero()) use(table, slice, version);
    }
  }
}

}  // namespace

std::optional<FirstSlices> FirstSlices::of(const Submission& submission) {
  learn::TableWork* const work = submission.learner.table_work();
  if (work == nullptr) return std::nullopt;
  tables::TableSet set(work->tables());
  const auto saved =
      job::saved_tables(submission.learner.name(), submission.resumed_from, submission.rounds_done);
  if (!saved) {
    SliceVersions zeros(set);
    return FirstSlices(std::move(set), std::move(zeros), {});
  }
  const fs::path folder = saved->folder;
  tables::check_digests(set, saved->digests, submission.resumed_from.string());
  SliceVersions versions(saved->digests);
  each_slice(set, versions, [&](int table, int slice, const SliceVersion& version) {
    tables::read_slice(set, table, slice, folder, version.digest);
  });
  return FirstSlices(std::move(set), std::move(versions), folder);
}

void FirstSlices::put(storage::BlobStore& blobs, const Names& names, base::ThreadPool& pool) const {
  std::vector<std::pair<int, int>> all;
  each_slice(set_, versions_,
             [&](int table, int slice, const SliceVersion&) { all.emplace_back(table, slice); });
  pool.run(std::ssize(all), [&](std::int64_t i, int) {
    const int table = all[static_cast<std::size_t>(i)].first,
              slice = all[static_cast<std::size_t>(i)].second;
    const tables::Table& of = set_.tables[static_cast<std::size_t>(table)];
    const auto content = tables::read_slice(set_, table, slice, folder_,
                                            versions_.at(set_.index(table, slice)).digest);
    blobs.put(names.slice(of.name, slice, 0),
              seal(content->tensors(), tables::slice_metadata(of, slice)));
  });
}

void fetch_slices(storage::BlobStore& blobs, const Names& names, const data::SafetensorsFile& model,
                  const fs::path& folder, base::Clock& clock) {
  const base::Json about = learn::metadata_json(model, "about", "a model");
  const tables::TableSet set = tables::set_from_json(base::member_or_null(about, "tables"));
  const SliceVersions versions(model);
  versions.check(set, names.model());
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Error(ErrorKind::kSystem, "{}: {}", folder.string(), error.message());
  each_slice(set, versions, [&](int table, int slice, const SliceVersion& version) {
    const tables::Table& of = set.tables[static_cast<std::size_t>(table)];
    const std::string name = names.slice(of.name, slice, version.step);
    const Sealed blob = result_blob(blobs, name, clock);
    if (tables::digest_of(blob.file.tensors()) != version.digest) {
      throw Error(ErrorKind::kFailed, "{}/{}: is not the slice that the model names", blobs.name(),
                  name);
    }
    data::write_safetensors(tables::slice_file(folder, of, slice), blob.file.tensors(),
                            tables::slice_metadata(of, slice));
  });
}

}  // namespace meanwhile::runtime
