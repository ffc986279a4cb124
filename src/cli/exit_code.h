// Exit codes, and the one place where an Error becomes a message and a code.
#pragma once

#include <genscope/error.h>

namespace genscope::cli {

enum ExitCode : int {
  kFine = 0,
  kVerdictFailed = 1,
  kBadInput = 2,      // usage, or an input that cannot be used
  kUnfit = 5,         // the environment: no space, no memory, an I/O error
  kIncomparable = 6,  // two runs that did different work
  kNothingMeasured = 7,
  kInterrupted = 130,
};

// For the footer of a command's help.
inline constexpr const char* kExitCodesHelp =
    "Exit codes:\n"
    "  0    fine\n"
    "  2    usage, or an input that cannot be used\n"
    "  5    the environment: no space, an I/O error\n"
    "  7    nothing was measured\n"
    "  130  interrupted\n";

ExitCode exit_code(ErrorCode code) noexcept;

// Prints "genscope: <message>" to stderr and returns the exit code.
int fail(const Error& error);

// Ends the process with what it has printed, without waiting for threads that are still at work.
[[noreturn]] void leave_at_once(int code) noexcept;

}  // namespace genscope::cli
