// genscope bench vlm
#include <fmt/format.h>

#include <fstream>

#include "base/file.h"
#include "bench/output/words.h"
#include "bench/validate/column.h"
#include "cli/bench/live_view.h"
#include "cli/bench/prompted.h"
#include "cli/bench/verbs.h"
#include "cli/exit_code.h"

namespace genscope::cli::bench {
namespace {

constexpr const char* kVlmFooter =
    "What an image adds to a prompt: the same prompts as text alone and with an image, in\n"
    "turns. CMD has {prompt} and {image}; of --text-only and --with-image each is a command of\n"
    "its own. A URL is asked as an OpenAI chat and streams: then the time to the first token\n"
    "and the time per token are measured, too. Commands that record show their stages.\n\n"
    "Examples:\n"
    "  genscope bench vlm --text-only 'python vl.py {prompt}' \\\n"
    "      --with-image 'python vl.py {prompt} cat.png' --prompt 'What is this?'\n"
    "  genscope bench vlm http://127.0.0.1:8000/v1/chat/completions --model qwen2-vl \\\n"
    "      --image cat.png --prompts questions.txt\n\n"
    "Exit codes, the first that applies:\n"
    "  2    usage\n"
    "  7    nothing was measured\n"
    "  5    the environment: no space, an I/O error\n"
    "  4    a run failed\n"
    "  0    measured\n"
    "  130  interrupted; what was measured is shown\n";

constexpr std::size_t kMaxImageBytes = 64 << 20;

std::string base64_of(std::string_view bytes) {
  static constexpr char kLetters[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      word = word << 8 | (i + k < bytes.size() ? static_cast<std::uint8_t>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += i + k <= bytes.size() ? kLetters[word >> (18 - 6 * k) & 63] : '=';
    }
  }
  return out;
}

class Vlm final : public Command {
 public:
  const char* name() const override { return "vlm"; }
  const char* summary() const override { return "Text against image: what an image costs"; }
  void add_options(Options& options) override {
    options.add("CMD", what_, "",
                "Command with {prompt} and {image}, or the URL of an OpenAI chat");
    options.add("--text-only", text_only_, "CMD", "Command for text alone");
    options.add("--with-image", with_image_, "CMD", "Command for text and image");
    options.add("--image", image_, "FILE", "The image: {image} in CMD, or sent to the URL");
    options.add("--units", units_, "N", "Runs a side").range(2, 1e6).show_default();
    prompts_.add_options(options);
    outputs_.add_options(options);
    options.footer(kVlmFooter);
  }

  Result<int> run(const Globals& globals) override {
    if (const Status checked = check(); !checked) return checked.error();
    Result<std::unique_ptr<core::Subject>> text = subject(false), image = subject(true);
    if (!text) return text.error();
    if (!image) return image.error();
    const Interruptible interruptible;
    core::BenchResult result = begin_result("vlm", 1);
    result.labels = {{"A", "text alone"}, {"B", "with image"}};
    core::MeasureOptions options;
    options.units_min = options.units_max = units_;
    options.warmup_max = prompts_.warmup();
    options.prompts = prompts_.prompts();
    options.seeds = prompts_.seeds();
    options.timeout_s = prompts_.timeout_s();
    const core::Side sides[] = {{'A', text->get(), {{"image", ""}}},
                                {'B', image->get(), {{"image", image_value_}}}};
    {
      LiveView view(globals.quiet, false);
      view.begin("text and image in turns");
      result.cells.push_back(
          core::measure("vlm", {}, sides, options, [&](const core::Progress& progress) {
            view.tell(progress);
            return !core::cancelled();
          }));
    }
    return report(result);
  }

 private:
  Status check() {
    if (const Status checked = prompts_.check(); !checked) return checked;
    const bool two = !text_only_.empty() && !with_image_.empty();
    const auto usage = [](std::string message) {
      return Error{ErrorCode::invalid_argument, std::move(message)};
    };
    if (two != what_.empty() || text_only_.empty() != with_image_.empty()) {
      return usage("give CMD or a URL, or both --text-only and --with-image");
    }
    if (what_.empty()) return Done{};
    if (prompts_.prompts().empty()) return usage("no prompt; give --prompts FILE or --prompt TEXT");
    if (image_.empty()) return usage("no image; give --image FILE");
    if (!is_url(what_) && what_.find("{image}") == std::string::npos) {
      return usage(
          "CMD has no {image}; write {image} where the file goes, or give --text-only and "
          "--with-image");
    }
    const Result<std::string> bytes = base::read_file(image_, kMaxImageBytes);
    if (!bytes) return bytes.error();
    image_value_ = image_;
    if (!is_url(what_)) return Done{};
    const bool jpeg = bytes->starts_with("\xff\xd8");
    image_value_ = fmt::format("data:image/{};base64,{}", jpeg ? "jpeg" : "png", base64_of(*bytes));
    return Done{};
  }

