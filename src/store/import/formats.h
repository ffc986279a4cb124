// The formats of other tools: which one a file has, by its first bytes, and a reader for each.
//
// Each reader turns what it reads into events of a Chrome trace, and gives an Error that names what
// is wrong if the bytes are not of its format.
#pragma once

#include <string>

#include <genscope/store.h>

#include "store/import/emitter.h"

namespace genscope::store {

enum class Format : std::uint8_t { chrome, speedscope, cprofile, torch_memory, nsys };

// Chrome's for all that is none of the others, also for what cannot be read: its reader says why.
Format format_of(const std::string& path, const ImportOptions& options);

// What helps with a file that is known to be of no use as it is: "" or " (export it ...)".
std::string remedy_for(const std::string& path);

// speedscope's, as py-spy and pyinstrument write it: each profile a thread, each call a complete
// event. The file is read whole: what a stack is stands at its end or its begin, as the writer
// likes. One that holds no time is an error.
Result<ForeignRead> read_speedscope(const std::string& path, const ImportOptions& options,
                                    ChromeHandler& handler);
// cProfile's and profile's, as Stats.dump_stats() and `python -m cProfile -o` write them.
Result<ForeignRead> read_cprofile(const std::string& path, const ImportOptions& options,
                                  ChromeHandler& handler);
// Memory snapshots of PyTorch, as torch.cuda.memory._dump_snapshot() writes them. One that asks to
// run anything is an error.
Result<ForeignRead> read_torch_memory(const std::string& path, const ImportOptions& options,
                                      ChromeHandler& handler);
// The SQLite file that `nsys export --type sqlite` writes of a report of Nsight Systems.
Result<ForeignRead> read_nsys(const std::string& path, const ImportOptions& options,
                              ChromeHandler& handler);

}  // namespace genscope::store
