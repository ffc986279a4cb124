#include "cli/app.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <new>
#include <span>
#include <string_view>

#include <genscope/version.h>

#include "base/suggest.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "watch/program.h"

namespace genscope::cli {
namespace {

// The innermost command that was named.
const CLI::App& parsed_command(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : parsed_command(*parsed.front());
}

// Names of the options that could have been meant, with their dashes.
std::vector<std::string> known_options(const CLI::App& app) {
  std::vector<std::string> known;
  for (const CLI::App* place : {&app, &parsed_command(app)}) {
    for (const CLI::Option* option : place->get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
  }
  return known;
}

std::string explain_unknown(const CLI::App& app) {
  const std::vector<std::string> left = app.remaining(true);
  const std::string word = left.empty() ? "" : left.front().substr(0, left.front().find('='));
  const bool is_option = word.starts_with("-");
  std::vector<std::string> known;
  if (is_option) known = known_options(app);
  const std::vector<const CLI::App*> commands = parsed_command(app).get_subcommands({});
  const bool is_command = !is_option && !commands.empty();  // a command, or a verb of one
  if (is_command) {
    for (const CLI::App* command : commands) known.push_back(command->get_name());
  }
  const char* what = is_option ? "unknown option" : is_command ? "unknown command" : "unexpected";
  const std::string meant = base::nearest(word, known);
  const bool runs = is_option && parsed_command(app).get_name() == "run";
  return fmt::format(
      "{} '{}'{}{}", what, word, meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant),
      runs ? "\nOptions of the command go behind it: genscope run [OPTIONS] CMD [ARG...]" : "");
}

std::string help_hint(const CLI::App& app) {
  const CLI::App& command = parsed_command(app);
  std::string names;
  for (const CLI::App* place = &command; place != &app; place = place->get_parent()) {
    names = place->get_name() + " " + names;
  }
  return fmt::format("genscope {}--help", names);
}

int usage_error(const CLI::App& app, const std::string& message) {
  return fail({ErrorCode::invalid_argument, fmt::format("{}\nSee `{}`.", message, help_hint(app))});
}

// The command that the words name, the verb where it has verbs; null if they name none. `place` is
// where its name stands.
Command* named_command(const std::vector<const char*>& words, std::span<Command* const> commands,
                       std::size_t& place) {
  for (std::size_t i = place; i < words.size(); ++i) {
    for (Command* const command : commands) {
      if (std::string_view(words[i]) != command->name()) continue;
      place = i;
      std::size_t behind = i + 1;
      Command* const verb = named_command(words, command->verbs(), behind);
      if (verb != nullptr) place = behind;
      return verb != nullptr ? verb : command;
    }
  }
  return nullptr;
}

std::vector<Command*> pointers(const std::vector<std::unique_ptr<Command>>& commands) {
  std::vector<Command*> all;
  for (const auto& command : commands) all.push_back(command.get());
  return all;
}

// A word that nearly is a verb, and no program either: `bench comapre`.
bool is_mistyped_verb(std::string_view word, Command& command) {
  std::vector<std::string> verbs;
  for (const Command* verb : command.verbs()) verbs.emplace_back(verb->name());
  watch::CannotStart ignored;
  return word.find_first_of(" /") == std::string_view::npos &&
         !base::nearest(word, verbs).empty() &&
         watch::find_command(std::string(word), std::getenv("PATH"), ignored).empty();
}

// `bench X` is `bench cmd X` where X is no verb; `bench` and `bench --help` stay.
void name_default_verb(std::vector<const char*>& words, std::span<Command* const> commands) {
  std::size_t place = 1;
  Command* const command = named_command(words, commands, place);
  if (command == nullptr || command->default_verb() == nullptr) return;
  std::size_t next = place + 1;
  while (next < words.size()) {
    const std::string_view word = words[next];
    if (word != "--quiet" && word != "--color") break;
    next += word == "--color" ? 2 : 1;
  }
  if (next >= words.size()) return;
  const std::string_view word = words[next];
  if (word == "-h" || word == "--help" || is_mistyped_verb(word, *command)) return;
  words.insert(words.begin() + static_cast<std::ptrdiff_t>(place) + 1, command->default_verb());
}

// Takes `--` and what follows out of the words, and gives it to its owner if there is one.
std::vector<const char*> without_tail(int argc, const char* const* argv,
                                      const std::vector<std::unique_ptr<Command>>& commands) {
  std::vector<const char*> words(argv, argv + argc);
  const auto dashes = std::find_if(words.begin(), words.end(),
                                   [](const char* word) { return word == std::string_view("--"); });
  std::vector<const char*> head(words.begin(), dashes);
  name_default_verb(head, pointers(commands));
  std::size_t place = 1;
  Command* const owner = named_command(head, pointers(commands), place);
  if (owner == nullptr || !owner->wants_tail() || dashes == words.end()) {
    name_default_verb(words, pointers(commands));
    return words;
  }
  owner->set_tail({dashes + 1, words.end()});
  return head;
}

// How many words an option takes that stands at words[i], itself included; 0: it is not known.
std::size_t words_of_option(const CLI::App& app, const CLI::App& command, std::string_view word) {
  const std::size_t equals = word.find('=');
  std::string name(word.substr(0, equals));
  bool attached = equals != std::string_view::npos;
  if (!word.starts_with("--") && name.size() > 2) {  // -oDIR
    name.resize(2);
    attached = true;
  }
  for (const CLI::App* place : {&command, &app}) {
    const CLI::Option* const option = place->get_option_no_throw(name);
    if (option == nullptr) continue;
    return option->get_expected_max() == 0 || attached ? 1 : 2;
  }
  return 0;
}

// `run [OPTIONS] CMD ARG...` without `--` before CMD: hands the command over, a `--` among its own
// words included, and takes it out of `words`, which begin as `all` do. An option that is not known
// ends the search: the parser says what is wrong with it.
void take_command(const CLI::App& app, const std::vector<std::unique_ptr<Command>>& commands,
                  std::span<const char* const> all, std::vector<const char*>& words) {
  std::size_t place = 1;
  Command* const owner = named_command(words, pointers(commands), place);
  if (owner == nullptr || !owner->takes_command() || place >= words.size()) return;
  const CLI::App& command = *app.get_subcommand(owner->name());
  for (std::size_t i = place + 1; i < words.size();) {
    const std::string_view word = words[i];
    if (!word.starts_with('-') || word == "-") {
      owner->set_tail(
          std::vector<std::string>(all.begin() + static_cast<std::ptrdiff_t>(i), all.end()));
      words.resize(i);
      return;
    }
    const std::size_t taken = words_of_option(app, command, word);
    if (taken == 0) return;
    i += taken;
  }
}

// `help COMMAND` is `COMMAND --help`; of an unknown command the parser says so.
void name_help(std::vector<const char*>& words,
               const std::vector<std::unique_ptr<Command>>& commands) {
  if (words.size() < 2 || std::string_view(words[1]) != "help") return;
  words.erase(words.begin() + 1);
  std::size_t place = 1;
  if (words.size() == 1 || named_command(words, pointers(commands), place) != nullptr) {
    words.push_back("--help");
  }
}

// The command that the first such word names; null if none does. The others are then unknown to the
// parser: `report demo` asks for the run of that name.
const Command* first_named(const std::vector<const char*>& words,
                           const std::vector<std::unique_ptr<Command>>& commands) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    for (const auto& command : commands) {
      if (std::string_view(words[i]) == command->name()) return command.get();
    }
  }
  return nullptr;
}

