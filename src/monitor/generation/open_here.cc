#include "monitor/generation/open_here.h"

namespace genscope::monitor {

std::vector<OpenHere>& open_here() noexcept {
  static thread_local std::vector<OpenHere> open;
  return open;
}

OpenHere* find_here(std::uint64_t monitor, bool owned) noexcept {
  std::vector<OpenHere>& open = open_here();
  for (auto it = open.rbegin(); it != open.rend(); ++it) {
    if (it->monitor != monitor || !it->generation->running()) continue;
    if (!owned || it->owned != nullptr) return &*it;
  }
  return nullptr;
}

void close_here(const Generation* generation) noexcept {
  std::vector<OpenHere>& open = open_here();
  for (auto it = open.end(); it != open.begin();) {
    if ((--it)->generation != generation) continue;
    open.erase(it);
    return;
  }
}

}  // namespace genscope::monitor
