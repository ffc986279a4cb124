#include "trace/run_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "genscope/version.h"

namespace genscope::trace {

Result<std::string> make_run_folder(const std::string& out, std::string_view name) {
  if (Status made = base::make_directories(out); !made.ok()) return made.error();
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::array<char, 32> stamp{};
  std::strftime(stamp.data(), stamp.size(), "%Y%m%d-%H%M%S", &local);
  const std::string stem = out + "/" + stamp.data() + "-" + base::file_name_from(name, 40) + "-" +
                           std::to_string(::getpid());
  for (int i = 0;; ++i) {
    const std::string path = i == 0 ? stem : stem + "-" + std::to_string(i);
    if (::mkdir(path.c_str(), 0777) == 0) return path;
    if (errno != EEXIST || i > 10'000)
      return base::errno_error("cannot create folder", path, errno);
  }
}

std::string manifest_json(std::string_view id, std::string_view name,
                          std::string_view command_json) {
  const auto text = [](const char* key, std::string_view value) {
    return base::json_quote(key) + ":" + base::json_quote(value) + ",";
  };
  return "{" + text("schema", "genscope.run/1") + text("id", id) + text("name", name) +
         "\"started_unix_ns\":" + std::to_string(base::realtime_ns()) + "," +
         text("host", host_name()) + "\"command\":" + std::string(command_json) + "," +
         "\"version\":" + base::json_quote(GENSCOPE_VERSION_STRING) + "}\n";
}

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace genscope::trace
