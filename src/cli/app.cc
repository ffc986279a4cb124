#include "cli/app.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <new>
#include <span>
#include <string_view>

#include <genscope/version.h>

#include "base/suggest.h"
#include "cli/exit_code.h"
#include "cli/output.h"

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
  const bool is_command = !is_option && app.get_subcommands().empty();
  std::vector<std::string> known;
  if (is_option) known = known_options(app);
  if (is_command) {
    for (const CLI::App* command : app.get_subcommands({})) known.push_back(command->get_name());
  }
  const char* what = is_option ? "unknown option" : is_command ? "unknown command" : "unexpected";
  const std::string meant = base::nearest(word, known);
  return fmt::format("{} '{}'{}", what, word,
                     meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant));
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
  if (word == "-h" || word == "--help") return;
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

void add_command(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand(command.name(), command.summary());
  sub->set_help_flag("-h,--help", "Show this help");
  Options options(*sub);
  command.add_options(options);
  for (Command* const verb : command.verbs()) add_command(*sub, *verb);
}

// The one that was parsed, innermost; null if none was.
Command* parsed_of(const CLI::App& app, std::span<Command* const> commands) {
  for (Command* const command : commands) {
    if (!app.got_subcommand(command->name())) continue;
    const std::vector<Command*> verbs = command->verbs();
    if (verbs.empty()) return command;
    return parsed_of(*app.get_subcommand(command->name()), verbs);
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
  app.footer(std::string("`genscope COMMAND --help` describes a command.\n\n") + kExitCodesHelp);
  for (const auto& command : commands) add_command(app, *command);
  try {
    const std::vector<const char*> words = without_tail(argc, argv, commands);
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
  std::cerr << parsed_command(app).help();
  return kBadInput;
}

}  // namespace genscope::cli