  Result<std::unique_ptr<core::Subject>> subject(bool image) const {
    if (what_.empty()) return prompts_.subject(image ? with_image_ : text_only_);
    if (!is_url(what_)) return prompts_.subject(what_);
    core::HttpOptions options;
    options.url = what_;
    options.endpoint = "openai-chat";
    prompts_.tls().apply(options);
    Json content = "{prompt}";
    if (image) {
      content = Json::array({{{"type", "text"}, {"text", "{prompt}"}},
                             {{"type", "image_url"}, {"image_url", {{"url", "{image}"}}}}});
    }
    Json body{{"messages", Json::array({{{"role", "user"}, {"content", std::move(content)}}})},
              {"stream", true},
              {"stream_options", {{"include_usage", true}}}};
    if (!prompts_.model().empty()) body["model"] = prompts_.model();
    options.body = body.dump();
    if (prompts_.timeout_s()) options.timeout_s = *prompts_.timeout_s();
    return core::http_subject(std::move(options));
  }

  Result<int> report(core::BenchResult& result) {
    const core::Cell& cell = result.cells[0];
    result.exit = core::decide_exit(result, false);
    std::string text;
    Json finding;
    const auto both = [&](const std::string& metric, const char* words) {
      const std::vector<double> alone = good_values(cell, 'A', metric),
                                with = good_values(cell, 'B', metric);
      finding[metric] = {{"text", figures(alone)}, {"image", figures(with)}};
      if (alone.empty() && with.empty()) return;
      text += fmt::format("{:<20} text alone {}; with image {}\n", words, time_words(alone),
                          time_words(with));
    };
    both("latency_s", "time");
    add_difference(cell, text, finding);
    both("ttft_s", "first token");
    both("tpot_s", "each further token");
    if (good_values(cell, 'A', "ttft_s").empty()) {
      const std::string why =
          is_url(what_) ? "the answer did not stream" : "a command does not stream; give a URL";
      finding["absent"] = {{"ttft_s", why}, {"tpot_s", why}};
      text += fmt::format("time to first token and per token: not known: {}\n", why);
    }
    add_stages(cell, text, finding);
    if (cell.failure) text += fmt::format("failed: {}\n", cell.failure->detail);
    return outputs_.finish(result, "genscope.bench_vlm/1", text, std::move(finding));
  }

  // What the image adds: of pairs, that ran next to each other.
  static void add_difference(const core::Cell& cell, std::string& text, Json& finding) {
    const std::vector<double> alone = core::unit_values(cell, 'A', "latency_s");
    const std::vector<double> with = core::unit_values(cell, 'B', "latency_s");
    const auto found = core::difference_of(alone, with, alone.size() == with.size());
    if (!found) return;
    const core::Metric metric = core::metric("latency_s");
    Json added{{"seconds", found->difference}};
    text += fmt::format("the image adds       {}", core::figure(metric.name, found->difference));
    if (found->interval) {
      added["ci"] = {found->interval->low, found->interval->high};
      text += fmt::format(" (95 %: {} to {})", core::figure(metric.name, found->interval->low),
                          core::figure(metric.name, found->interval->high));
    }
    text += "\n";
    finding["image_adds_s"] = std::move(added);
  }

  static void add_stages(const core::Cell& cell, std::string& text, Json& finding) {
    std::map<std::string, std::map<char, std::vector<double>>> stages;
    for (const core::Unit& unit : cell.units) {
      for (const core::Sample& sample : unit.samples) {
        for (const auto& [stage, part] : sample.stages)
          stages[stage][unit.slot].push_back(part.seconds);
      }
    }
    Json rows = Json::object();
    for (auto& [stage, sides] : stages) {
      text += fmt::format("stage {:<14} text alone {}; with image {}\n", stage,
                          time_words(sides['A']), time_words(sides['B']));
      rows[stage] = {{"text", figures(sides['A'])}, {"image", figures(sides['B'])}};
    }
    if (!stages.empty()) finding["stages"] = std::move(rows);
  }

  std::string what_, text_only_, with_image_, image_, image_value_;
  std::uint64_t units_ = 8;
  PromptFlags prompts_;
  FindingOutputs outputs_;
};

}  // namespace

std::unique_ptr<Command> make_vlm() { return std::make_unique<Vlm>(); }

}  // namespace genscope::cli::bench
