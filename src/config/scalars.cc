#include "config/scalars.h"

namespace genscope::config {

std::optional<bool> flag_of(const YamlValue& value) {
  if (value.kind != YamlValue::Kind::scalar || value.quoted) return std::nullopt;
  std::string word = value.text;
  for (char& c : word) c = (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c;
  if (word == "true" || word == "yes" || word == "on") return true;
  if (word == "false" || word == "no" || word == "off") return false;
  return std::nullopt;
}

}  // namespace genscope::config
