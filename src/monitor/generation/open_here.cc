#include "monitor/generation/open_here.h"

#include "base/thread_owned.h"

namespace genscope::monitor {
namespace {

struct OpenList {
  std::vector<OpenHere> open;
};
using OfThread = base::ThreadOwned<OpenList>;

}  // namespace

bool list_here(OpenHere open) noexcept {
  OpenList* const list = OfThread::get();
  if (list == nullptr) return false;
  try {
    list->open.push_back(std::move(open));
    return true;
  } catch (...) {
    return false;
  }
}

OpenHere* find_here(std::uint64_t monitor, bool owned) noexcept {
  OpenList* const list = OfThread::get();
  if (list == nullptr) return nullptr;
  std::vector<OpenHere>& open = list->open;
  for (auto it = open.rbegin(); it != open.rend(); ++it) {
    if (it->monitor != monitor || !it->generation->running()) continue;
    if (!owned || it->owned != nullptr) return &*it;
  }
  return nullptr;
}

void close_here(const Generation* generation) noexcept {
  OpenList* const list = OfThread::get();
  if (list == nullptr) return;
  std::vector<OpenHere>& open = list->open;
  for (auto it = open.end(); it != open.begin();) {
    if ((--it)->generation != generation) continue;
    open.erase(it);
    return;
  }
}

}  // namespace genscope::monitor
