// Blobs of tables at a store, with a right seal and the right digest: a slice, and what a shard
// adds to slices. They are refused, or give slices that can be put and read again.
//
// The first byte chooses: a safetensors file follows, or numbers, which become the tensors of a
// slice or of a delta without the fuzzer having to find a header.
#include "meanwhile/job/run_directory.h"
#include "meanwhile/runtime/storage/table_step.h"
#include "test/fuzz/bytes_taken.h"
#include "test/fuzz/store_fuzz.h"

namespace data = meanwhile::data;
namespace fuzz = meanwhile::fuzz;
namespace learn = meanwhile::learn;
namespace runtime = meanwhile::runtime;
namespace tables = meanwhile::tables;
using meanwhile::exchange::Update;

namespace {

constexpr int kShards = 2;

// Tables of all kinds of numbers, dense and sparse. Does nothing.
class Tables final : public learn::RoundLearner, private learn::TableWork {
 public:
  std::string name() const override { return "tables"; }
  std::int64_t rounds_left() const override { return 1; }
  learn::Cost cost(const learn::Shape&) const override { return {}; }
  learn::State state() const override { return {}; }
  void restore(const data::SafetensorsFile&) override {}
  void attach(const learn::Attachment&) override {}
  meanwhile::exchange::UpdateShape update_shape() const override { return {{.rows = 1}}; }
  void work(int, learn::ShardMemory&, Update&) override {}
  learn::Outcome absorb(const Update&) override { return {}; }
  learn::TableWork* table_work() override { return this; }

  std::vector<tables::Table> tables() const override {
    using tables::Number;
    return {{"small", 40, 3, Number::kInt32, 1, false},
            {"counts", 40, 5, Number::kInt64, 1, true},
            {"fixed", 20, 2, Number::kFixed, 0.5, false},
            {"reals", 40, 2, Number::kFloat64, 1, false},
            {"pairs", 20, 4, Number::kFloat64, 1, true}};
  }

 private:
  void wants(int, tables::Wants&) const override {}
  void work(int, learn::ShardMemory&, const tables::View&, tables::Delta&, Update&) override {}
};

runtime::JobRecord job() {
  runtime::JobRecord job = fuzz::small_job();
  job.data.shard_rows.assign(kShards, 2);
  job.data.shard_stored.assign(kShards, 6);
  runtime::settle_id(job);
  return job;
}

// A worker before the first step, all of whose slices are zero.
struct Worker {
  fuzz::MemoryBlobs blobs;
  runtime::JobRecord record = job();
  meanwhile::base::ThreadPool pool{1};
  data::Part part;
  runtime::SliceBlobs slices{blobs, record, 1 << 20};
  std::unique_ptr<runtime::StoredTables> learner;

