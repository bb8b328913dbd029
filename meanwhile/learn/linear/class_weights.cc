#include "meanwhile/learn/linear/class_weights.h"

#include <charconv>
#include <cmath>

#include "meanwhile/base/error.h"

namespace meanwhile::learn::linear {

std::vector<double> parse_class_weights(const std::string& text, const std::vector<double>& classes,
                                        const std::vector<std::string>& names) {
  std::vector<double> weights(classes.size(), 1.0);
  const auto label = [&](std::size_t k) {
    const auto index = static_cast<std::size_t>(classes[k]);
    return names.empty() ? fmt::format("{}", classes[k]) : names[index];
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string item = text.substr(at, end - at);
    const std::size_t colon = item.rfind(':');
    const std::string name = item.substr(0, colon);
    std::size_t k = 0;
    while (k < classes.size() && label(k) != name) ++k;
    const std::string number = colon == std::string::npos ? "" : item.substr(colon + 1);
    const char* const last = number.data() + number.size();
    double weight = 0;
    const auto [rest, error] = std::from_chars(number.data(), last, weight);
    const bool is_number = error == std::errc() && rest == last;
    if (k == classes.size() || !is_number || !(weight >= 0) || !std::isfinite(weight)) {
      throw base::Error(
          base::ErrorKind::kUsage,
          "class_weight: found '{}', expected balanced or LABEL:WEIGHT,...; labels are {}{}", item,
          label(0), classes.size() > 1 ? fmt::format(" to {}", label(classes.size() - 1)) : "");
    }
    weights[k] = weight;
    at = end + 1;
  }
  return weights;
}

}  // namespace meanwhile::learn::linear
