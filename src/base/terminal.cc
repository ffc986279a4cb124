#include "base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace genscope::base {

int output_width(int fd) {
  constexpr int kDefault = 120;
  constexpr int kWidest = 1000;
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  if (const char* columns = std::getenv("COLUMNS")) {
    const int n = std::atoi(columns);
    if (n > 0 && n <= kWidest) return n;
  }
  return kDefault;
}

bool output_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {  // the first that is set decides
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale = value;
    for (const std::string_view word : {"UTF-8", "utf-8", "UTF8", "utf8"}) {
      if (locale.find(word) != std::string_view::npos) return true;
    }
    return false;
  }
  return false;
}

bool use_color(const std::string& choice, int fd) {
  if (choice != "auto") return choice == "always";
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  if (no_color != nullptr && *no_color != '\0') return false;
  if (term != nullptr && std::string_view(term) == "dumb") return false;
  return isatty(fd) == 1;
}

}  // namespace genscope::base
