#include "meanwhile/learn/factorize/matrix_market.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "meanwhile/data/files/graph/number_text.h"

namespace meanwhile::learn::factorize {

namespace {

// Reads from the first line whether there are values: none are listed for pattern.
bool has_values(data::NumberText& text) {
  std::string banner(text.at_end() ? std::string_view() : text.take_line());
  std::transform(banner.begin(), banner.end(), banner.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  while (!banner.empty() && data::is_blank(banner.back())) banner.pop_back();
  constexpr std::string_view kForm = "%%matrixmarket matrix coordinate ";
  if (!banner.starts_with(kForm)) {
    text.fail_at(1, "expected '%%MatrixMarket matrix coordinate FIELD general'");
  }
  const std::string rest = banner.substr(kForm.size());
  for (const std::string field : {"real", "integer", "double", "pattern"}) {
    if (rest == field + " general") return field != "pattern";
  }
  text.fail_at(1, fmt::format("is '{}', expected pattern, real or integer, and general", rest));
}

std::vector<std::string> numbers(std::int64_t count) {
  std::vector<std::string> names;
  for (std::int64_t i = 1; i <= count; ++i) names.push_back(fmt::format("{}", i));
  return names;
}

}  // namespace

RatingList read_matrix_market(const std::filesystem::path& path) {
  data::NumberText text(path);
  const bool values = has_values(text);
  while (!text.at_end() && (text.peek() == '%' || text.at_line_end())) text.take_line();
  if (text.at_end()) text.fail("ends before its sizes");
  const std::int64_t users = text.whole_number("the number of users");
  const std::int64_t items = text.whole_number("the number of items");
  const std::int64_t count = text.whole_number("the number of ratings");
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (!text.at_line_end()) text.expected("the end of the line");
  if (users < 1 || items < 1 || count < 1 || users > kMost || items > kMost) {
    text.fail(
        fmt::format("is {} x {} with {} entries, expected 1 to {} rows and columns, and 1 "
                    "entry or more",
                    users, items, count, kMost));
  }
  text.next_line();
  RatingList list;
  // A size that a file claims is not believed before that much was read.
  for (std::int64_t i = 0; i < count;) {
    if (text.at_end()) text.fail(fmt::format("ends after {} of {} ratings", i, count));
    if (text.at_line_end()) {
      text.next_line();
      continue;
    }
    const auto at = static_cast<std::size_t>(i++);
    const std::int64_t user = text.whole_number("a user"), item = text.whole_number("an item");
    if (user < 1 || user > users || item < 1 || item > items) {
      text.fail(fmt::format("found the rating of item {} by user {}, expected 1 to {} and 1 to {}",
                            item, user, items, users));
    }
    list.user.resize(at + 1);
    list.item.resize(at + 1);
    list.rating.resize(at + 1);
    list.user[at] = static_cast<std::uint32_t>(user - 1);
    list.item[at] = static_cast<std::uint32_t>(item - 1);
    list.rating[at] = values ? static_cast<float>(text.number("a rating")) : 1;
    if (!text.at_line_end()) text.expected("the end of the line");
    text.next_line();
  }
  text.expect_end("ratings");
  // Users and items without ratings cost a row each, so the file must be about as long.
  constexpr std::int64_t kMostEmpty = 100;
  for (const auto& [what, size] : {std::pair{"users", users}, std::pair{"items", items}}) {
    if (size / kMostEmpty <= count) continue;
    text.fail_at(1,
                 fmt::format("says that there are {} {}, and holds {} ratings", size, what, count));
  }
  list.users = numbers(users);
  list.items = numbers(items);
  return list;
}

}  // namespace meanwhile::learn::factorize
