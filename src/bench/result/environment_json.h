// The environment of a result as JSON. In memory the fingerprint is a flat map; "gpus.0.name" there
// is {"gpus": [{"name": ...}]} in the file, and counts ("cores", names that end in _bytes) are
// numbers.
#pragma once

#include <genscope/bench.h>

#include "bench/result/json_fields.h"

namespace genscope::bench {

void fields(FieldWriting& io, const Environment& environment);
void fields(FieldReading& io, Environment& environment);

}  // namespace genscope::bench
