#include "watch/python.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

namespace genscope::watch {
namespace {

namespace fs = std::filesystem;

// As HOOKS of python/genscope/hooks/__init__.py; python/tests compares the two.
constexpr auto kHooks =
    std::to_array<std::string_view>({"torch", "diffusers", "transformers", "accelerate", "trainer",
                                     "lightning", "comfyui", "servers"});

bool holds_package(const fs::path& folder) {
  std::error_code failed;
  return fs::exists(folder / "genscope/inject/sitecustomize.py", failed);
}

// lib/python3.11/site-packages below a prefix, and Debian's dist-packages.
fs::path in_site_packages(const fs::path& prefix) {
  std::error_code failed;
  for (const char* const lib : {"lib", "lib64"}) {
    for (const fs::directory_entry& entry : fs::directory_iterator(prefix / lib, failed)) {
      if (!entry.path().filename().string().starts_with("python3")) continue;
      for (const char* const packages : {"site-packages", "dist-packages"}) {
        if (holds_package(entry.path() / packages)) return entry.path() / packages;
      }
    }
  }
  return {};
}

}  // namespace

Status check_instrument(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const bool alone = word == "auto" || word == "none";
    if (alone && words.size() == 1) continue;
    if (!alone && std::find(kHooks.begin(), kHooks.end(), word) != kHooks.end()) continue;
    return Error{ErrorCode::invalid_argument,
                 fmt::format("--instrument {}: give auto, none, or some of {}",
                             fmt::join(words, ","), fmt::join(kHooks, ","))};
  }
  return Done{};
}

std::string find_injection() {
  if (const char* const told = std::getenv("GENSCOPE_PYTHON"); told != nullptr && *told != '\0') {
    return holds_package(told) ? std::string(told) + "/genscope/inject" : "";
  }
  std::error_code failed;
  const fs::path self = fs::read_symlink("/proc/self/exe", failed);
  if (failed) return "";
  const fs::path prefix = self.parent_path().parent_path();
  if (holds_package(prefix.parent_path()) && prefix.filename() == "genscope") {  // in a wheel
    return (prefix / "inject").string();
  }
  for (const char* const folder : {"python", "lib/genscope/python", "lib64/genscope/python"}) {
    if (holds_package(prefix / folder)) return (prefix / folder / "genscope/inject").string();
  }
  const fs::path packages = in_site_packages(prefix);
  return packages.empty() ? "" : (packages / "genscope/inject").string();
}

std::vector<std::pair<std::string, std::string>> instrument_environment(
    const std::vector<std::string>& words, const StackPlan& stacks, const std::string& injection) {
  const bool hooks = words.size() != 1 || words[0] != "none";
  const bool sampled = stacks.when != StackPlan::When::never;
  if (injection.empty() || (!hooks && !sampled)) return {};
  const char* const before = std::getenv("PYTHONPATH");
  const bool has_path = before != nullptr && *before != '\0';
  std::vector<std::pair<std::string, std::string>> added = {
      {"PYTHONPATH", has_path ? injection + ":" + before : injection},
      {"GENSCOPE_INSTRUMENT", words.empty() ? "auto" : fmt::format("{}", fmt::join(words, ","))}};
  if (sampled) {
    added.emplace_back(
        "GENSCOPE_STACKS",
        fmt::format("{}{}", stacks.when == StackPlan::When::until_marked ? "auto:" : "",
                    stacks.rate));
  }
  return added;
}

}  // namespace genscope::watch
