#include "trace/recorded_command.h"

#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/secrets.h"
#include "base/text.h"

namespace genscope::trace {

bool keeps_args(bool asked) noexcept {
  const char* const value = std::getenv("GENSCOPE_KEEP_ARGS");
  return asked || (value != nullptr && *value != '\0' && std::string_view(value) != "0");
}

std::string command_json(std::span<const std::string> words, bool keep_args) {
  constexpr std::size_t kMostBytes = 64 << 10;
  std::vector<std::string> masked;
  if (!keep_args) {
    masked = base::mask_secrets(words);
    words = masked;
  }
  std::string out = "[";
  for (const std::string& word : words) {
    if (out.size() > 1) out += ',';
    out += base::json_quote(base::cut_utf8(word, kMostBytes));
    if (out.size() > kMostBytes) break;
  }
  return out + "]";
}

}  // namespace genscope::trace
