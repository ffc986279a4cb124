// genscope predict
#include <genscope/predict.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <filesystem>

#include <genscope/inspect.h>

#include "base/terminal.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/predict/view.h"

namespace genscope::cli {
namespace {

Error refuse(const std::string& message) { return {ErrorCode::invalid_argument, message}; }

// "1024x768", or one number for a square.
Status parse_size(const std::string& text, Workload& workload) {
  const char* const end = text.data() + text.size();
  const auto [after, first] = std::from_chars(text.data(), end, workload.width);
  bool fine = first == std::errc() && workload.width > 0;
  workload.height = workload.width;
  if (fine && after != end) {
    fine = (*after == 'x' || *after == 'X') && after + 1 != end;
    if (fine) {
      const auto [last, second] = std::from_chars(after + 1, end, workload.height);
      fine = second == std::errc() && last == end && workload.height > 0;
    }
  }
  if (fine) return Done{};
  return refuse(fmt::format("--size {}: give pixels as WIDTHxHEIGHT, such as 1024x768", text));
}

Status parse_dtype(const std::string& text, Workload& workload) {
  workload.dtype = find_dtype(text);
  if (workload.dtype && bits_per_element(*workload.dtype) > 0) return Done{};
  return refuse(
      fmt::format("--dtype {}: not a type of weights; for example bf16, f16, f8_e4m3, "
                  "q8_0, q4_k",
                  text));
}

class Predict final : public Command {
 public:
  const char* name() const override { return "predict"; }
  const char* summary() const override {
    return "Say what a generation costs and what the hardware allows";
  }

  void add_options(Options& options) override {
    options.add("MODEL", model_, "", "File, folder or known name; `list` shows the known names");
    add_workload(options);
    add_device(options);
    options.add("--measured-ms", measured_ms_, "MS", "Time of a measured step: also say its MFU")
        .positive();
    options.flag("--explain", explain_, "Say where every figure comes from and what is left out");
    options.flag("--models", models_, "Same as `predict list`");
    options.flag("--json", json_, "Print one JSON document");
    options.footer(
        std::string(
            "Sums the matrix products of the model: FLOPs, the floor of the step time,\n"
            "memory and energy. It runs nothing, except a short measurement with --gpu cpu.\n\n"
            "Examples:\n"
            "  genscope predict flux-dev --gpu 'RTX 4090'\n"
            "  genscope predict wan-14b --gpu h100 --size 832x480 --measured-ms 6100\n"
            "  genscope predict models/FLUX.1-dev --gpu 4090 --offload model --explain\n"
            "  genscope predict --gpu list\n\n") +
        kExitCodesHelp);
  }

  Result<int> run(const Globals& globals) override {
    if (gpu_ == "list") return print(list_hardware());
    if (models_ || model_ == "list") return list_models();
    if (model_.empty()) return refuse("predict needs a MODEL; `genscope predict list` shows names");
    const Result<CostSpec> spec = find_spec();
    if (!spec) return spec.error();
    const Result<Workload> workload = make_workload();
    if (!workload) return workload.error();
    const Result<Hardware> hardware = make_hardware(globals);
    if (!hardware) return hardware.error();
    const Result<Prediction> prediction = genscope::predict(*spec, *workload, *hardware);
    if (!prediction) return prediction.error();
    predict::Shown shown{*prediction};
    if (measured_ms_) {
      shown.measured_seconds = *measured_ms_ / 1e3;
      shown.mfu = judge(*prediction, *shown.measured_seconds);
    }
    const watch::Look look = {.width = static_cast<std::size_t>(base::output_width()),
                              .color = base::use_color(globals.color),
                              .unicode = base::output_is_utf8()};
    return print(json_ ? to_json(*prediction, shown.measured_seconds)
                       : shown_text(shown, explain_, look));
  }

 private:
  void add_workload(Options& options) {
    options.add("--size", size_, "WxH", "Pixels; default: what the model was made for");
    options.add("--frames", frames_, "N", "Frames of a clip; default: what the model was made for")
        .positive();
    options.add("--steps", steps_, "N", "Steps; default: what the authors recommend").positive();
    options.add("--batch", batch_, "N", "Images or clips at once").positive().show_default();
    options.add("--text-tokens", text_tokens_, "N",
                "Text tokens; default: what the pipeline pads to");
    options
        .add("--guidance-passes", passes_, "N", "Forward passes per step; default: the pipeline's")
        .positive();
    options.add("--dtype", dtype_, "TYPE", "Type of the weights; default: as stored, or bf16");
    options.add("--offload", offload_, "KIND", "none, model, group or sequential")
        .one_of({"none", "model", "group", "sequential"})
        .show_default();
    options
        .add("--arithmetic", arithmetic_, "TYPE",
             "Type of the products: bf16, f16, fp8, int8, w4a4; default: what the weights allow")
        .one_of({"bf16", "f16", "fp8", "int8", "w4a4"});
    options
        .add("--gpus", devices_, "N", "GPUs that share a step: guidance passes first, then tokens")
        .positive()
        .show_default();
  }

