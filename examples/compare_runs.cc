// Two runs of one program, and what differs between them.
#include <genscope/analyze.h>
#include <genscope/record.h>
#include <genscope/report.h>
#include <genscope/store.h>

#include <cmath>
#include <cstdio>
#include <string>

namespace {

// A generation whose steps do so much work; returns its run directory.
std::string generate(int work, const char* attention) {
  const genscope::Session session{"compare-runs"};
  session.arg("steps", 12);  // what makes runs comparable, or not: docs/compare.md
  session.arg("attn", attention);
  const genscope::Stage stage{"denoising"};
  double x = 1;
  for (int i = 0; i < 12; ++i) {
    const genscope::Step step{i};
    for (int k = 0; k < work; ++k) x = std::sqrt(x + k);
  }
  return x > 0 ? session.run_dir() : "";
}

}  // namespace

int main() {
  const std::string before = generate(400'000, "math"), after = generate(100'000, "flash");
  // [snippet compare]
  const genscope::Result<genscope::Run> a = genscope::read_run(before);
  const genscope::Result<genscope::Run> b = genscope::read_run(after);
  if (!a || !b) {
    std::fprintf(stderr, "%s\n", (a ? b : a).error().message.c_str());
    return 1;
  }
  const genscope::Comparison comparison = genscope::compare(
      *a, genscope::analyze(*a), *b, genscope::analyze(*b), {.target_seconds = 1.0});
  genscope::compare_text(comparison, {}, [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
  });
  // [/snippet]
  return comparison.incomparable.empty() && !comparison.rows.empty() ? 0 : 1;
}
