#include "meanwhile/learn/settle.h"

#include <algorithm>
#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/base/nearest.h"
#include "meanwhile/base/parameter_name.h"

namespace meanwhile::learn {

using base::Error;
using base::ErrorKind;

namespace {

[[noreturn]] void refuse(const Parameter& parameter, const std::string& expected,
                         const Json& value) {
  throw Error(ErrorKind::kUsage, "{}: expected {}, got {}", base::parameter(parameter.name),
              expected, value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void check(const Parameter& parameter, const Json& value) {
  switch (parameter.type) {
    case ParameterType::kWhole:
      if (parameter.automatic && value == kAuto) return;
      if (!value.is_number_integer() || value.get<std::int64_t>() < parameter.least) {
        refuse(parameter,
               fmt::format("a whole number of at least {}{}", parameter.least,
                           parameter.automatic ? ", or auto" : ""),
               value);
      }
      return;
    case ParameterType::kReal: {
      const bool number = value.is_number() && std::isfinite(value.get<double>());
      if (!number || value.get<double>() < static_cast<double>(parameter.least)) {
        refuse(parameter, fmt::format("a number of at least {}", parameter.least), value);
      }
      return;
    }
    case ParameterType::kBoolean:
      if (!value.is_boolean()) refuse(parameter, "true or false", value);
      return;
    case ParameterType::kText:
      if (!value.is_string()) refuse(parameter, "text", value);
      return;
    case ParameterType::kChoice: {
      const std::vector<std::string>& known = parameter.choices;
      const std::string text = value.is_string() ? value.get<std::string>() : "";
      if (std::find(known.begin(), known.end(), text) == known.end()) {
        throw Error(ErrorKind::kUsage, "{}: unknown value {}; known are {}{}",
                    base::parameter(parameter.name), value.dump(), base::listed(known),
                    base::did_you_mean(text, known));
      }
      return;
    }
  }
}

}  // namespace

void check_given(const Schema& schema, const Json& given) {
  for (const auto& [name, value] : given.items()) {
    const Parameter* parameter = schema.find(name);
    if (parameter == nullptr) {
      std::vector<std::string> known;
      for (const Parameter& p : schema.parameters()) known.push_back(p.name);
      throw Error(ErrorKind::kUsage, "there is no parameter {}; known are {}{}",
                  base::parameter(name), base::listed(known), base::did_you_mean(name, known));
    }
    check(*parameter, value);
  }
}

Json settle(const Entry& entry, const Resumed* resumed, const Json& given) {
  check_given(entry.schema, given);
  Json settled = entry.schema.defaults();
  if (resumed != nullptr) settled.update(resumed->parameters);
  const bool has_state = resumed != nullptr && resumed->has_state;
  for (const auto& [name, value] : given.items()) {
    if (has_state && entry.schema.find(name)->fixed && settled[name] != value) {
      throw Error(ErrorKind::kUsage, "{}: the run to resume has {}, which cannot be changed{}{}",
                  base::parameter(name), settled[name].dump(),
                  entry.instead_of_changing.empty() ? "" : "; ", entry.instead_of_changing);
    }
    settled[name] = value;
  }
  return entry.complete(settled, given, !has_state);
}

bool same_but_for_end(const Schema& schema, const Json& a, const Json& b) {
  Json first = a, second = b;
  for (const Parameter& parameter : schema.parameters()) {
    if (!parameter.only_ends_run) continue;
    first.erase(parameter.name);
    second.erase(parameter.name);
  }
  return first == second;
}

}  // namespace meanwhile::learn
