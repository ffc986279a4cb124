#include "watch/python_trouble.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace genscope::watch {
namespace {

using Words = std::vector<std::string>;

TEST(PythonTrouble, SwitchesThatKeepTheHooksOutAreNamed) {
  for (const Words& command :
       {Words{"python3", "-I", "gen.py"}, Words{"/usr/bin/python3.11", "-uS", "gen.py"},
        Words{"python", "-X", "dev", "-E", "-m", "gen"}, Words{"env", "A=b", "python3", "-I", "x"},
        Words{"python3", "-Wignore", "-s", "-bI", "-c", "1"}}) {
    const auto trouble = python_trouble(command, "/inject");
    ASSERT_TRUE(trouble) << command[1];
    EXPECT_NE(trouble->remedy.find("hooks.install()"), std::string::npos);
  }
}

TEST(PythonTrouble, TheProgramsOwnSwitchesAreNotPythons) {
  for (const Words& command :
       {Words{"python3", "gen.py", "-I"}, Words{"python3", "-m", "gen", "-S"},
        Words{"python3", "-c", "1", "-E"}, Words{"python3", "-u", "-W", "error", "gen.py"},
        Words{"sh", "-E"}, Words{"python-config", "-I"}, Words{"/no/such/program", "-I"},
        Words{}}) {
    EXPECT_FALSE(python_trouble(command, "/inject"));
  }
}

TEST(PythonTrouble, WithoutThePackageThereIsNoHook) {
  EXPECT_TRUE(python_trouble({"python3", "gen.py"}, ""));
  EXPECT_FALSE(python_trouble({"sh", "gen.sh"}, ""));
}

TEST(PythonTrouble, ScriptsSayTheirInterpreterAndNotesAreTakenAway) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("genscope-python-trouble-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string script = (folder / "gen").string();
  std::ofstream(script) << "#!/usr/bin/python3 -I\nprint(1)\n";
  EXPECT_TRUE(python_trouble({script}, "/inject"));
  EXPECT_TRUE(is_python_program({script}));
  EXPECT_FALSE(is_python_program({"sh", script}));
  std::ofstream(folder / "7.python-note") << "/usr/bin/python3.8 is older than 3.10\n";
  const auto trouble = take_python_notes(folder.string());
  ASSERT_TRUE(trouble);
  EXPECT_EQ(trouble->reason, "/usr/bin/python3.8 is older than 3.10");
  EXPECT_EQ(trouble->remedy, "use Python 3.10 or later");
  EXPECT_FALSE(take_python_notes(folder.string()));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace genscope::watch
