// Where monitors print: the user's sink, or stdout.
#pragma once

#include <cstdio>
#include <functional>
#include <string_view>

namespace genscope::compat::training {

inline void print(const std::function<void(std::string_view)>& out, std::string_view text) {
  if (out != nullptr) {
    out(text);
    return;
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace genscope::compat::training
