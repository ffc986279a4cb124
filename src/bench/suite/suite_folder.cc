#include "bench/suite/suite_folder.h"

#include <fmt/format.h>

#include <ctime>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"

namespace genscope::bench {

std::string suite_stem(const Suite& suite) { return base::file_name_from(suite.name, 60); }

Result<std::string> new_suite_folder(const Suite& suite, const std::string& out) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &parts);
  const std::string first = fmt::format("{}/{}-{}", out, suite_stem(suite), stamp);
  std::string folder = first;
  for (int i = 2; std::filesystem::exists(folder); ++i) folder = fmt::format("{}-{}", first, i);
  if (Status made = base::make_directories(folder); !made) return made.error();
  return folder;
}

std::string newest_suite_folder(const Suite& suite, const std::string& out) {
  std::string newest;
  std::filesystem::file_time_type newest_time;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(out, failed)) {
    if (!entry.path().filename().string().starts_with(suite_stem(suite) + "-")) continue;
    const auto time = std::filesystem::last_write_time(entry.path() / "result.json", failed);
    if (failed || (!newest.empty() && time <= newest_time)) continue;
    newest = entry.path().string();
    newest_time = time;
  }
  return newest;
}

}  // namespace genscope::bench
