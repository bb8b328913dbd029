// CSV, TSV and Parquet are read as tables: users and items are categories, whose levels are the
// names, so that any text may be one. libsvm and Matrix Market number both: their names are these
// numbers. A list of ratings becomes rows by counting; each row is sorted and duplicates are
// merged in the order of the files.
#include "meanwhile/learn/factorize/ratings_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <variant>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/data/files/column_roles.h"
#include "meanwhile/data/files/input_files.h"
#include "meanwhile/data/files/read.h"
#include "meanwhile/data/files/read_parts.h"
#include "meanwhile/data/files/readers.h"
#include "meanwhile/data/files/row_source.h"
#include "meanwhile/data/table/fit.h"
#include "meanwhile/data/text/byte_stream.h"
#include "meanwhile/data/text/text_error.h"
#include "meanwhile/learn/factorize/matrix_market.h"
#include "meanwhile/learn/factorize/ratings.h"
#include "meanwhile/learn/factorize/ratings_file.h"

namespace meanwhile::learn::factorize {

using base::counted;
using base::Error;
using base::ErrorKind;
using base::parameter;

namespace {

using Paths = std::vector<std::filesystem::path>;

data::ReadOptions options_of(const RatingsInput& input, bool need_ratings, int threads) {
  data::ReadOptions options;
  options.columns = {input.user_column, input.item_column};
  options.categorical = options.columns;
  if (need_ratings && !input.rating_column.empty()) options.columns.push_back(input.rating_column);
  if (need_ratings && !input.weight_column.empty()) options.columns.push_back(input.weight_column);
  if (input.header != Header::kAuto) options.header = input.header == Header::kYes;
  options.dtype = data::DType::kFloat64;  // places of names are whole numbers beyond float32
  if (input.format != "auto" && input.format != "mtx") {
    options.format = data::parse_format(input.format);
  }
  options.threads = threads;
  return options;
}

// The place in a raw row of the column that a parameter names; -1 for none.
class RawColumns {
 public:
  explicit RawColumns(const data::TableSchema& table) : table_(table) {
    for (const data::Column& column : table.columns) names_.push_back(column.name);
    if (!data::has_names(table)) names_.clear();
  }

  std::int64_t place(const char* name, const std::string& given) {
    const auto field = data::find_column(name, given, names_, table_.columns.size());
    for (const auto& [other, of] : taken_) {
      if (other != field) continue;
      throw Error(ErrorKind::kUsage, "{} and {} are one column", parameter(of), parameter(name));
    }
    taken_.emplace_back(field, name);
    return std::count_if(
        table_.columns.begin(), table_.columns.begin() + static_cast<std::ptrdiff_t>(field),
        [](const data::Column& column) { return column.role == data::ColumnRole::kFeature; });
  }
  const data::Column& column(std::int64_t place) const {
    return *features(table_)[static_cast<std::size_t>(place)];
  }

