// Requests: lines of target, host, cookie and event number, all of them somebody else's. Nothing
// passes without the token, no control character reaches a path, and a run is asked for by one
// name.
#include <array>
#include <string>
#include <string_view>

#include "check_trace.h"
#include "serve/guard.h"
#include "serve/runs.h"
#include "serve/url.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace genscope::serve;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::array<std::string, 4> lines;  // target, host, cookie, number
  for (std::string& line : lines) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    line = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + 1));
  }
  parse_number(lines[3]);
  const std::optional<Target> target = parse_target(lines[0]);
  if (!target) return 0;
  GENSCOPE_FUZZ_CHECK(target->path.starts_with('/'));
  for (const char c : target->path) GENSCOPE_FUZZ_CHECK(static_cast<unsigned char>(c) >= 0x20);
  static const Guard guard("only-this-token", {"127.0.0.1"});
  const HttpRequest request{
      "GET", target->path, target->query, {{"host", lines[1]}, {"cookie", lines[2]}}};
  if (!guard.refuse(request) && request.path != "/healthz") {
    const auto given = target->query.find("token");
    GENSCOPE_FUZZ_CHECK((given != target->query.end() && given->second == "only-this-token") ||
                        lines[2].find(guard.cookie() + "=only-this-token") != std::string::npos);
  }
  const std::string name = target->path.substr(1);
  if (name.find('/') != std::string::npos) {
    const auto found = find_run("/nonexistent", name);
    GENSCOPE_FUZZ_CHECK(found && !*found);
  }
  return 0;
}
