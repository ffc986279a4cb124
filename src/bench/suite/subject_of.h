// What a suite measures.
#pragma once

#include <memory>

#include "bench/suite/suite.h"

namespace genscope::bench {

// `folder`: of the run, for what the runs leave behind.
Result<std::unique_ptr<Subject>> subject_of(const Suite& suite, const SuiteOptions& options,
                                            const std::string& folder);
// Its endpoint; and the server that is to be started for it, if it says one.
HttpOptions suite_http(const Suite& suite);
std::optional<ServerOptions> suite_server(const Suite& suite, const HttpOptions& http);
// For people: the command or the address.
std::string subject_label(const Suite& suite);

}  // namespace genscope::bench
