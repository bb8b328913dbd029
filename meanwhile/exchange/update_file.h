// Updates as tensors of a file: blobs of a store, and totals in a learner's state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "meanwhile/data/safetensors.h"
#include "meanwhile/exchange/update.h"

namespace meanwhile::exchange {

// The tensors of an update: PREFIX0 with all values of block 0; or PREFIX0.values and
// PREFIX0.places, which are rows of a sparse block and values of a dense one.
class UpdateTensors {
 public:
  // Borrows `update`, which is settled.
  explicit UpdateTensors(const Update& update, std::string prefix = {});
  UpdateTensors(const UpdateTensors&) = delete;
  UpdateTensors& operator=(const UpdateTensors&) = delete;

  // They live as long as this object and the update.
  const std::map<std::string, data::Tensor>& tensors() const { return tensors_; }

 private:
  template <class T>
  void add(const Update& update, int block);
  template <class T>
  void put(int block, const std::vector<T>& values, std::vector<std::int64_t> at,
           std::int64_t width);

  const std::string prefix_;
  std::map<std::string, data::Tensor> tensors_;
  std::deque<std::vector<std::byte>> owned_;
  std::deque<std::vector<std::int64_t>> places_;
};

// Fills `update`, which must be cleared; it is settled afterwards. False when the file holds no
// update of this shape under that prefix. THROWS Error(kInput) for tensors of another type.
bool read_update(const data::SafetensorsFile& file, const std::string& prefix, Update& update);

}  // namespace meanwhile::exchange
