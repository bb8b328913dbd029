// Slices of tables that a job has left at its store.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "meanwhile/learn/metadata.h"
#include "meanwhile/runtime/storage/result.h"
#include "meanwhile/runtime/storage/slice_versions.h"

namespace meanwhile::runtime {

// The slices at the store that are not those of the model, and those of the model that are not
// there.
inline std::vector<std::string> wrong_slices(storage::BlobStore& blobs, const JobRecord& record,
                                             const data::SafetensorsFile& model,
                                             base::Clock& clock) {
  const Names names = record.names();
  std::set<std::string> left;
  for (const storage::BlobInfo& blob : blobs.list(names.tables())) left.insert(blob.name);
  std::vector<std::string> wrong;
  if (model.has(tables::kDigests)) {
    const base::Json about = learn::metadata_json(model, "about", "a model");
    const tables::TableSet set = tables::set_from_json(about.at("tables"));
    const SliceVersions versions(model);
    for (std::size_t t = 0; t < set.tables.size(); ++t) {
      for (int slice = 0; slice < set.slices[t].count(); ++slice) {
        const SliceVersion version = versions.at(set.index(static_cast<int>(t), slice));
        if (version.is_zero()) continue;
        const std::string name = names.slice(set.tables[t].name, slice, version.step);
        const Sealed blob = result_blob(blobs, name, clock);
        if (tables::digest_of(blob.file.tensors()) != version.digest) wrong.push_back(name);
        left.erase(name);
      }
    }
  }
  wrong.insert(wrong.end(), left.begin(), left.end());
  return wrong;
}

}  // namespace meanwhile::runtime
