#include "report/page/bundle.h"

// cmake/bundle.S.in
extern "C" const char genscope_report_page[], genscope_report_page_end[];
extern "C" const char genscope_live_page[], genscope_live_page_end[];

namespace genscope::report {

std::string_view report_page() noexcept {
  return {genscope_report_page,
          static_cast<std::size_t>(genscope_report_page_end - genscope_report_page)};
}

std::string_view live_page() noexcept {
  return {genscope_live_page,
          static_cast<std::size_t>(genscope_live_page_end - genscope_live_page)};
}

}  // namespace genscope::report
