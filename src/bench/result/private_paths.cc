#include "bench/result/private_paths.h"

#include <algorithm>
#include <array>

#include "base/secrets.h"

namespace genscope::bench {
namespace {

constexpr std::string_view kBeforePath = " \t\r\n=,;(<>|&'\"`[{";
constexpr std::string_view kAfterPath = " \t\r\n,;)<>|&'\"`]}:";
constexpr std::array<std::string_view, 8> kSystemFolders = {"/bin/",  "/dev/",  "/etc/", "/lib/",
                                                            "/proc/", "/sbin/", "/sys/", "/usr/"};

bool begins_path(std::string_view text, std::size_t i) {
  if (text[i] != '/') return false;
  if (i > 0 && text[i - 1] == ':') return i + 1 < text.size() && text[i + 1] != '/';  // no URL
  return i == 0 || kBeforePath.find(text[i - 1]) != std::string_view::npos;
}

}  // namespace

std::string without_folders(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (!begins_path(text, i)) {
      out += text[i++];
      continue;
    }
    const std::size_t end = std::min(text.find_first_of(kAfterPath, i), text.size());
    std::string_view path = text.substr(i, end - i);
    i = end;
    const bool system = std::any_of(kSystemFolders.begin(), kSystemFolders.end(),
                                    [&](std::string_view f) { return path.starts_with(f); });
    if (!system) {
      while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
      const std::size_t slash = path.rfind('/');
      if (path.size() > 1) path.remove_prefix(slash + 1);
    }
    out += path;
  }
  return out;
}

std::string shareable(std::string_view text, bool identify) {
  std::string masked = base::mask_secrets(text);
  return identify ? masked : without_folders(masked);
}

std::vector<std::string> shareable(const std::vector<std::string>& texts, bool identify,
                                   bool words) {
  std::vector<std::string> out;
  if (words) {
    out = base::mask_secrets(texts);
  } else {
    for (const std::string& text : texts) out.push_back(base::mask_secrets(text));
  }
  if (identify) return out;
  for (std::string& text : out) text = without_folders(text);
  return out;
}

}  // namespace genscope::bench
