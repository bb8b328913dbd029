#include "meanwhile/measures/classification.h"

#include <cmath>

namespace meanwhile::measures {

using base::Json;

namespace {

std::optional<double> share(double part, double of) {
  if (of > 0) return part / of;
  return std::nullopt;
}

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

// A mean of the classes that count, and null when none does.
class Mean {
 public:
  void add(double value, double weight) {
    sum_ += weight * value;
    weight_ += weight;
  }
  Json json() const { return or_null(share(sum_, weight_)); }

 private:
  double sum_ = 0, weight_ = 0;
};

}  // namespace

Confusion::Confusion(std::size_t classes)
    : labelled_(classes), predicted_(classes), right_(classes) {
  if (classes <= kMostConfused) table_.resize(classes * classes);
}

std::optional<double> Confusion::precision(std::size_t k) const {
  return share(right_[k], predicted_[k]);
}

std::optional<double> Confusion::recall(std::size_t k) const {
  return share(right_[k], labelled_[k]);
}

std::optional<double> Confusion::f1(std::size_t k) const {
  return share(2 * right_[k], labelled_[k] + predicted_[k]);
}

Json Confusion::table() const {
  if (table_.empty()) return nullptr;
  Json rows = Json::array();
  for (auto row = table_.begin(); row != table_.end();
       row += static_cast<std::ptrdiff_t>(classes())) {
    rows.push_back(std::vector<double>(row, row + static_cast<std::ptrdiff_t>(classes())));
  }
  return rows;
}

void add_classification(const Confusion& confusion, std::span<const std::string> names,
                        std::span<const double> areas, Json& json) {
  Mean balanced;
  struct Means {
    Mean precision, recall, f1, auc;
  } macro, weighted;
  Json classes = Json::array();
  for (std::size_t k = 0; k < confusion.classes(); ++k) {
    const double support = confusion.support(k);
    const auto precision = confusion.precision(k), recall = confusion.recall(k);
    const auto f1 = confusion.f1(k);
    if (recall) balanced.add(*recall, 1);
    const auto add = [&](Means& means, double weight) {
      means.precision.add(precision.value_or(0), weight);
      means.recall.add(recall.value_or(0), weight);
      means.f1.add(f1.value_or(0), weight);
    };
    if (confusion.occurs(k)) add(macro, 1);
    if (support > 0) add(weighted, support);
    Json of_class = {{"class", names[k]},
                     {"precision", or_null(precision)},
                     {"recall", or_null(recall)},
                     {"f1", or_null(f1)}};
    if (!areas.empty()) {
      const bool known = !std::isnan(areas[k]);
      of_class["auc"] = known ? Json(areas[k]) : Json();
      if (known) macro.auc.add(areas[k], 1);
      if (known) weighted.auc.add(areas[k], support);
    }
    of_class["support"] = support;
    classes.push_back(std::move(of_class));
  }
  json["balanced_accuracy"] = balanced.json();
  if (confusion.classes() == 2) json["f1"] = or_null(confusion.f1(1));
  const auto put = [&](const std::string& kind, const Means& means) {
    json["precision_" + kind] = means.precision.json();
    json["recall_" + kind] = means.recall.json();
    json["f1_" + kind] = means.f1.json();
    if (!areas.empty()) json["auc_" + kind] = means.auc.json();
  };
  put("macro", macro);
  put("weighted", weighted);
  json["classes"] = std::move(classes);
  json["confusion"] = confusion.table();
}

}  // namespace meanwhile::measures
