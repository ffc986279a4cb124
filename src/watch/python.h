// How `genscope run` reaches Python programs: a folder at the head of PYTHONPATH whose
// sitecustomize installs the hooks of the package (python/genscope/inject).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <genscope/error.h>

namespace genscope::watch {

// Checks the words of --instrument: "auto", "none", or names of hooks. invalid_argument with all
// names for another.
Status check_instrument(const std::vector<std::string>& words);

// The package's folder `genscope/inject`, by where this executable is: a build tree, a prefix, the
// environment that a wheel was installed into; $GENSCOPE_PYTHON names the folder with the package
// instead. Empty: there is none.
std::string find_injection();

// Whether Python's stacks are sampled, and how often.
struct StackPlan {
  enum class When : std::uint8_t { never, until_marked, always };
  static constexpr int kUsualRate = 50;

  When when = When::until_marked;
  int rate = kUsualRate;  // samples a second
};

// What to add to the environment of a command; nothing without a package, or if there is neither a
// hook nor a stack to record.
std::vector<std::pair<std::string, std::string>> instrument_environment(
    const std::vector<std::string>& words, const StackPlan& stacks, const std::string& injection);

}  // namespace genscope::watch