  void add_device(Options& options) {
    options.add("--gpu", gpu_, "NAME", "Device; `list` shows all, `cpu` measures this one");
    options.add("--gpu-tflops", tflops_, "X", "Dense bf16 peak, instead of the table's").positive();
    options.add("--gpu-bandwidth", bandwidth_, "GB/S", "Instead of the table's").positive();
    options.add("--gpu-memory", memory_, "GIB", "Instead of the table's").positive();
  }

  Result<CostSpec> find_spec() const {
    std::error_code ignored;
    if (!std::filesystem::exists(model_, ignored)) return cost_spec(model_);
    const Result<Model> model = inspect_model(model_);
    if (!model) return model.error();
    return cost_spec(*model);
  }

  Result<Workload> make_workload() const {
    Workload workload;
    if (!size_.empty()) {
      if (const Status fine = parse_size(size_, workload); !fine) return fine.error();
    }
    if (!dtype_.empty()) {
      if (const Status fine = parse_dtype(dtype_, workload); !fine) return fine.error();
    }
    workload.frames = frames_.value_or(0);
    workload.steps = steps_.value_or(0);
    workload.batch = batch_;
    workload.text_tokens = text_tokens_;
    workload.guidance_passes = passes_;
    for (const Offload kind : {Offload::model, Offload::group, Offload::sequential}) {
      if (offload_ == genscope::name(kind)) workload.offload = kind;
    }
    for (const Arithmetic kind :
         {Arithmetic::bf16, Arithmetic::f16, Arithmetic::fp8, Arithmetic::int8, Arithmetic::w4a4}) {
      if (arithmetic_ == genscope::name(kind)) workload.arithmetic = kind;
    }
    workload.devices = devices_;
    return workload;
  }

  Result<Hardware> make_hardware(const Globals& globals) const {
    Hardware hardware;
    if (gpu_ == "cpu") {
      if (!globals.quiet) std::fprintf(stderr, "genscope: measuring this CPU for 2 s\n");
      hardware = measure_cpu();
    } else if (!gpu_.empty()) {
      const Result<Hardware> found = find_hardware(gpu_);
      const bool told = tflops_ && bandwidth_;
      if (!found && !told) return found.error();
      hardware = found ? *found : Hardware{.name = gpu_};
    } else if (tflops_ && bandwidth_) {
      hardware.name = "this device";
    } else {
      return refuse(
          "predict needs --gpu NAME (`--gpu list` shows names), or --gpu-tflops and "
          "--gpu-bandwidth");
    }
    override_figures(hardware);
    return hardware;
  }

  void override_figures(Hardware& hardware) const {
    std::vector<std::string> told;
    if (tflops_) {
      hardware.bf16_tflops = *tflops_;
      hardware.fp8_tflops.reset();
      hardware.fp16_tflops.reset();
      hardware.int8_tops.reset();
      hardware.four_bit_tflops.reset();
      told.emplace_back("--gpu-tflops");
    }
    if (bandwidth_) {
      hardware.bandwidth_gbs = *bandwidth_;
      told.emplace_back("--gpu-bandwidth");
    }
    if (memory_) {
      hardware.memory_gib = *memory_;
      told.emplace_back("--gpu-memory");
    }
    if (told.empty()) return;
    hardware.source +=
        fmt::format("{}given by {}", hardware.source.empty() ? "" : "; ", fmt::join(told, ", "));
  }

  std::string list_hardware() const {
    return json_ ? to_json(hardware_table()) : predict::hardware_text(hardware_table());
  }

  Result<int> list_models() const {
    const Hardware any = hardware_table().front();  // FLOPs do not depend on it
    std::vector<Prediction> models;
    for (const std::string& known : known_models()) {
      const Result<CostSpec> spec = cost_spec(known);
      if (!spec) return spec.error();
      Result<Prediction> prediction = genscope::predict(*spec, {}, any);
      if (!prediction) return prediction.error();
      models.push_back(std::move(*prediction));
    }
    return print(json_ ? to_json(models) : predict::models_text(models));
  }

  static Result<int> print(const std::string& text) {
    Result<Output> output = Output::open("-");
    if (!output) return output.error();
    output->sink()(text);
    return kFine;
  }

  std::string model_, size_, dtype_, gpu_;
  std::string offload_ = "none";
  std::string arithmetic_;
  std::uint64_t batch_ = 1, devices_ = 1;
  std::optional<std::uint64_t> frames_, steps_, text_tokens_, passes_;
  std::optional<double> tflops_, bandwidth_, memory_, measured_ms_;
  bool explain_ = false;
  bool models_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_predict() { return std::make_unique<Predict>(); }

}  // namespace genscope::cli
