// Names of parameters in messages. The library writes a parameter as `n_features`, in back quotes;
// every user interface shows it in its own spelling: the program as --n-features, Python as
// n_features=.
//
//   throw Error(ErrorKind::kInput, "every row is empty; give {}", base::parameter("n_features"));
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace meanwhile::base {

// The name in back quotes.
std::string parameter(std::string_view name);

// `text` with every name in back quotes replaced by spell(name). A name is letters, digits and
// underscores and begins with a letter; other text in back quotes stays.
std::string with_parameters(std::string_view text,
                            const std::function<std::string(std::string_view)>& spell);

}  // namespace meanwhile::base
