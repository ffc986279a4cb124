// Bytes as they come on a socket, in pieces of any size (the first byte says which). Whatever
// comes, the reader asks for a bounded number of bytes, what it takes for a request has one Host
// and no body to come, and the same bytes in one piece give the same requests.
#include <algorithm>
#include <string>
#include <vector>

#include "check_trace.h"
#include "serve/guard.h"
#include "serve/request.h"
#include "serve/url.h"

namespace {

using genscope::serve::Guard;
using genscope::serve::HttpRequest;
using genscope::serve::RequestReader;

constexpr std::uint32_t kHeaderBytes = 1024, kBodyBytes = 256;
constexpr const char* kToken = "only-this-token";

void check_request(const HttpRequest& request) {
  GENSCOPE_FUZZ_CHECK(request.path.starts_with('/'));
  for (const char c : request.path) GENSCOPE_FUZZ_CHECK(static_cast<unsigned char>(c) >= 0x20);
  for (const char* const field : {"transfer-encoding", "expect"}) {
    GENSCOPE_FUZZ_CHECK(!request.headers.contains(field));
  }
  static const Guard guard(kToken, {"127.0.0.1"});
  const auto again =
      genscope::serve::parse_target(genscope::serve::target_text({request.path, request.query}));
  GENSCOPE_FUZZ_CHECK(again && again->path == request.path && again->query == request.query);
  if (!guard.refuse(request) && request.path != "/healthz") {
    const auto given = request.query.find("token");
    const bool told = (given != request.query.end() && given->second == kToken) ||
                      request.header("authorization") == std::string("Bearer ") + kToken ||
                      request.header("cookie").find(kToken) != std::string::npos;
    GENSCOPE_FUZZ_CHECK(told);
  }
}

// What was understood: a line for each request, and the status of a refusal.
std::vector<std::string> read_all(std::string_view bytes, std::size_t piece) {
  RequestReader reader(kHeaderBytes, kBodyBytes);
  std::vector<std::string> understood;
  auto state = reader.next();
  std::size_t unanswered = 0;
  for (;;) {
    if (state == RequestReader::State::refused) {
      const int status = reader.refusal().status;
      GENSCOPE_FUZZ_CHECK(status >= 400 && status < 600);
      understood.push_back(std::to_string(status));
      return understood;
    }
    if (state == RequestReader::State::request) {
      check_request(reader.request());
      understood.push_back(reader.request().method + " " + reader.request().path +
                           (reader.keep_alive() ? "" : " close"));
      if (!reader.keep_alive()) return understood;
      unanswered = 0;
      state = reader.next();
      continue;
    }
    if (bytes.empty()) return understood;
    const std::span<char> room = reader.room();
    GENSCOPE_FUZZ_CHECK(!room.empty() && room.size() <= kHeaderBytes + kBodyBytes);
    const std::size_t n = std::min({room.size(), bytes.size(), piece});
    std::copy_n(bytes.begin(), n, room.begin());
    bytes.remove_prefix(n);
    unanswered += n;
    GENSCOPE_FUZZ_CHECK(unanswered <=
                        2 * (kHeaderBytes + kBodyBytes));  // it does not read for ever
    state = reader.take(n);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto whole = read_all(bytes, bytes.size() + 1);
  const auto pieces = read_all(bytes, std::size_t{data[0]} + 1);
  // Which of several faults is met first may depend on the pieces; requests do not.
  const auto requests = [](std::vector<std::string> found) {
    std::erase_if(found, [](const std::string& line) { return line.find(' ') == line.npos; });
    return found;
  };
  GENSCOPE_FUZZ_CHECK(requests(whole) == requests(pieces));
  return 0;
}
