// JSON becomes a ServiceAsk, or a reason why not.
#pragma once

#include <string>
#include <string_view>

#include <genscope/optimize/cache.h>
#include <genscope/service.h>

namespace genscope::service {

// Complaints name the field and what it may be. `stop` is not set.
Result<ServiceAsk> read_ask(const ServiceOptions& options, std::string_view body);

// Everything that goes into the answer.
optimize::Key answer_key(const ServiceOptions& options, const ServiceAsk& ask);
// What must be equal for two to share a run.
std::string batch_key(const ServiceOptions& options, const ServiceAsk& ask);

// Complaints about the options themselves.
Status check(const ServiceOptions& options);

}  // namespace genscope::service
