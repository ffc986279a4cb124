// What a result says about its cells, as JSON: comparisons, targets, quality, load.
#pragma once

#include <genscope/bench.h>

#include "bench/result/json_fields.h"

namespace genscope::bench {

void fields(FieldWriting& io, const Comparison& comparison);
void fields(FieldReading& io, Comparison& comparison);
void fields(FieldWriting& io, const TargetResult& target);
void fields(FieldReading& io, TargetResult& target);
void fields(FieldWriting& io, const QualityResult& quality);
void fields(FieldReading& io, QualityResult& quality);
void fields(FieldWriting& io, const LoadResultSummary& load);
void fields(FieldReading& io, LoadResultSummary& load);

// One line, no newline at its end. `name`: of the file, for messages.
std::string load_to_json(const LoadResultSummary& load);
Result<LoadResultSummary> load_from_json(std::string_view text, std::string_view name);

}  // namespace genscope::bench
