#include "meanwhile/learn/table_state.h"

#include <span>
#include <string_view>

#include "meanwhile/base/error.h"

namespace meanwhile::learn {

namespace {

constexpr char kTable[] = "table";  // name of the tensor, and key in `about`

std::shared_ptr<const data::TableSchema> parsed(const Json& json) {
  return std::make_shared<const data::TableSchema>(data::schema_from_json(json));
}

}  // namespace

void put_table(State& state, const data::TableSchema* table) {
  if (table == nullptr) return;
  const Json json = data::to_json(*table);
  if (data::is_plain(*table)) {
    if (state.about.is_null()) state.about = Json::object();
    state.about[kTable] = json;
    return;
  }
  state.table = std::make_shared<const std::string>(json.dump());
  state.learned[kTable] = {"U8",
                           {static_cast<std::int64_t>(state.table->size())},
                           std::as_bytes(std::span(*state.table))};
}

std::shared_ptr<const data::TableSchema> table_of(const data::SafetensorsFile& file) {
  if (file.has(kTable)) {
    const std::span<const std::byte> bytes = file.tensor(kTable).bytes;
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return parsed(base::parse_json(text, "the column schema of the model"));
  }
  const auto about = file.metadata().find("about");
  if (about == file.metadata().end()) return nullptr;
  const auto json = base::try_parse_object(about->second);
  if (!json || !json->contains(kTable)) return nullptr;
  return parsed((*json)[kTable]);
}

}  // namespace meanwhile::learn
