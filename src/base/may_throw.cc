#include "base/may_throw.h"

#include <cstdlib>
#include <exception>

namespace genscope::base {
namespace {

// Far more than that part has. What was just given back is there for it.
constexpr std::size_t kRoomBytes = 16 * 1024;

constinit thread_local bool t_may_throw = false;

[[gnu::noinline]] bool prepare() noexcept {
  void* volatile const room = std::malloc(kRoomBytes);
  if (room == nullptr) return false;
  std::free(room);
  volatile int made = std::uncaught_exceptions();
  static_cast<void>(made);
  return t_may_throw = true;
}

}  // namespace

bool may_throw() noexcept {
  if (t_may_throw) [[likely]]
    return true;
  return prepare();
}

}  // namespace genscope::base
