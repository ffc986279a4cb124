// What stdout, or stderr, can show.
#pragma once

#include <unistd.h>

#include <string>

namespace genscope::base {

// Columns of the terminal, of $COLUMNS, or 120 when neither says.
int output_width(int fd = STDOUT_FILENO);

// Whether the locale says that what we print is read as UTF-8.
bool output_is_utf8();

// Whether to colour it for `choice` auto, always or never; auto heeds NO_COLOR and TERM=dumb.
bool use_color(const std::string& choice, int fd = STDOUT_FILENO);

}  // namespace genscope::base
