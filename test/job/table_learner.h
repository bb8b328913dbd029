// A learner with tables, small enough to check by hand: it counts words. A row of the data is a
// document, its values are numbers of words. Each word of a document adds to one column of the
// word's row: which one depends on what the row holds, so that a row of another round gives other
// bits. It keeps the same counts in tables of all kinds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/base/json.h"
#include "meanwhile/learn/round_learner.h"
#include "meanwhile/learn/table_work.h"

namespace meanwhile::job {

struct TableParameters {
  std::int64_t max_iter = 5;
  std::int64_t words = 1000;
  std::int32_t width = 8;
  bool all_kinds = true;   // false: one dense table of int64
  bool remembers = false;  // shards have memory: how many words they have read
};

// Words that are frequent at the beginning, as words are.
inline data::Dataset word_data(std::int64_t words) {
  base::Buffer<float> values(97 * 6);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t all = static_cast<std::size_t>(words);
    const std::size_t drawn = i * 2654435761U % 10'007 * all / 10'007;
    values[i] = static_cast<float>(drawn * drawn / all);
  }
  data::Dataset data;
  const auto view = data::own(data, std::move(values));
  data.x = data::Dense<float>{view.data(), 97, 6};
  return data;
}

class TableLearner final : public learn::RoundLearner, public learn::TableWork {
 public:
  enum { kCounts, kPairs, kReals, kRealPairs, kFixedPoint };

  explicit TableLearner(const TableParameters& parameters) : parameters_(parameters) {}

  std::function<void(int shard)> on_work;  // called in work() before anything else
  std::int64_t rounds = 0, tokens = 0;

  std::string name() const override { return "words"; }
  void attach(const learn::Attachment& attachment) override { part_ = attachment.part; }
  learn::TableWork* table_work() override { return this; }

  std::vector<tables::Table> tables() const override {
    using tables::Number;
    const std::int64_t words = parameters_.words;
    const std::int32_t width = parameters_.width;
    std::vector<tables::Table> tables = {{.name = "counts", .rows = words, .width = width}};
    if (!parameters_.all_kinds) return tables;
    tables.push_back({"pairs", words, width, Number::kInt32, 1, true});
    tables.push_back({"reals", words, width, Number::kFloat64, 1, false});
    tables.push_back({"real-pairs", words, width, Number::kFloat64, 1, true});
    tables.push_back({"fixed", words, width, Number::kFixed, 0x1p-20, false});
    return tables;
  }

  void wants(int shard, tables::Wants& rows) const override {
    each_word(shard, [&](std::int64_t word) {
      for (int table = 0; table < (parameters_.all_kinds ? 5 : 1); ++table) rows.add(table, word);
    });
  }

  exchange::UpdateShape update_shape() const override {
    return {{.rows = 1, .element = exchange::Element::kInt64}};
  }
  learn::MemoryShape memory_shape(int /*shard*/) const override {
    if (!parameters_.remembers) return {};
    return {{"read", "I64", {1}}};
  }
  void work(int /*shard*/, learn::ShardMemory& /*memory*/, exchange::Update& /*update*/) override {
    throw base::Error(base::ErrorKind::kFailed, "the words need their tables");
  }

  void work(int shard, learn::ShardMemory& memory, const tables::View& view, tables::Delta& delta,
            exchange::Update& update) override {
    if (on_work) on_work(shard);
    std::int64_t seen = 0;
    const std::int64_t read =
        parameters_.remembers ? memory.tensor<std::int64_t>("read")[0] : std::int64_t{0};
    each_word(shard, [&](std::int64_t word) {
      ++seen;
      std::int64_t held = 0;
      for (const std::int64_t value : view.row<std::int64_t>(kCounts, word)) held += value;
      const auto column = static_cast<std::int32_t>((held + rounds + read) % parameters_.width);
      delta.add<std::int64_t>(kCounts, word, column, 1);
      if (!parameters_.all_kinds) return;
      // Pairs move from column to column: what becomes zero goes away.
      const auto pairs = view.sparse_row<std::int32_t>(kPairs, word);
      for (std::size_t i = 0; i < pairs.columns.size() && seen % 3 == 0; ++i) {
        if (pairs.columns[i] != column) delta.add<std::int32_t>(kPairs, word, pairs.columns[i], -1);
      }
      delta.add<std::int32_t>(kPairs, word, column, 1);
      // Sums of these round differently in another order.
      const double part = 1.0 / static_cast<double>(3 + 7 * shard + word % 11);
      std::vector<double> whole;
      for (const double value : view.row<double>(kReals, word)) whole.push_back(part - value / 64);
      delta.add_row<double>(kReals, word, whole);
      delta.add<double>(kReals, word, column, part / 5);
      const auto reals = view.sparse_row<double>(kRealPairs, word);
      const double before = reals.values.empty() ? 0 : reals.values.front();
      delta.add<double>(kRealPairs, word, column, part - before / 100);
      const std::int64_t fixed = view.row<std::int64_t>(kFixedPoint, word).front();
      delta.add<std::int64_t>(kFixedPoint, word, column, fixed / 1000 + (std::int64_t{1} << 19));
    });
    update.dense<std::int64_t>(0)[0] += seen;
    if (parameters_.remembers) memory.tensor<std::int64_t>("read")[0] += seen;
  }

  learn::Outcome absorb(const exchange::Update& total) override {
    learn::Outcome outcome;
    tokens += total.dense<std::int64_t>(0)[0];
    outcome.objective = static_cast<double>(tokens);
    if (++rounds == parameters_.max_iter) {
      outcome.ending = learn::Ending::kRanOut;
      outcome.because = "max_iter rounds done";
    }
    return outcome;
  }

  std::int64_t rounds_left() const override { return parameters_.max_iter - rounds; }
  learn::State state() const override {
    learn::State state;
    state.learned["tokens"] = data::tensor_of<std::int64_t>({&tokens, 1}, {1});
    state.parameters = {{"max_iter", parameters_.max_iter},
                        {"words", parameters_.words},
                        {"width", parameters_.width}};
    state.progress = {{"rounds", rounds}};
    return state;
  }
  void restore(const data::SafetensorsFile& file) override {
    tokens = file.tensor("tokens").as<std::int64_t>()[0];
    rounds = base::Json::parse(file.metadata().at("progress")).at("rounds");
  }
  learn::Cost cost(const learn::Shape& shape) const override {
    const auto cells = static_cast<double>(shape.rows * shape.cols);
    return {.flops = cells, .bytes_read = cells, .update_bytes = 8};
  }

 private:
  template <class Use>
  void each_word(int shard, const Use& use) const {
    const auto& x = std::get<data::Dense<float>>(part_->data.x);
    for (const data::RowRange& block : part_->shards[static_cast<std::size_t>(shard)].blocks) {
      for (std::int64_t row = block.begin; row < block.end; ++row) {
        for (const float word : x.row(row)) use(static_cast<std::int64_t>(word));
      }
    }
  }

  const TableParameters parameters_;
  const data::Part* part_ = nullptr;
};

}  // namespace meanwhile::job
