// Instructions per span, counted by callgrind in a child process: the same on any machine load.
#pragma once

#include <string>
#include <vector>

#include "harness/table.h"

namespace bench {

// Adds rows for the bodies; a note instead of figures where valgrind is not installed.
void instruction_rows(const char* program, Table& table);

// What the child runs: "--callgrind-body NAME COUNT".
int callgrind_body(const std::vector<std::string>& args);

}  // namespace bench
