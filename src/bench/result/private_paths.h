// Words of others (commands, messages, file names), made fit to be shared: secrets masked, and the
// folders of this machine left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace genscope::bench {

// "/home/me/models/gen.py --x=/tmp/out/a.png" -> "gen.py --x=a.png". An absolute path is one that
// begins a word or follows = : , ; ( < > | & or a quote; those of the system (/bin, /dev, /etc,
// /lib, /proc, /sbin, /sys, /usr) stay, and so do URLs. Linear in the text.
std::string without_folders(std::string_view text);

// Masked by base/secrets.h, and without folders unless `identify`.
std::string shareable(std::string_view text, bool identify);
// `words`: of one command line, so that the value of an option may be the next word.
std::vector<std::string> shareable(const std::vector<std::string>& texts, bool identify,
                                   bool words);

}  // namespace genscope::bench
