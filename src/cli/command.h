// Command: one subcommand of genscope. A command is thin: it reads its options, calls the public
// API and prints; what it knows about the domain belongs below it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <genscope/error.h>

#include "cli/options.h"

namespace genscope::cli {

// Options before or after any subcommand.
struct Globals {
  bool quiet = false;          // results and errors only
  std::string color = "auto";  // auto, always, never
};

class Command {
 public:
  virtual ~Command() = default;
  virtual const char* name() const = 0;
  virtual const char* summary() const = 0;  // one line of `genscope --help`
  // Adds options, positionals and the footer; what they set is kept in this object.
  virtual void add_options(Options& options) = 0;
  // Whether it is for genscope itself: not in the help.
  virtual bool hidden() const { return false; }
  // Whether the words after `--` are another program's. They are then not parsed but handed over as
  // they are, before run().
  virtual bool wants_tail() const { return false; }
  virtual void set_tail(std::vector<std::string>) {}
  // Whether its first word that is no option begins that program's command, so that `--` before it
  // can be left out.
  virtual bool takes_command() const { return false; }
  // Commands within this one, `genscope bench ab`; then it is never run itself. They live as long
  // as this object.
  virtual std::vector<Command*> verbs() { return {}; }
  // The verb that is meant where the first word is none of them: `genscope bench 'sleep 1'`.
  virtual const char* default_verb() const { return nullptr; }
  // The exit code, or what went wrong.
  virtual Result<int> run(const Globals& globals) = 0;
};

std::unique_ptr<Command> make_run();
std::unique_ptr<Command> make_report();
std::unique_ptr<Command> make_advise();
std::unique_ptr<Command> make_compare();
std::unique_ptr<Command> make_aggregate();
std::unique_ptr<Command> make_import();
std::unique_ptr<Command> make_demo();
std::unique_ptr<Command> make_list();
std::unique_ptr<Command> make_rm();
std::unique_ptr<Command> make_tag();
std::unique_ptr<Command> make_prune();
std::unique_ptr<Command> make_top();
std::unique_ptr<Command> make_doctor();
std::unique_ptr<Command> make_inspect();
std::unique_ptr<Command> make_serve();
std::unique_ptr<Command> make_predict();
std::unique_ptr<Command> make_bench();
std::unique_ptr<Command> make_probe_child();  // hidden: for genscope itself

// In the order of `genscope --help`.
std::vector<std::unique_ptr<Command>> all_commands();

}  // namespace genscope::cli