  Worker() {
    const tables::TableSet set(Tables().tables());
    learn::State state;
    const runtime::SliceVersions zero(set);
    zero.add_to(state, set);  // which borrows
    const auto file = meanwhile::job::state_file(state, 0, "");
    const auto bytes = data::safetensors_bytes(file.tensors, file.metadata);
    learner = std::make_unique<runtime::StoredTables>(std::make_unique<Tables>(), slices,
                                                      data::SafetensorsFile(bytes, "state"));
    learner->attach({&part, nullptr, 1, false, &pool});
    blobs.put(record.names().ready(), {});
  }
};

// The slice of this version can be had by a worker that never saw it.
void expect_readable(Worker& worker, int table, int slice, const runtime::SliceVersion& version) {
  runtime::SliceBlobs others(worker.blobs, worker.record, 1 << 20);
  const auto again = others.get(worker.learner->set(), table, slice, version);
  if (again == nullptr) fuzz::fail("a slice that was put cannot be read");
  for (std::int64_t row = 0;
       row < worker.learner->set().slices[static_cast<std::size_t>(table)].rows_of(slice); ++row) {
    const tables::RowValues values = again->row(row);
    for (std::int32_t i = 0; values.columns != nullptr && i < values.count; ++i) {
      const auto width = worker.learner->set().tables[static_cast<std::size_t>(table)].width;
      if (values.columns[i] < 0 || values.columns[i] >= width) fuzz::fail("a column out of range");
    }
  }
}

void read_slice(const data::SafetensorsFile& file, int table) {
  Worker worker;
  const tables::TableSet& set = worker.learner->set();
  constexpr int kSlice = 3;
  const std::string name =
      worker.record.names().slice(set.tables[static_cast<std::size_t>(table)].name, kSlice, 4);
  worker.blobs.put(name, runtime::seal(file.tensors(), {}));
  worker.slices.look(4, 0);
  const auto slice = worker.slices.get(set, table, kSlice, {tables::digest_of(file.tensors()), 4});
  if (slice == nullptr) return;
  expect_readable(worker, table, kSlice, worker.slices.put(set, table, kSlice, 5, slice));
}

void add_delta(const data::SafetensorsFile& file) {
  Worker worker;
  const runtime::Names names = worker.record.names();
  const int bins = worker.record.layout().bins();
  for (int bin = 0; bin < bins; ++bin) {
    worker.blobs.put(names.delta(0, bin, 0), runtime::seal(file.tensors(), {}));
  }
  worker.slices.look(0, 0);
  runtime::TableStep step(worker.blobs, worker.record, 0, *worker.learner, worker.pool);
  step.look();
  for (int shard = 0; shard < kShards; ++shard) {
    step.put(shard, Update(worker.learner->update_shape()), {});
  }
  const tables::TableSet& set = worker.learner->set();
  for (int shard = 0; shard < kShards; ++shard) {
    const auto update = step.finish(shard, 0);
    if (!update) continue;
    runtime::SliceVersions versions(set);
    versions.take(*update, worker.learner->version_block());
    for (int table = 0; table < std::ssize(set.tables); ++table) {
      for (int slice = 0; slice < set.slices[static_cast<std::size_t>(table)].count(); ++slice) {
        const runtime::SliceVersion version = versions.at(set.index(table, slice));
        if (!version.is_zero()) expect_readable(worker, table, slice, version);
      }
    }
  }
}

// Values of `table` as bytes, and places of a sparse one.
void read_slice_of_numbers(fuzz::BytesTaken from, int table) {
  const tables::Table of = Tables().tables()[static_cast<std::size_t>(table)];
  std::vector<std::int64_t> starts(from.count());
  for (std::int64_t& start : starts) start = from.small();
  std::vector<std::int32_t> columns(from.count());
  for (std::int32_t& column : columns) column = static_cast<std::int32_t>(from.small());
  const std::size_t each = tables::number_bytes(of.number);
  const std::vector<std::byte> values = from.rest(each);
  const char* const dtype = of.number == tables::Number::kInt32     ? "I32"
                            : of.number == tables::Number::kFloat64 ? "F64"
                                                                    : "I64";
  runtime::Tensors tensors;
  const auto count = static_cast<std::int64_t>(values.size() / each);
  if (of.sparse) {
    tensors["starts"] = data::tensor_of<std::int64_t>(starts, {std::ssize(starts)});
    tensors["columns"] = data::tensor_of<std::int32_t>(columns, {std::ssize(columns)});
    tensors["values"] = {dtype, {count}, values};
  } else {
    tensors["values"] = {
        dtype,
        {count / of.width, of.width},
        std::span(values).first(each * static_cast<std::size_t>(count / of.width * of.width))};
  }
  const auto bytes = data::safetensors_bytes(tensors, {});
  read_slice(data::SafetensorsFile(bytes, "input"), table);
}

void add_delta_of_numbers(fuzz::BytesTaken from) {
  std::vector<std::int64_t> sections(3 * from.count());
  for (std::int64_t& word : sections) word = from.small();
  const std::vector<std::byte> rows = from.rest(1);
  const auto bytes = data::safetensors_bytes(
      {{"sections", data::tensor_of<std::int64_t>(sections, {std::ssize(sections) / 3, 3})},
       {"rows", {"U8", {std::ssize(rows)}, rows}}},
      {});
  add_delta(data::SafetensorsFile(bytes, "input"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  constexpr int kTables = 5;
  const int kind = bytes[0] % 4, table = bytes[0] / 4 % kTables;
  const auto rest = fuzz::as_bytes(bytes + 1, size - 1);
  fuzz::outcome([&] {
    switch (kind) {
      case 0:
        return read_slice(data::SafetensorsFile(rest, "input"), table);
      case 1:
        return add_delta(data::SafetensorsFile(rest, "input"));
      case 2:
        return read_slice_of_numbers(fuzz::BytesTaken(rest), table);
      default:
        return add_delta_of_numbers(fuzz::BytesTaken(rest));
    }
  });
  return 0;
}
