#include "bench/run/expand.h"

#include <algorithm>

#include "bench/run/quantities.h"

namespace genscope::bench {
namespace {

// Of a size such as 1024x768: its parts, by the names that conditions of a suite have for them.
void add_parts(const std::string& name, std::string_view value, Params& values) {
  const std::optional<PixelSize> size = size_in(value);
  if (!size) return;
  values.emplace_back(name + ".w", std::to_string(size->w));
  values.emplace_back(name + ".h", std::to_string(size->h));
  values.emplace_back(name + ".pixels", std::to_string(std::uint64_t{size->w} * size->h));
  if (size->frames) values.emplace_back(name + ".frames", std::to_string(*size->frames));
}

}  // namespace

std::string expand(std::string_view text, const Params& values) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    out.append(text.substr(0, open));
    if (open == std::string_view::npos) break;
    text.remove_prefix(open);
    const std::size_t close = text.find('}');
    const std::string_view key =
        close == std::string_view::npos ? std::string_view() : text.substr(1, close - 1);
    const auto value = std::find_if(values.begin(), values.end(),
                                    [&](const auto& one) { return one.first == key; });
    // "${name}" is the shell's.
    const bool of_shell = !out.empty() && out.back() == '$';
    if (value == values.end() || of_shell || key.empty()) {
      out += '{';
      text.remove_prefix(1);
      continue;
    }
    out += value->second;
    text.remove_prefix(close + 1);
  }
  return out;
}

Params values_of(const Request& request) {
  Params values = request.params;
  for (const auto& [name, value] : request.params) add_parts(name, value, values);
  if (!request.prompt.empty()) values.emplace_back("prompt", request.prompt);
  if (request.seed) values.emplace_back("seed", std::to_string(*request.seed));
  values.emplace_back("iteration", std::to_string(request.iteration));
  return values;
}

}  // namespace genscope::bench