 private:
  const data::TableSchema& table_;
  std::vector<std::string> names_;
  std::vector<std::pair<std::size_t, const char*>> taken_;
};

std::vector<std::string> names_of(const data::TableCounts& counts, std::int64_t place,
                                  const char* what) {
  for (std::size_t c = 0; c < counts.categories.size(); ++c) {
    if (counts.categories[c] != place) continue;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < counts.levels[c].size(); ++i) {
      names.emplace_back(counts.levels[c].level(i));
      if (data::is_utf8(names.back())) continue;
      throw Error(ErrorKind::kInput, "the name {} among the {} is not UTF-8",
                  data::in_quotes(names.back()), what);
    }
    return names;
  }
  throw Error(ErrorKind::kInput, "the column of {} holds no names", what);
}

void check_number(const RawColumns& columns, std::int64_t place, const char* name) {
  const data::ColumnKind kind = columns.column(place).kind;
  if (kind == data::ColumnKind::kNumber || kind == data::ColumnKind::kBoolean) return;
  throw Error(ErrorKind::kInput, "{}: the cells of that column are no numbers", parameter(name));
}

RatingList list_of_table(const std::vector<data::InputFile>& files, const RatingsInput& input,
                         bool need_ratings, const data::ReadOptions& options) {
  auto source = data::open_rows(files, options);
  auto& rows = std::get<std::unique_ptr<data::RowSource<double>>>(source);
  data::MemorySink<double> sink(false);
  data::Dataset raw = sink.finish(rows->pour(sink));
  const auto& m = std::get<data::Dense<double>>(raw.x);
  if (!raw.table || sink.counts().empty()) {
    throw Error(ErrorKind::kInput, "holds no table of ratings");
  }
  data::check_missing(*raw.table, sink.counts(), m.rows);
  RawColumns columns(*raw.table);
  RatingList list;
  list.notes = raw.notes;
  const std::int64_t user = columns.place("user_column", input.user_column);
  const std::int64_t item = columns.place("item_column", input.item_column);
  list.users = names_of(sink.counts(), user, "users");
  list.items = names_of(sink.counts(), item, "items");
  const auto count = static_cast<std::size_t>(m.rows);
  const auto copy = [&](auto& to, std::int64_t place) {
    to.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      to[i] = static_cast<std::decay_t<decltype(to[0])>>(
          m.values[i * static_cast<std::size_t>(m.cols) + static_cast<std::size_t>(place)]);
    }
  };
  copy(list.user, user);
  copy(list.item, item);
  if (need_ratings && !input.rating_column.empty()) {
    const std::int64_t place = columns.place("rating_column", input.rating_column);
    check_number(columns, place, "rating_column");
    copy(list.rating, place);
  } else {
    list.rating.resize(count);
    std::fill(list.rating.begin(), list.rating.end(), 1.0F);
  }
  if (need_ratings && !input.weight_column.empty()) {
    const std::int64_t place = columns.place("weight_column", input.weight_column);
    check_number(columns, place, "weight_column");
    copy(list.weight, place);
  }
  return list;
}

std::vector<std::string> numbered_names(std::int64_t count, std::int64_t first) {
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) names.push_back(fmt::format("{}", i + first));
  return names;
}

// A row of libsvm is a user: its number, from 1, is the name of the user, as indices are those of
// items. Labels have no meaning.
RatingList list_of_libsvm(const Paths& files, data::ReadOptions options) {
  options.columns.clear();
  options.categorical.clear();
  options.dtype = data::DType::kFloat32;
  const data::Dataset data = data::read(files, options);
  const auto* const rows = std::get_if<data::Sparse<float>>(&data.x);
  if (rows == nullptr) throw Error(ErrorKind::kInput, "holds no sparse rows of ratings");
  RatingList list;
  list.notes = data.notes;
  list.users = numbered_names(rows->rows, 1);
  list.items = numbered_names(rows->cols, data.counts_from_one ? 1 : 0);
  const auto stored = static_cast<std::size_t>(rows->row_start[rows->rows]);
  list.user.resize(stored);
  list.item.resize(stored);
  list.rating.resize(stored);
  for (std::int64_t u = 0; u < rows->rows; ++u) {
    for (auto k = static_cast<std::size_t>(rows->row_start[u]);
         k < static_cast<std::size_t>(rows->row_start[u + 1]); ++k) {
      list.user[k] = static_cast<std::uint32_t>(u);
      list.item[k] = static_cast<std::uint32_t>(rows->columns[k]);
      list.rating[k] = rows->values[k];
    }
  }
  return list;
}

bool is_matrix_market(const std::filesystem::path& path, const RatingsInput& input) {
  return input.format == "mtx" ||
         (input.format == "auto" && data::uncompressed_name(path).extension() == ".mtx");
}

void check_rating(float rating, const Parameters& parameters, const std::string& name) {
  if (parameters.feedback == Feedback::kExplicit || rating >= 0) return;
  throw Error(ErrorKind::kInput,
              "{}: found a rating of {}; with implicit feedback it is a count, 0 or more", name,
              rating);
}

