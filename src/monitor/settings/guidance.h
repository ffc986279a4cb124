// How a model is guided: the argument's name and its usual value, by architecture.
#pragma once

#include <string_view>

namespace genscope::monitor {

struct Guidance {
  std::string_view architecture;
  std::string_view key;
  std::string_view scale;  // the pipeline's default
  std::string_view pipeline;
};

// Null if the architecture is not known.
const Guidance* find_guidance(std::string_view architecture) noexcept;

}  // namespace genscope::monitor
