#include "cli/exit_code.h"

#include <unistd.h>

#include <cstdio>

namespace genscope::cli {

ExitCode exit_code(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::not_found:
    case ErrorCode::permission:
    case ErrorCode::bad_data:
    case ErrorCode::unsupported:
      return kBadInput;
    case ErrorCode::no_space:
    case ErrorCode::io:
      return kUnfit;
  }
  return kUnfit;
}

int fail(const Error& error) {
  // Messages may quote names of files and options, which are not ours: no control reaches stderr.
  std::fputs("genscope: ", stderr);
  for (const char c : error.message) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n') || byte == 0x7F) {
      std::fprintf(stderr, "\\x%02x", byte);
    } else {
      std::fputc(c, stderr);
    }
  }
  std::fputc('\n', stderr);
  return exit_code(error.code);
}

void leave_at_once(int code) noexcept {
  std::fflush(stdout);
  std::fflush(stderr);
  _exit(code);
}

}  // namespace genscope::cli
