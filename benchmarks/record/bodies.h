// The loops that are timed. Each is out of line, so that callgrind can count inside it.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/measure.h"

namespace bench {

void empty_loop(std::uint64_t n);
void tsc_pair(std::uint64_t n);
void tsc_and_store(std::uint64_t n);
void static_span(std::uint64_t n);
void span_with_arguments(std::uint64_t n);
void dynamic_span(std::uint64_t n);
void span_of_many_names(std::uint64_t n);    // 65,536, one after another
void span_of_random_names(std::uint64_t n);  // the same in no order
void read_random_names(std::uint64_t n);     // and without a span: their names are read
void numbered_step(std::uint64_t n);
void detached_span(std::uint64_t n);
void detached_dynamic_span(std::uint64_t n);
void counter_by_name(std::uint64_t n);
void static_counter(std::uint64_t n);
void event_by_name(std::uint64_t n);
// The same loop with a span that GENSCOPE_OFF removes, in its own translation unit.
void compiled_out_span(std::uint64_t n);

// Ticks of each of `n` single calls of `body`, with irregular work between them.
std::vector<double> latencies(Body body, std::size_t n);
double tick_ns();

}  // namespace bench
