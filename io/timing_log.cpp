#include "io/timing_log.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <string_view>

#include "core/error.hpp"

namespace mhd {
namespace {

constexpr std::size_t pending_limit = std::size_t{1} << 16;  // bytes

/// TOML reads "1" as an integer; a float needs a point, an exponent or a name.
std::string toml_float(double value) {
  if (std::isnan(value)) return "nan";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".eni") == std::string::npos) text += ".0";
  return text;
}

std::string toml_text(std::string_view value) {
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\')
      text += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      text += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    else
      text += c;
  }
  return text + '"';
}

std::string toml_array(Int3 v) { return fmt::format("[{}, {}, {}]", v.x, v.y, v.z); }

}  // namespace

TimingLog::TimingLog(const std::string& path, std::optional<std::int64_t> last, double flush_seconds)
    : file_(open_table(path, "step,seconds,compute,exchange,wait,output", last)),
      flush_interval_(flush_seconds),
      flushed_(Clock::now()) {}

TimingLog::~TimingLog() {
  try {
    if (!pending_.empty()) flush();
  } catch (const Error&) {
    // The exception under way says more.
  }
}

void TimingLog::append(const TimingRow& row) {
  fmt::format_to(std::back_inserter(pending_), "{},{:.9f},{:.9f},{:.9f},{:.9f},{:.9f}\n", row.step, row.seconds,
                 row.compute, row.exchange, row.wait, row.output);
  if (pending_.size() > pending_limit || Clock::now() - flushed_ >= flush_interval_) flush();
}

void TimingLog::flush() {
  file_.write(pending_);
  pending_.clear();
  file_.flush();
  flushed_ = Clock::now();
}

void TimingLog::sync() {
  flush();
  file_.sync();
}

void TimingLog::close() {
  flush();
  file_.close();
}

std::string summary_text(const RunSummary& summary) {
  std::string text;
  const auto add = [&](std::string_view key, const std::string& value) {
    text += fmt::format("{} = {}\n", key, value);
  };
  add("status", toml_text(summary.status));
  add("steps", std::to_string(summary.steps));
  add("t", toml_float(summary.t));
  add("dt", toml_float(summary.dt));
  add("cells", toml_array(summary.cells));
  add("order", std::to_string(summary.order));
  add("fields", std::to_string(summary.fields));
  add("ranks", std::to_string(summary.ranks));
  add("decomposition", toml_array(summary.decomposition));
  add("backend", toml_text(summary.backend));
  add("seconds_total", toml_float(summary.seconds_total));
  add("seconds_stepping", toml_float(summary.seconds_stepping));
  add("seconds_output", toml_float(summary.seconds_output));
  add("ns_per_cell_step_median", toml_float(summary.ns_per_cell_step_median));
  add("ns_per_cell_step_p90", toml_float(summary.ns_per_cell_step_p90));
  add("bytes_output", std::to_string(summary.bytes_output));
  add("snapshots", std::to_string(summary.snapshots));
  add("version", toml_text(summary.version));
  add("revision", toml_text(summary.revision));
  return text;
}

void write_summary(const std::string& path, const RunSummary& summary) {
  write_file_atomically(path, summary_text(summary));
}

}  // namespace mhd
