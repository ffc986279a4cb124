// A command's text as words, and whether a shell has to read it.
#pragma once

#include <string>
#include <vector>

#include <genscope/bench.h>
#include <genscope/error.h>

namespace genscope::cli::bench {

// As a shell would split it: blanks, quotes and backslashes; nothing else is special.
Result<std::vector<std::string>> split_words(const std::string& text);

// Whether `sh -c` could do anything but start a program with these words: it has a character that
// is special to a shell, an assignment, a word of the shell's own, or a program that is not found
// or has no first line that says what runs it. `text` is final: parameters are in it.
bool needs_shell(const std::string& text);

}  // namespace genscope::cli::bench
