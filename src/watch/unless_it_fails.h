// For what may lack memory, threads or files while the command runs: that is not its affair.
#pragma once

namespace genscope::watch {

// False if `action` threw, whatever it was.
template <class Action>
bool unless_it_fails(Action&& action) noexcept {
  try {
    action();
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace genscope::watch
