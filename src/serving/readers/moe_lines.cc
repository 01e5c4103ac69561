#include "serving/readers/moe_lines.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "serving/readers/line_words.h"

namespace comm_probe::serving {
namespace {

constexpr std::size_t kMostManagers = 16;
constexpr std::size_t kMostWorkers = 4096;
constexpr double kMostSeconds = 1e6;  // beyond it a line is damaged
constexpr double kMostTokens = 1e15;
constexpr auto kNowhere = std::string_view::npos;

struct Known {
  std::string_view name;
  const char* backend;
};
// vLLM: name of the class, and before that of its backend.
constexpr std::array kManagers = {
    Known{"AgRsAll2AllManager", "allgather_reducescatter"},
    Known{"NaiveAll2AllManager", "naive"},
    Known{"PPLXAll2AllManager", "pplx"},
    Known{"DeepEPHTAll2AllManager", "deepep_high_throughput"},
    Known{"DeepEPLLAll2AllManager", "deepep_low_latency"},
    Known{"DeepEPV2All2AllManager", "deepep_v2"},
    Known{"FlashInferAllToAllManager", "flashinfer_nvlink_two_sided"},
    Known{"FlashInferNVLinkTwoSidedManager", "flashinfer_nvlink_two_sided"},
    Known{"FlashInferNVLinkOneSidedManager", "flashinfer_nvlink_one_sided"},
    Known{"NixlEPAll2AllManager", "nixl_ep"},
    Known{"MoriAll2AllManager", "mori"},
};

constexpr std::array kGraphsOff = {
    std::string_view("Disabling CUDA Graphs since DeepEP high-throughput"),
    std::string_view("Cuda graph is disabled because deepep_mode"),
};

std::optional<double> number_behind(std::string_view text, std::string_view mark, double most) {
  const std::size_t at = text.find(mark);
  if (at == kNowhere) return std::nullopt;
  text.remove_prefix(at + mark.size());
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !(number >= 0) || number > most) return std::nullopt;
  return number;
}

struct BalanceLine {
  double ratio = 1;
  double tokens = 0;
  bool of_layers = false;
  bool of_all = false;
};

// "EPLB step: avg_tokens=" of ranks, "EPLB step: 3000 for model" of layers.
std::optional<BalanceLine> vllm_balance(std::string_view text) {
  const auto average = number_behind(text, "avg_tokens=", kMostTokens);
  const auto most = number_behind(text, "max_tokens=", kMostTokens);
  if (!average || !most || *average <= 0 || *most < *average) return std::nullopt;
  return BalanceLine{*average / *most, *average, !text.starts_with("EPLB step: avg_tokens"), false};
}

std::optional<BalanceLine> sglang_balance(std::string_view text) {
  const auto ratio = number_behind(text, "current_pass_balancedness=", 1);
  const auto tokens = number_behind(text, "gpu_physical_count_sum=", kMostTokens);
  if (!ratio || *ratio <= 0 || (tokens && *tokens <= 0)) return std::nullopt;
  return BalanceLine{*ratio, tokens.value_or(1), false, true};
}

// Mean over highest of the sums: a line counts with its tokens.
void add_line(ExpertBalance& all, const BalanceLine& line) {
  const auto before = static_cast<double>(all.lines);
  const double sum = all.tokens * before + line.tokens;
  const double highest = all.tokens * before / all.mean + line.tokens / line.ratio;
  all.mean = std::min(1.0, sum / highest);
  ++all.lines;
  all.tokens = sum / static_cast<double>(all.lines);
}

}  // namespace

void MoeLineReader::add(const core::Line& line) {
  const std::string_view text = line.text;
  if (text.find("all2all manager") != kNowhere)
    if (const std::size_t at = text.find("Using "); at != kNowhere) add_manager(line, at);
  for (const std::string_view words : kGraphsOff)
    if (const std::size_t at = text.find(words); at != kNowhere) add_graphs_off(line, at);
  if (text.find("alancedness=") != kNowhere) add_balance(line);
  if (const std::size_t at = text.find("Rearranged experts"); at != kNowhere)
    add_rearrangement(line, at);
}

void MoeLineReader::add_manager(const core::Line& line, std::size_t at) {
  if (!is_own_words(line.text, at)) return;
  std::string_view name = line.text.substr(at + 6);
  name = name.substr(0, name.find(" all2all manager"));
  if (name.empty() || name.size() > 64 || name.find(' ') != kNowhere) return;
  ++found_;
  for (const All2AllManager& other : lines_.managers)
    if (other.name == name) return;
  if (lines_.managers.size() >= kMostManagers) return;
  All2AllManager manager = {std::string(name), "", line_evidence(file_, line, at)};
  for (const Known& known : kManagers)
    if (known.name == name || known.backend == name) manager.backend = known.backend;
  lines_.managers.push_back(std::move(manager));
}

// "DeepEP: " or, before, "WideEP: " stands in front of vLLM's words.
void MoeLineReader::add_graphs_off(const core::Line& line, std::size_t at) {
  if (!is_own_words(line.text, at)) return;
  ++found_;
  if (!lines_.graphs_off) lines_.graphs_off = line_evidence(file_, line, at);
}

void MoeLineReader::add_balance(const core::Line& line) {
  std::size_t at = line.text.find("EPLB step: ");
  const bool is_vllm = at != kNowhere;
  if (!is_vllm) at = line.text.find("[Expert Balancedness]");
  if (at == kNowhere || !is_own_words(line.text, at)) return;
  const std::string_view text = line.text.substr(at);
  const auto read = is_vllm ? vllm_balance(text) : sglang_balance(text);
  if (!read) return;
  ++found_;
  auto all = std::find_if(lines_.balances.begin(), lines_.balances.end(),
                          [&read](const ExpertBalance& one) {
                            return one.of_layers == read->of_layers && one.of_all == read->of_all;
                          });
  if (all == lines_.balances.end())
    all = lines_.balances.insert(
        all, ExpertBalance{.of_layers = read->of_layers, .of_all = read->of_all});
  if (all->lines == 0 || read->ratio < all->lowest) {
    all->lowest = read->ratio;
    all->evidence = line_evidence(file_, line, at);
  }
  add_line(*all, *read);
}

void MoeLineReader::add_rearrangement(const core::Line& line, std::size_t at) {
  const std::string_view text = line.text.substr(at);
  if (!is_own_words(line.text, at) || text.find("(profile)") != kNowhere) return;
  const auto seconds = number_behind(text, " in ", kMostSeconds);
  if (!seconds) return;
  ++found_;
  const auto time = core::Duration::from_seconds(*seconds);
  const std::string worker = file_ + '\n' + worker_of(line.text);
  if (moved_.size() >= kMostWorkers && !moved_.contains(worker)) return;
  Rearrangements& all = moved_[worker];
  ++all.count;
  all.total = all.total + time;
  if (all.count > 1 && time <= all.longest) return;
  all.longest = time;
  all.evidence = line_evidence(file_, line, at);
}

// Every worker prints the same rearrangement: the one that was held up longest says how long.
MoeLines MoeLineReader::finish() {
  for (const auto& [worker, moved] : moved_)
    if (moved.total > lines_.rearrangements.total) lines_.rearrangements = moved;
  return std::move(lines_);
}

}  // namespace comm_probe::serving
