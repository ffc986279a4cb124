// Output: where a command writes its result, stdout or a file that appears whole or not at all.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include <genscope/error.h>
#include <genscope/report.h>

#include "cli/options.h"

namespace genscope::cli {

// Thrown by a sink to leave a report early; main() catches both.
struct BrokenPipe {};  // nobody reads any more: not an error
struct OutputFailure {
  Error error;
};

class Output {
 public:
  // "-" is stdout. A regular file is written beside its place under another name and moved there
  // by commit(); a device or pipe is written directly.
  static Result<Output> open(const std::string& path);

  Output(Output&& other) noexcept;
  Output& operator=(Output&&) = delete;
  ~Output();  // without commit() nothing is left behind

  bool is_stdout() const noexcept { return path_ == "-"; }
  // Throws BrokenPipe or OutputFailure. Valid as long as this object.
  Sink sink();
  Status commit();

 private:
  Output(std::string path, std::string target, std::string temporary, int fd)
      : path_(std::move(path)),
        target_(std::move(target)),
        temporary_(std::move(temporary)),
        fd_(fd) {}

  std::string path_;       // as the user gave it, for messages
  std::string target_;     // where it goes, links followed
  std::string temporary_;  // empty: written directly
  int fd_ = -1;
};

// -o: where a command writes; the same words in every help text.
void add_output_option(Options& options, std::string& path);
// -f, --json and -o of a command that prints text, JSON or Markdown.
void add_print_options(Options& options, std::string& format, bool& json, std::string& path);

// The format to write: `asked` if the user named one, else what the end of the file's name says, of
// those that the command has. "text" for stdout, for a name without an end, for .txt and .log. An
// end that no format has (.pdf) is an error: text in it would surprise.
Result<std::string> format_for(std::string_view asked, std::string_view path,
                               std::span<const std::string_view> formats);
inline Result<std::string> format_for(std::string_view asked, std::string_view path,
                                      std::initializer_list<std::string_view> formats) {
  return format_for(asked, path, std::span(formats.begin(), formats.size()));
}

// Opens /dev/null where stdin, stdout or stderr is closed, so that no file of ours gets its number
// and what is printed. A program that we start finds it closed as before.
void keep_standard_descriptors();

// Makes Ctrl-C and SIGTERM remove an unfinished file and exit with 128 + signal.
void clean_up_on_signals();

}  // namespace genscope::cli
