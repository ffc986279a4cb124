// A state machine for each program whose lines are known; what a line means depends on what is
// open. Each kind of span is open at most once and is ended by whoever begins the next, so lines
// that are missing, doubled or out of order make odd spans and never unbalanced ones. Bars print
// every so often only: StepLoop (loop.h) makes steps of what they tell.
#include "watch/logs/reader.h"

namespace genscope::watch {

// An unfinished line may be half of one: only bars are taken from it, which are whole or none.
void LogReader::line(std::string_view text, PieceEnd end) {
  if (wants(LogFormat::sdcpp)) {
    const auto found = parse_sdcpp(text);
    if (found && (end != PieceEnd::open || found->kind == SdLine::Kind::step)) {
      ++understood_;
      return take(*found);
    }
  }
  if (wants(LogFormat::tqdm) || format_ == LogFormat::comfyui) {
    if (const auto bar = parse_tqdm(text)) {
      ++understood_;
      bars_.show(sink_, *bar, comfyui_ ? "denoise" : "progress", prompt_);
      if (end == PieceEnd::newline) bars_.line_feed();
      return;
    }
  }
  if (end == PieceEnd::open) return;
  bars_.text_below(sink_);
  if (!wants(LogFormat::comfyui)) return;
  if (const auto found = parse_comfyui(text)) {
    ++understood_;
    take(*found);
  }
}

void LogReader::finish() {
  bars_.finish(sink_);
  loads_.clear();
  if (in_load_) {
    sink_.number(load_, "incomplete", 1);
    sink_.end(load_, false);
  }
  in_load_ = false;
  waiting_ = 0;
  if (in_prompt_) {
    sink_.number(prompt_, "incomplete", 1);
    sink_.end(prompt_, false);
  }
  in_prompt_ = false;
  if (in_request_) sink_.number(request_, "incomplete", 1);
  end_request(nullptr);
}

// --- ComfyUI

void LogReader::take(const ComfyLine& line) {
  using Kind = ComfyLine::Kind;
  comfyui_ = true;
  switch (line.kind) {
    case Kind::got_prompt:
      in_prompt_ ? static_cast<void>(++waiting_) : begin_prompt();
      break;
    case Kind::executed:
    case Kind::failed:
      end_prompt(line);
      break;
    case Kind::load_begin:
      if (loads_.size() < kMostLoads) loads_.push_back(line.name);
      if (!in_load_) begin_load();
      break;
    case Kind::load_end:
      end_load(line.partial);
      break;
    case Kind::dtype:
      sink_.fact("dtype", line.name);
      if (!line.cast.empty()) sink_.fact("set.compute_dtype", line.cast);
      break;
    case Kind::attention:
      sink_.fact("set.attn", line.name);
      break;
  }
}

void LogReader::begin_prompt() {
  in_prompt_ = true;
  prompt_ = sink_.begin(SpanKind::request, "prompt", 0);
}

void LogReader::end_prompt(const ComfyLine& line) {
  if (!in_prompt_) return;
  // "Prompt executed" follows a failure, too: the prompt is over by then.
  if (line.kind == ComfyLine::Kind::failed) bars_.finish(sink_);
  if (line.seconds) sink_.seconds(prompt_, "reported_seconds", *line.seconds);
  sink_.end(prompt_, line.kind == ComfyLine::Kind::failed);
  in_prompt_ = false;
  prompt_ = 0;
  if (waiting_ == 0) return;
  --waiting_;
  begin_prompt();
}

void LogReader::begin_load() {
  in_load_ = true;
  load_ = sink_.begin(SpanKind::load, loads_.front(), prompt_);
  loads_.pop_front();
}

void LogReader::end_load(bool partial) {
  if (!in_load_) return;
  if (partial) sink_.number(load_, "partial", 1);
  sink_.end(load_, false);
  in_load_ = false;
  if (!loads_.empty()) begin_load();
}

// --- stable-diffusion.cpp

void LogReader::take(const SdLine& line) {
  using Kind = SdLine::Kind;
  switch (line.kind) {
    case Kind::loading:
      if (in_stage_ || sampling_ || in_request_) break;
      in_stage_ = true;
      stage_ = sink_.begin(SpanKind::load, "model", 0);
      break;
    case Kind::loaded:
      if (!in_request_) end_stage(&line);
      break;
    case Kind::generate:
      end_request(nullptr);
      in_request_ = true;
      video_ = line.name == "generate_video";
      request_ = sink_.begin(SpanKind::request, "generate", 0);
      if (line.width > 0) sink_.number(request_, "width", line.width);
      if (line.height > 0) sink_.number(request_, "height", line.height);
      if (line.frames > 0) sink_.number(request_, "frames", line.frames);
      begin_stage("text_encode");
      break;
    case Kind::vae_encoded:  // it is a part of what the program calls its condition
      if (in_stage_ && !sampling_ && line.seconds) {
        sink_.seconds(stage_, "vae_encode_seconds", *line.seconds);
      }
      break;
    case Kind::conditioned:
      if (!sampling_) end_stage(&line);
      if (video_) begin_sampling();  // it says no more before its first step is done
      break;
    case Kind::method:
      sink_.fact("scheduler", line.name);
      break;
    case Kind::image:
      if (in_request_ && line.at == 1 && line.total > 0) {
        sink_.number(request_, "images", line.total);
      }
      sampling_ ? next_loop() : begin_sampling();
      break;
    case Kind::step:
      take_step(line);
      break;
    case Kind::sampled:
      if (!sampling_) break;
      steps_.stop(sink_, steps_.complete());
      sampled_seconds_ += line.seconds.value_or(0);
      if (line.name == "high noise") next_loop();  // that of the other model follows at once
      break;
    case Kind::latents:
      if (sampling_) end_stage(&line);
      if (video_) begin_stage("vae_decode");
      break;
    case Kind::upscaling:
      begin_stage("upscale");
      break;
    case Kind::refining:
      begin_sampling();
      break;
    case Kind::decoding:
      begin_stage("vae_decode");
      break;
    case Kind::decoded:
      end_stage(&line);
      break;
    case Kind::done:
      end_request(&line);
      break;
    case Kind::failed:
      end_request(nullptr, true);
      break;
  }
}

// A bar outside of sampling counts tensors or tiles; within it, tiles of a preview count to another
// number.
void LogReader::take_step(const SdLine& line) {
  if (!sampling_) return;
  const bool known = steps_.total() != StepLoop::kUnknown;
  if (known && steps_.complete() && line.at < steps_.total()) next_loop();
  if (steps_.total() != StepLoop::kUnknown && line.total != steps_.total()) return;
  steps_.set_total(line.total);
  steps_.reach(sink_, line.at);
}

void LogReader::begin_stage(const char* name) {
  end_stage(nullptr);
  in_stage_ = true;
  stage_ = sink_.begin(SpanKind::stage, name, request_);
}

void LogReader::begin_sampling() {
  begin_stage("denoise");
  sampling_ = true;
  sampled_seconds_ = 0;
  steps_.begin(sink_, stage_, 0);
}

void LogReader::next_loop() {
  steps_.stop(sink_, steps_.complete());
  steps_.begin(sink_, stage_, 0, StepLoop::kUnknown, steps_.steps());
}

void LogReader::end_stage(const SdLine* line) {
  if (!in_stage_) return;
  if (line != nullptr && line->seconds) {
    sink_.seconds(stage_, "reported_seconds", *line->seconds);
  } else if (sampling_ && sampled_seconds_ > 0) {
    sink_.seconds(stage_, "reported_seconds", sampled_seconds_);
  }
  if (steps_.running()) {
    steps_.end(sink_, !steps_.stepping());
  } else {
    sink_.end(stage_, false);
  }
  in_stage_ = sampling_ = false;
  stage_ = 0;
}

void LogReader::end_request(const SdLine* line, bool failed) {
  end_stage(nullptr);
  if (!in_request_) return;
  if (line != nullptr && line->seconds) sink_.seconds(request_, "reported_seconds", *line->seconds);
  sink_.end(request_, failed);
  in_request_ = false;
  request_ = 0;
}

}  // namespace genscope::watch
