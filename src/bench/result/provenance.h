// Where a result comes from.
#pragma once

#include <cstdint>
#include <string_view>

#include <genscope/bench.h>

namespace genscope::bench {

// A result with what is known before measuring, but for the environment: id, time, words of the
// command line, version and, within a Git checkout, its commit.
BenchResult new_result(std::string_view verb, std::uint64_t seed);

// For BenchResult::workload_hash: results of other work are not compared.
std::string hash_of_work(const std::map<std::string, std::string>& work);

}  // namespace genscope::bench