// Ratings of one user, of which some may be duplicates.
struct Entry {
  std::uint32_t item, order;  // order: in the files
  float rating, weight;
};

// Merges entries of one item, which follow each other in the order of the files.
Entry merged(std::span<const Entry> same, Duplicates duplicates) {
  Entry entry = same.back();
  if (duplicates == Duplicates::kLast || same.size() == 1) return entry;
  double sum = 0, weight = 0;
  for (const Entry& one : same) {
    const double w = static_cast<double>(one.weight);
    sum += (duplicates == Duplicates::kMean ? w : 1) * static_cast<double>(one.rating);
    weight += w;
  }
  if (duplicates == Duplicates::kMean) sum /= weight > 0 ? weight : 1;
  entry.rating = static_cast<float>(sum);
  entry.weight = static_cast<float>(weight);
  if (duplicates == Duplicates::kSum) entry.weight = same.back().weight;
  return entry;
}

}  // namespace

RatingList read_rating_list(const Paths& files, const RatingsInput& input, bool need_ratings,
                            int threads) {
  if (!files.empty() && is_matrix_market(files.front(), input)) {
    if (files.size() == 1) return read_matrix_market(files.front());
    throw Error(ErrorKind::kUsage, "Matrix Market: expected one file, {} are given", files.size());
  }
  const data::ReadOptions options = options_of(input, need_ratings, threads);
  data::ReadOptions plain = options;
  plain.columns.clear();
  plain.categorical.clear();
  const auto found = data::find_checked_inputs(files, plain);
  const std::string name = data::display_name(files.front());
  try {
    RatingList list = found.front().reader->has_roles
                          ? list_of_table(found, input, need_ratings, options)
                          : list_of_libsvm(files, options);
    if (list.size() == 0) throw Error(ErrorKind::kInput, "holds no ratings");
    return list;
  } catch (Error& error) {
    if (std::string_view(error.what()).find(name) != std::string_view::npos) throw;
    throw error.in(name);
  }
}

