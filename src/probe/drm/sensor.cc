#include "probe/drm/sensor.h"

#include <cerrno>

#include "probe/drm/text.h"

namespace genscope::probe::drm {

Failure failure_of(int error) noexcept {
  switch (error) {
    case ENOENT:
      return {SampleStatus::absent, "the driver has no such file"};
    case ENODEV:
      return {SampleStatus::lost, "the device has gone"};
    case EACCES:
    case EPERM:
      return {SampleStatus::not_permitted, "the driver refuses to tell"};
    case EOPNOTSUPP:
    case ENOSYS:
    case ENXIO:
    case ENODATA:
      return {SampleStatus::not_supported, "the driver does not support it on this device"};
    case EAGAIN:
    case EBUSY:
    case ETIMEDOUT:
      return {SampleStatus::ok, nullptr};
    case EIO:
      return {SampleStatus::error, "input/output error"};
    default:
      return {SampleStatus::error, "the read failed"};
  }
}

bool Patience::note(int error, std::int64_t now_ns, std::uint32_t series, Board& board) noexcept {
  if (error == 0) failed_ = 0;
  if (failed_ < 4) {
    period_ns_ = last_ns_ != 0 ? now_ns - last_ns_ : 0;
    last_ns_ = now_ns;
  }
  if (error == 0) return true;
  failed_++;
  const Failure failure = failure_of(error);
  if (failure.status == SampleStatus::ok) {
    if (failed_ == 3) board.set(series, SampleStatus::stale, "the driver was busy each time");
    return false;
  }
  board.set(series, failure.status, failure.reason);
  if (failure.status == SampleStatus::not_permitted) retry_ns_ = now_ns + 60'000'000'000;
  if (failure.status == SampleStatus::error && failed_ == 5) {
    retry_ns_ = now_ns + 10 * period_ns_;
    failed_ = 4;  // if the next one fails too, it waits again
  }
  return false;
}

Sensor::Sensor(const Spec& spec, std::uint32_t series, base::Files& files)
    : file_(spec.path, files),
      series_(series),
      scale_(spec.scale),
      form_(spec.form),
      keep_(spec.keep),
      most_(spec.most) {
  if (!spec.divisor_path.empty()) divisor_ = base::KeptFile(spec.divisor_path, files);
}

namespace {

bool parse(Sensor::Form form, std::string_view text, double& value) noexcept {
  switch (form) {
    case Sensor::Form::starred_mhz:
      return parse_starred_mhz(text, value);
    case Sensor::Form::highest_mhz:
      return parse_highest_mhz(text, value);
    case Sensor::Form::link_generation:
      return parse_link_generation(text, value);
    default: {
      std::string_view line = base::next_part(text, '\n');
      return base::parse_number(base::next_word(line), value);
    }
  }
}

}  // namespace

int Sensor::sample(std::int64_t now_ns, Board& board) noexcept {
  if (!patience_.may_read(now_ns)) return 0;
  char buffer[1024];
  std::string_view text;
  int error = file_.read(buffer, text);
  double value = 0;
  const bool understood = error == 0 && parse(form_, text, value);
  double divisor = 1;
  if (understood && !divisor_.path().empty()) error = divisor_.read_number(divisor);
  if (!patience_.note(error, now_ns, series_, board)) return error;
  if (!understood) {
    board.set(series_, SampleStatus::error, "the file does not hold what it should");
  } else if (!(divisor > 0)) {
    board.set(series_, SampleStatus::not_supported, "its highest value is not known");
  } else {
    set(value * scale_ / divisor, board);
  }
  return 0;
}

int Sensor::ask() noexcept {
  char buffer[1024];
  std::string_view text;
  return file_.read(buffer, text);
}

void Sensor::set(double value, Board& board) noexcept {
  if (form_ == Form::temperature && value == 0) {
    board.set(series_, SampleStatus::not_supported, "the sensor reads 0: not fitted");
  } else if (form_ == Form::limit && value == 0) {
    board.set(series_, SampleStatus::absent, "the limit is disabled");
  } else if (most_ != nullptr && *most_ > 0 && value > *most_) {
    board.set(series_, SampleStatus::implausible, "more than there is");
  } else {
    if (keep_ != nullptr) *keep_ = value;
    board.set(series_, value);
  }
}

}  // namespace genscope::probe::drm
