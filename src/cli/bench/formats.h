// The formats of a result, by name: for --export and for `bench report`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/output/output.h"

namespace genscope::cli::bench {

// json, md, csv, junit, gha, gha-bigger, bmf, html: in the order of the help.
const std::vector<std::string>& result_formats();
// `format` is one of them.
void write_result_as(std::string_view format, const genscope::bench::BenchResult& result,
                     const Sink& sink);
// html with the past of the result from the index.
void write_result_page(const genscope::bench::BenchResult& result,
                       genscope::bench::ResultPageOptions options, const Sink& sink);

}  // namespace genscope::cli::bench