data::Dataset rows_of(RatingList list, Duplicates duplicates, const std::string& name) {
  const auto users = list.users.size(), items = list.items.size();
  const std::size_t count = list.size();
  constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
  const bool weighted = !list.weight.empty();
  if (users > kMost || items > kMost / (weighted ? 2 : 1) ||
      count > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(ErrorKind::kInput, "{}: {} of {} items by {} users are more than fit", name,
                counted(static_cast<std::int64_t>(count), "rating"), items, users);
  }
  std::vector<std::int64_t> starts(users + 1);
  for (std::size_t i = 0; i < count; ++i) {
    const float rating = list.rating[i], weight = weighted ? list.weight[i] : 1;
    if (!std::isfinite(rating) || !std::isfinite(weight) || weight < 0) {
      const bool is_rating = !std::isfinite(rating);
      throw Error(ErrorKind::kInput, "{}: rating {} (counted from 1) {} {}, expected {}", name,
                  i + 1, is_rating ? "is" : "weighs", is_rating ? rating : weight,
                  is_rating ? "a finite number" : "0 or more");
    }
    ++starts[list.user[i] + 1];
  }
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  base::Buffer<Entry> entries(count);
  {
    std::vector<std::int64_t> next(starts.begin(), starts.end() - 1);
    for (std::size_t i = 0; i < count; ++i) {
      entries[static_cast<std::size_t>(next[list.user[i]]++)] = {
          list.item[i], static_cast<std::uint32_t>(i), list.rating[i],
          weighted ? list.weight[i] : 1};
    }
  }
  std::int64_t again = 0;
  std::size_t kept = 0;
  base::Buffer<std::int64_t> row_start(users + 1);
  for (std::size_t u = 0; u < users; ++u) {
    Entry* const begin = entries.data() + starts[u];
    Entry* const end = entries.data() + starts[u + 1];
    std::sort(begin, end, [](const Entry& a, const Entry& b) {
      return a.item != b.item ? a.item < b.item : a.order < b.order;
    });
    for (const Entry* p = begin; p < end;) {
      const Entry* q = p + 1;
      while (q < end && q->item == p->item) ++q;
      if (q - p > 1 && duplicates == Duplicates::kRefuse) {
        throw Error(ErrorKind::kInput,
                    "{}: user '{}' rates item '{}' {} times; {} says what becomes of them", name,
                    list.users[u], list.items[p->item], q - p, parameter("duplicates"));
      }
      again += q - p - 1;
      entries[kept++] = merged({p, q}, duplicates);
      p = q;
    }
    row_start[u + 1] = static_cast<std::int64_t>(kept);
  }
  const std::size_t each = weighted ? 2 : 1;
  base::Buffer<std::int32_t> columns(each * kept);
  base::Buffer<float> values(each * kept);
  std::size_t at = 0;
  for (std::size_t u = 0; u < users; ++u) {
    const auto first = static_cast<std::size_t>(row_start[u]);
    const auto last = static_cast<std::size_t>(row_start[u + 1]);
    for (std::size_t k = first; k < last; ++k, ++at) {
      columns[at] = static_cast<std::int32_t>(entries[k].item);
      values[at] = entries[k].rating;
    }
    for (std::size_t k = first; weighted && k < last; ++k, ++at) {
      columns[at] = static_cast<std::int32_t>(items + entries[k].item);
      values[at] = entries[k].weight;
    }
  }
  for (std::size_t u = 0; u <= users; ++u) row_start[u] *= static_cast<std::int64_t>(each);

  data::Dataset data;
  data.notes = std::move(list.notes);
  if (again > 0) {
    const std::string what = duplicates == Duplicates::kLast  ? "the last one counts"
                             : duplicates == Duplicates::kSum ? "they are summed"
                                                              : "their mean counts";
    data.notes.push_back(fmt::format("{} of {} {} a pair that is listed before: {}", again,
                                     counted(static_cast<std::int64_t>(count), "rating"),
                                     again == 1 ? "is of" : "are of", what));
  }
  data.x = data::Sparse<float>{
      own(data, std::move(row_start)).data(), own(data, std::move(columns)).data(),
      own(data, std::move(values)).data(), static_cast<std::int64_t>(users),
      static_cast<std::int64_t>(each * items)};
  base::Buffer<double> places(users);
  std::iota(places.begin(), places.end(), 0.0);
  data.labels = own(data, std::move(places));
  data.class_names = std::move(list.users);
  data.feature_names = std::move(list.items);
  return data;
}

RatingList list_of(const data::Dataset& data) {
  const Ratings ratings(data);
  RatingList list;
  list.users = data.class_names;
  list.items = data.feature_names;
  for (std::int64_t u = 0; u < ratings.users(); ++u) {
    const UserRatings of = ratings.of(u);
    const std::size_t before = list.size(), after = before + of.items.size();
    list.user.resize(after);
    list.item.resize(after);
    list.rating.resize(after);
    if (ratings.weighted()) list.weight.resize(after);
    for (std::size_t k = 0; k < of.items.size(); ++k) {
      list.user[before + k] = static_cast<std::uint32_t>(u);
      list.item[before + k] = static_cast<std::uint32_t>(of.items[k]);
      list.rating[before + k] = of.ratings[k];
      if (ratings.weighted()) list.weight[before + k] = of.weights[k];
    }
  }
  return list;
}

data::Dataset read_ratings(const Paths& files, const Parameters& parameters, int threads) {
  const std::string name = data::display_name(files.front());
  if (files.size() == 1 && holds_ratings(files.front())) {
    data::Dataset data = read_ratings_file(files.front());
    const Ratings ratings(data);
    for (std::int64_t u = 0; u < ratings.users(); ++u) {
      for (const float rating : ratings.of(u).ratings) check_rating(rating, parameters, name);
    }
    return data;
  }
  RatingList list = read_rating_list(files, parameters.input, true, threads);
  for (const float rating : list.rating) check_rating(rating, parameters, name);
  return rows_of(std::move(list), settled_duplicates(parameters), name);
}

}  // namespace meanwhile::learn::factorize
