#include <array>

#include "genscope/trace.h"

namespace genscope {

std::string_view name(SpanKind kind) noexcept {
  constexpr std::array<std::string_view, 12> kNames = {"none",  "session", "load",    "stage",
                                                       "step",  "block",   "forward", "request",
                                                       "batch", "epoch",   "task",    "function"};
  const auto i = static_cast<std::size_t>(kind);
  return i < kNames.size() ? kNames[i] : kNames[0];
}

}  // namespace genscope
