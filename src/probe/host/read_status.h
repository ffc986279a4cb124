// What a failed read means for a series.
#pragma once

#include <cerrno>

#include "genscope/probe.h"

namespace genscope::probe {

struct ReadFailure {
  SampleStatus status;
  const char* reason;
};

inline ReadFailure failure_of(int error) noexcept {
  switch (error) {
    case EACCES:
    case EPERM:
      return {SampleStatus::not_permitted, "permission denied"};
    case ENOENT:
    case ENOTDIR:
      return {SampleStatus::absent, "no such file"};
    case ENODEV:
    case ENXIO:
    case ESRCH:
      return {SampleStatus::lost, "it is gone"};
    case EOPNOTSUPP:
    case ENODATA:
      return {SampleStatus::not_supported, "the kernel does not offer it"};
    case EINVAL:
      return {SampleStatus::error, "the file holds something else"};
    default:
      return {SampleStatus::error, "the read failed"};
  }
}

inline void set_failure(Board& board, std::uint32_t series, int error) noexcept {
  const ReadFailure failure = failure_of(error);
  board.set(series, failure.status, failure.reason);
}

// The value, or why there is none.
inline void set_read(Board& board, std::uint32_t series, int error, double value) noexcept {
  if (error == 0) {
    board.set(series, value);
  } else {
    set_failure(board, series, error);
  }
}

}  // namespace genscope::probe