constexpr const char* kFirstSteps =
    "genscope shows where a generative-AI pipeline spends its time.\n\n"
    "  genscope run python generate.py       watch a command, then see what took the time\n"
    "  genscope report                       the newest run again; -o report.html for the browser\n"
    "  genscope advise                       what to change, with the evidence\n"
    "  genscope compare last~1 last          what a change did\n"
    "  genscope bench ab 'CMD A' 'CMD B'     which is faster, by how much, and how sure that is\n\n"
    "`genscope help` lists all commands, `genscope help COMMAND` describes one.\n";

int run_command(Command& command, const Globals& globals) {
  try {
    const Result<int> code = command.run(globals);
    return code ? *code : fail(code.error());
  } catch (const BrokenPipe&) {
    return kFine;
  } catch (const OutputFailure& failure) {
    return fail(failure.error);
  } catch (const std::bad_alloc&) {
    return fail({ErrorCode::no_space, "out of memory"});
  }
}

void add_globals(CLI::App& app, Globals& globals) {
  app.set_help_flag("-h,--help", "Show this help");
  app.set_version_flag("--version", "genscope " GENSCOPE_VERSION_STRING, "Show the version");
  app.add_flag("--quiet", globals.quiet, "Print results and errors only");
  app.add_option("--color", globals.color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""))
      ->type_name("WHEN")
      ->capture_default_str();
}

