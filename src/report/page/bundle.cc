#include "report/page/bundle.h"

extern "C" const char genscope_web_bundle[], genscope_web_bundle_end[];  // cmake/bundle.S.in

namespace genscope::report {

std::string_view web_bundle() noexcept {
  return {genscope_web_bundle,
          static_cast<std::size_t>(genscope_web_bundle_end - genscope_web_bundle)};
}

}  // namespace genscope::report
