// A cell as JSON, as it stands in a result; for the result itself and for the journal of a suite.
#pragma once

#include <string>
#include <string_view>

#include <genscope/bench.h>

#include "bench/result/json_fields.h"

namespace genscope::bench {

// One line, no newline at its end.
std::string cell_to_json(const Cell& cell, bool identify = false);
// `name`: of the file, for messages.
Result<Cell> cell_from_json(std::string_view text, std::string_view name);

void fields(FieldWriting& io, const Cell& cell);
void fields(FieldReading& io, Cell& cell);
void check(JsonReader& in, const Cell& cell);

void fields(FieldWriting& io, const Failure& failure);
void fields(FieldReading& io, Failure& failure);

}  // namespace genscope::bench