// A command that no word names cannot be the one that is meant: it gets its line in the help and no
// options. All options of all commands took a quarter of the instructions of a short `genscope
// run`.
void add_command(CLI::App& app, Command& command, std::span<const char* const> words) {
  CLI::App* sub = app.add_subcommand(command.name(), command.summary());
  if (command.hidden()) sub->group("");
  const std::string_view name = command.name();
  if (std::find(words.begin(), words.end(), name) == words.end()) return;
  sub->set_help_flag("-h,--help", "Show this help");
  Options options(*sub);
  command.add_options(options);
  for (Command* const verb : command.verbs()) add_command(*sub, *verb, words);
}

// The one that was parsed, innermost; null if none was.
Command* parsed_of(const CLI::App& app, std::span<Command* const> commands) {
  for (const CLI::App* const parsed : app.get_subcommands()) {
    for (Command* const command : commands) {
      if (parsed->get_name() != command->name()) continue;
      const std::vector<Command*> verbs = command->verbs();
      return verbs.empty() ? command : parsed_of(*parsed, verbs);
    }
  }
  return nullptr;
}

}  // namespace

std::vector<std::unique_ptr<Command>> all_commands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(make_run());
  commands.push_back(make_report());
  commands.push_back(make_advise());
  commands.push_back(make_compare());
  commands.push_back(make_aggregate());
  commands.push_back(make_import());
  commands.push_back(make_demo());
  commands.push_back(make_list());
  commands.push_back(make_rm());
  commands.push_back(make_tag());
  commands.push_back(make_prune());
  commands.push_back(make_top());
  commands.push_back(make_doctor());
  commands.push_back(make_inspect());
  commands.push_back(make_serve());
  commands.push_back(make_predict());
  commands.push_back(make_bench());
  commands.push_back(make_probe_child());
  return commands;
}

int run_app(int argc, const char* const* argv, std::vector<std::unique_ptr<Command>> commands) {
  constexpr std::size_t kColumn = 28;
  CLI::App app("genscope shows where a generative-AI pipeline spends its time.", "genscope");
  app.get_formatter()->column_width(kColumn);
  app.fallthrough();
  Globals globals;
  add_globals(app, globals);
  app.footer(std::string("`genscope help COMMAND` describes a command.\n\n") + kExitCodesHelp);
  std::vector<const char*> words = without_tail(argc, argv, commands);
  name_help(words, commands);
  const Command* const chosen = first_named(words, commands);
  for (const auto& command : commands) {
    if (chosen == nullptr || chosen == command.get()) add_command(app, *command, words);
  }
  const std::span<const char* const> all(argv, static_cast<std::size_t>(argc));
  if (words.size() <= all.size() && std::equal(words.begin(), words.end(), all.begin())) {
    take_command(app, commands, all, words);
  }
  try {
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::Success& done) {  // --help, --version
    return app.exit(done);
  } catch (const CLI::ExtrasError&) {
    return usage_error(app, explain_unknown(app));
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error.what());
  }
  if (Command* const command = parsed_of(app, pointers(commands))) {
    return run_command(*command, globals);
  }
  if (app.get_subcommands().empty()) {
    std::cerr << kFirstSteps;
  } else {
    std::cerr << parsed_command(app).help();
  }
  return kBadInput;
}

}  // namespace genscope::cli
