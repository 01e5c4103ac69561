#include "serving/readers/deepep_lines.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

#include "serving/readers/line_words.h"

namespace comm_probe::serving {
namespace {

using core::Bandwidth;
using core::Duration;

constexpr std::size_t kLongestShown = 200;
constexpr double kMostGBps = 1e5, kMostUs = 1e12;  // beyond it a line is damaged

bool holds(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

std::optional<double> number_at(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" =:");
  if (begin == std::string_view::npos) return std::nullopt;
  text.remove_prefix(begin);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

std::optional<double> number_behind(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return number_at(text.substr(at + mark.size()));
}

// The number that ends right before `unit`: "43.24" of "43.24 GB/s (RDMA)"; its sign is part of it.
std::optional<double> number_before(std::string_view text, std::string_view unit) {
  const std::size_t at = text.find(unit);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view front = text.substr(0, at);
  while (front.ends_with(' ')) front.remove_suffix(1);
  const std::size_t begin = front.find_last_not_of("-0123456789.");
  front.remove_prefix(begin == std::string_view::npos ? 0 : begin + 1);
  return number_at(front);
}

std::optional<Bandwidth> bandwidth(std::optional<double> GBps) {
  if (!GBps || !(*GBps >= 0 && *GBps <= kMostGBps)) return std::nullopt;
  return Bandwidth::from_GBps(*GBps);
}
std::optional<Duration> duration(std::optional<double> us) {
  if (!us || !(*us > 0 && *us <= kMostUs)) return std::nullopt;  // nothing takes no time
  return Duration::from_us(*us);
}
std::optional<int> rank_behind(std::string_view text, std::string_view mark) {
  const auto number = number_behind(text, mark);
  if (!number || !(*number >= 0 && *number < 1e7)) return std::nullopt;
  return static_cast<int>(*number);
}

// In lower case or not: "Best dispatch", "Dispatch bandwidth".
DeepEpOp op_of(std::string_view text) {
  const bool dispatches = holds(text, "ispatch"), combines = holds(text, "ombine");
  if (dispatches && combines) return DeepEpOp::kBoth;
  return combines ? DeepEpOp::kCombine : DeepEpOp::kDispatch;
}

constexpr std::array<std::string_view, 6> kFallbacks = {
    "ibgda_alloc_and_map_qp_uar with GPU as handler failed",
    "ibgda_nic_mem_gpu_map failed",
    "cudaHostRegister with IoMemory failed",
    "GPU cannot map UAR",
    "init failed for transport: IBGDA",
    "enter the CPU fallback path"};

// A line that says that somebody gave up, not one that only names a limit.
constexpr std::array<std::string_view, 5> kGivenUp = {
    "DeepEP timeout for ", "DeepEP timeout check ", "DeepEP error: timeout",
    "DeepEP error: CPU recv timeout", " timeout, channel:"};

// Rare enough that no table of another program has them.
constexpr std::array<std::string_view, 14> kMarks = {"[tuning] ",
                                                     "ispatch bandwidth:",
                                                     "+ combine bandwidth:",
                                                     "GB/s (SO),",
                                                     "GB/s (SU),",
                                                     "DeepEP timeout",
                                                     "DeepEP error",
                                                     " timeout, channel:",
                                                     "num_rdma_recv_tokens:",
                                                     "ibgda_alloc_and_map_qp_uar",
                                                     "ibgda_nic_mem_gpu_map",
                                                     "IoMemory failed",
                                                     "GPU cannot map UAR",
                                                     "transport: IBGDA"};

}  // namespace

const char* kernel_name(DeepEpKernel kernel) {
  switch (kernel) {
    case DeepEpKernel::kNormal:
      return "normal";
    case DeepEpKernel::kLowLatency:
      return "low latency";
    case DeepEpKernel::kElastic:
      return "elastic (V2)";
  }
  return "";
}

const char* deepep_op_name(DeepEpOp op) {
  switch (op) {
    case DeepEpOp::kDispatch:
      return "dispatch";
    case DeepEpOp::kCombine:
      return "combine";
    case DeepEpOp::kBoth:
      return "dispatch + combine";
  }
  return "";
}

void DeepEpLines::add(DeepEpLines more) {
  const auto append = [](auto& to, auto& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  append(rates, more.rates);
  append(timeouts, more.timeouts);
  append(fallbacks, more.fallbacks);
}

DeepEpPlace DeepEpLineReader::place(const core::Line& line) const {
  return {file_, line.number, std::string(line.text.substr(0, kLongestShown))};
}

void DeepEpLineReader::add(const core::Line& line) {
  const std::string_view text = line.text;
  if (holds(text, "[tuning]")) return add_tuning(line);
  if (holds(text, "bandwidth:") && holds(text, "avg_t=")) return add_low_latency(line);
  if (holds(text, "GB/s (SO)") || holds(text, "GB/s (SU)")) return add_elastic(line);
  for (const std::string_view mark : {"DeepEP", "num_rdma_recv_tokens:"})
    if (const std::size_t at = text.find(mark); at != std::string_view::npos)
      return is_quoted(text, at) ? void() : add_timeout(line);
  for (const std::string_view fallback : kFallbacks)
    if (const std::size_t at = text.find(fallback); at != std::string_view::npos)
      return is_quoted(text, at) ? void() : lines_.fallbacks.push_back(place(line));
}

void DeepEpLineReader::add_tuning(const core::Line& line) {
  const std::string_view text = line.text;
  DeepEpRate rate{.op = op_of(text), .is_best = holds(text, "Best"), .place = place(line)};
  rate.rdma = bandwidth(number_before(text, "GB/s (RDMA)"));
  rate.nvlink = bandwidth(number_before(text, "GB/s (NVL)"));
  if (!rate.rdma && !rate.nvlink) return;
  if (const std::size_t plus = text.find(" + "); plus != std::string_view::npos)
    rate.time = duration(number_at(text.substr(plus + 3)));
  rate.sms = rank_behind(text, "SMs ").value_or(0);
  lines_.rates.push_back(std::move(rate));
}

void DeepEpLineReader::add_low_latency(const core::Line& line) {
  std::string_view rest = line.text;
  while (!rest.empty()) {
    const std::size_t bar = rest.find('|');
    const std::string_view part = rest.substr(0, bar);
    rest = bar == std::string_view::npos ? std::string_view() : rest.substr(bar + 1);
    DeepEpRate rate{.kernel = DeepEpKernel::kLowLatency, .op = op_of(part), .place = place(line)};
    rate.rdma = bandwidth(number_behind(part, "bandwidth:"));
    rate.time = duration(number_behind(part, "avg_t="));
    rate.fastest = duration(number_behind(part, "min_t="));
    rate.slowest = duration(number_behind(part, "max_t="));
    if (rate.rdma && rate.time) lines_.rates.push_back(std::move(rate));
  }
}

// " * EP:   0/16 | dispatch: 90 GB/s (SO), 180 GB/s (SU), 1234.567 us, 123456 bytes | copy: ..."
void DeepEpLineReader::add_elastic(const core::Line& line) {
  int ranks = 0;
  if (const std::size_t ep = line.text.find("EP:"); ep != std::string_view::npos)
    ranks = rank_behind(line.text.substr(ep, 24), "/").value_or(0);
  std::string_view rest = line.text;
  while (!rest.empty()) {
    const std::size_t bar = rest.find('|');
    const std::string_view part = rest.substr(0, bar);
    rest = bar == std::string_view::npos ? std::string_view() : rest.substr(bar + 1);
    if (!holds(part, "(SO)") && !holds(part, "(SU)")) continue;
    DeepEpRate rate{.kernel = DeepEpKernel::kElastic, .op = op_of(part), .place = place(line)};
    rate.rdma = bandwidth(number_before(part, "GB/s (SO)"));
    rate.nvlink = bandwidth(number_before(part, "GB/s (SU)"));
    rate.time = duration(number_before(part, " us,"));
    rate.ranks = ranks;
    if (rate.rdma || rate.nvlink) lines_.rates.push_back(std::move(rate));
  }
}

void DeepEpLineReader::add_timeout(const core::Line& line) {
  const std::string_view text = line.text;
  DeepEpTimeout timeout{.place = place(line)};
  if (holds(text, "num_recv_tokens:")) {
    timeout.counts_missing = number_behind(text, "num_recv_tokens:") == -1.0 &&
                             number_behind(text, "num_rdma_recv_tokens:").value_or(-1) == -1.0;
    timeout.rank = rank_behind(text, "Global rank:");
    if (!timeout.counts_missing) return;
    return lines_.timeouts.push_back(std::move(timeout));
  }
  if (std::none_of(kGivenUp.begin(), kGivenUp.end(),
                   [text](std::string_view mark) { return holds(text, mark); }))
    return;
  timeout.rank = rank_behind(text, ", rank ");
  timeout.peer = rank_behind(text, "src_rank ");
  if (!timeout.peer) timeout.peer = rank_behind(text, "dst_rank ");
  lines_.timeouts.push_back(std::move(timeout));
}

std::span<const std::string_view> deepep_marks() { return kMarks; }

bool looks_like_deepep(std::string_view head) {
  return std::any_of(kMarks.begin(), kMarks.end(),
                     [head](std::string_view mark) { return holds(head, mark); });
}

core::Result<DeepEpLines> read_deepep(core::Input& input) {
  DeepEpLineReader reader;
  reader.begin_file(input.name());
  core::LineReader lines(input);
  core::Line line;
  while (lines.next(line)) reader.add(line);
  if (lines.error()) return *lines.error();
  return reader.finish();
}

}  // namespace comm_probe::serving
