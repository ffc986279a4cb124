#include "base/exec_words.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>

extern char** environ;

namespace genscope::base {

std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& changed) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view line(*entry);
    const std::string_view name = line.substr(0, line.find('='));
    const bool replaced =
        std::ranges::any_of(changed, [&](const auto& pair) { return pair.first == name; });
    if (!replaced) all.emplace_back(line);
  }
  for (const auto& [name, value] : changed) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace genscope::base
