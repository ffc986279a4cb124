#include "genscope/error.h"

namespace genscope {

const char* name(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::permission:
      return "permission";
    case ErrorCode::no_space:
      return "no_space";
    case ErrorCode::bad_data:
      return "bad_data";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::io:
      return "io";
  }
  return "unknown";
}

}  // namespace genscope
