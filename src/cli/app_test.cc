#include "cli/app.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "cli/exit_code.h"
#include "cli/output.h"

namespace genscope::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Stands in for report: same option names, does what the test wants.
class Fake final : public Command {
 public:
  using Body = std::function<Result<int>(const Globals&)>;
  explicit Fake(Body body) : body_(std::move(body)) {}
  const char* name() const override { return "report"; }
  const char* summary() const override { return "Fake"; }
  void add_options(Options& options) override {
    options.add("-f,--format", format_, "FORMAT", "Format");
  }
  Result<int> run(const Globals& globals) override { return body_(globals); }

 private:
  Body body_;
  std::string format_;
};

// Stands in for run: keeps the words after --.
class Runner final : public Command {
 public:
  explicit Runner(std::vector<std::string>& tail) : tail_(tail) {}
  const char* name() const override { return "run"; }
  const char* summary() const override { return "Fake"; }
  void add_options(Options& options) override { options.add("--name", name_, "NAME", "Name"); }
  bool wants_tail() const override { return true; }
  bool takes_command() const override { return true; }
  void set_tail(std::vector<std::string> words) override { tail_ = std::move(words); }
  Result<int> run(const Globals& globals) override { return globals.quiet ? 1 : 0; }

 private:
  std::vector<std::string>& tail_;
  std::string name_;
};

int run_with_tail(std::vector<const char*> words, std::vector<std::string>& tail) {
  words.insert(words.begin(), "genscope");
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(std::make_unique<Runner>(tail));
  return run_app(static_cast<int>(words.size()), words.data(), std::move(commands));
}

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

Outcome run(
    std::vector<const char*> words, Fake::Body body = [](const Globals&) { return 0; }) {
  words.insert(words.begin(), "genscope");
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(std::make_unique<Fake>(std::move(body)));
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.code = run_app(static_cast<int>(words.size()), words.data(), std::move(commands));
  outcome.out = ::testing::internal::GetCapturedStdout();
  outcome.err = ::testing::internal::GetCapturedStderr();
  return outcome;
}

TEST(App, VersionAndHelpGoToStdout) {
  const Outcome version = run({"--version"});
  EXPECT_EQ(version.code, kFine);
  EXPECT_THAT(version.out, StartsWith("genscope "));
  const Outcome help = run({"report", "--help"});
  EXPECT_EQ(help.code, kFine);
  EXPECT_THAT(help.out, HasSubstr("--format"));
  EXPECT_EQ(help.err, "");
}

TEST(App, WithoutACommandItHelpsOnStderr) {
  const Outcome outcome = run({});
  EXPECT_EQ(outcome.code, kBadInput);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("report"));
}

TEST(App, SuggestsTheNearestCommand) {
  const Outcome outcome = run({"reprot", "x"});
  EXPECT_EQ(outcome.code, kBadInput);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err,
            "genscope: unknown command 'reprot'; did you mean 'report'?\nSee `genscope --help`.\n");
}

TEST(App, SuggestsTheNearestOptionOfTheCommand) {
  const Outcome outcome = run({"report", "--fromat=json"});
  EXPECT_EQ(outcome.code, kBadInput);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("unknown option '--fromat'; did you mean '--format'?"),
                                 HasSubstr("genscope report --help")));
  EXPECT_THAT(run({"report", "--quite"}).err, HasSubstr("did you mean '--quiet'?"));
  EXPECT_THAT(run({"report", "--zzzzzzz"}).err, Not(HasSubstr("did you mean")));
}

TEST(App, GlobalOptionsMayFollowTheCommand) {
  Globals seen;
  const auto keep = [&](const Globals& globals) {
    seen = globals;
    return 0;
  };
  EXPECT_EQ(run({"report", "--quiet", "--color", "never"}, keep).code, kFine);
  EXPECT_TRUE(seen.quiet);
  EXPECT_EQ(seen.color, "never");
  EXPECT_EQ(run({"--color", "pink", "report"}, keep).code, kBadInput);
}

TEST(App, AnErrorBecomesAMessageAndACode) {
  const auto fails = [](const Globals&) -> Result<int> {
    return Error{ErrorCode::not_found, "no run at \x1b[31mx"};
  };
  const Outcome outcome = run({"report"}, fails);
  EXPECT_EQ(outcome.code, kBadInput);
  EXPECT_EQ(outcome.err, "genscope: no run at \\x1b[31mx\n");
  EXPECT_EQ(exit_code(ErrorCode::no_space), kUnfit);
}

TEST(App, ABrokenPipeIsQuietAndFine) {
  const auto stops = [](const Globals&) -> Result<int> { throw BrokenPipe{}; };
  const Outcome outcome = run({"report"}, stops);
  EXPECT_EQ(outcome.code, kFine);
  EXPECT_EQ(outcome.err, "");
}

TEST(App, TheCommandsCodeIsPassedOn) {
  EXPECT_EQ(run({"report"}, [](const Globals&) { return 7; }).code, kNothingMeasured);
}

TEST(App, TheCommandToRunNeedsNoDashes) {
  std::vector<std::string> tail;
  EXPECT_EQ(
      run_with_tail({"run", "--name", "x", "--quiet", "sh", "-c", "--quiet", "--", "y"}, tail), 1);
  EXPECT_THAT(tail, ::testing::ElementsAre("sh", "-c", "--quiet", "--", "y"));
  EXPECT_EQ(run_with_tail({"--color", "never", "run", "--name=x", "ls"}, tail), 0);
  EXPECT_THAT(tail, ::testing::ElementsAre("ls"));
  tail.clear();
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(run_with_tail({"run", "--nmae", "x", "ls"}, tail), kBadInput);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("unknown option '--nmae'; did you mean '--name'?"),
                    HasSubstr("genscope run [OPTIONS] CMD [ARG...]")));
  EXPECT_TRUE(tail.empty());
}

TEST(App, HelpIsACommandToo) {
  EXPECT_THAT(run({"help", "report"}).out, HasSubstr("--format"));
  EXPECT_THAT(run({"help"}).out, HasSubstr("report"));
  EXPECT_EQ(run({"help", "reprot"}).code, kBadInput);
}

TEST(App, WordsAfterTheDashesAreHandedOverAsTheyAre) {
  std::vector<std::string> tail;
  EXPECT_EQ(run_with_tail({"run", "--name", "x", "--", "[a,b]", "", "--quiet", "--", "run"}, tail),
            0);
  EXPECT_THAT(tail, ::testing::ElementsAre("[a,b]", "", "--quiet", "--", "run"));
  EXPECT_EQ(run_with_tail({"--quiet", "run", "--"}, tail), 1) << "a global option before it";
  EXPECT_THAT(tail, ::testing::IsEmpty());
}

TEST(App, EveryCommandHasHelpWithExamplesAndExitCodes) {
  for (const auto& command : all_commands()) {
    if (command->name() == std::string_view("probe-child")) continue;  // not for people
    const std::vector<const char*> words = {"genscope", command->name(), "--help"};
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(run_app(3, words.data(), all_commands()), kFine);
    EXPECT_THAT(::testing::internal::GetCapturedStdout(),
                AllOf(HasSubstr("Examples:"), HasSubstr("Exit codes")));
  }
}

TEST(App, ReportOfNothingIsBadInput) {
  const std::vector<const char*> words = {"genscope", "report", "/nonexistent/run"};
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(run_app(3, words.data(), all_commands()), kBadInput);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(StartsWith("genscope: "), HasSubstr("/nonexistent/run")));
}

}  // namespace
}  // namespace genscope::cli
