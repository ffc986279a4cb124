// Options: how a command says what it takes. The parser behind it is CLI11, which takes as long to
// compile as ten files of ours; so only options.cc and app.cc include it.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace genscope::cli {

// An option or positional that was added; each call narrows it. What it refuses is a usage error
// that names the option.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option& required();
  Option& one_of(std::vector<std::string> words);
  Option& range(double lowest, double highest);
  Option& positive();
  Option& split_at(char separator);  // one word is several values
  Option& one_each();                // of a list: each mention takes one value, not all that follow
  Option& excludes(const Option& other);  // not both
  Option& needs(const Option& other);     // not this one alone
  Option& show_default();                 // in the help

 private:
  CLI::Option* option_;
};

class Options {
 public:
  explicit Options(CLI::App& app) : app_(app) {}

  // `names`: "-o,--out" for an option, "RUN" for a positional. `type` is the word for the value in
  // the help, "" for none. `value` lives as long as the parser. For std::string, int, double,
  // std::uint64_t, std::optional of those, std::vector<std::string>, and of pairs of strings.
  template <class T>
  Option add(const std::string& names, T& value, const std::string& type, const std::string& help);
  // "!--no-x" sets `value` to false.
  Option flag(const std::string& names, bool& value, const std::string& help = "");
  // Below the options: explanation, examples, exit codes.
  void footer(const std::string& text);

 private:
  CLI::App& app_;
};

}  // namespace genscope::cli
