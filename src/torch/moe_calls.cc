#include "torch/moe_calls.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace comm_probe::torch {
namespace {

constexpr std::size_t kMostArguments = 32;
constexpr int kLeastHidden = 512;      // every other number of these templates is smaller
constexpr int kMostHidden = 1 << 20;   // larger is no hidden size
constexpr int kMostNodes = 1 << 12;    // likewise
constexpr int kMostRanksPerNode = 72;  // of one NVLink domain

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// "(int)7168" -> "7168"
std::string_view without_cast(std::string_view text) {
  text = trimmed(text);
  if (!text.starts_with('(')) return text;
  const std::size_t close = text.find(')');
  return close == std::string_view::npos ? text : trimmed(text.substr(close + 1));
}

// Those of the outermost "<...>"; nothing where none is closed.
std::vector<std::string_view> template_arguments(std::string_view name) {
  std::vector<std::string_view> arguments;
  const std::size_t open = name.find('<');
  if (open == std::string_view::npos) return {};
  std::size_t begin = open + 1;
  int depth = 1;
  for (std::size_t i = begin; i < name.size() && arguments.size() < kMostArguments; ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>') --depth;
    if ((name[i] == ',' && depth == 1) || depth == 0) {
      arguments.push_back(trimmed(name.substr(begin, i - begin)));
      begin = i + 1;
    }
    if (depth == 0) return arguments;
  }
  return {};
}

std::optional<int> number_of(std::string_view argument) {
  argument = without_cast(argument);
  int number = 0;
  const char* end = argument.data() + argument.size();
  const auto [rest, error] = std::from_chars(argument.data(), end, number);
  if (error != std::errc() || (rest != end && *rest != 'u')) return std::nullopt;
  return number;
}

std::optional<bool> truth_of(std::string_view argument) {
  if (argument == "true" || argument == "(bool)1") return true;
  if (argument == "false" || argument == "(bool)0") return false;
  return std::nullopt;
}

std::optional<int> in_range(std::optional<int> number, int least, int most) {
  return number && *number >= least && *number <= most ? number : std::nullopt;
}

MoeKernelFacts low_latency_facts(const std::vector<std::string_view>& arguments,
                                 const CommKernel& kernel) {
  MoeKernelFacts facts;
  if (kernel.kind == CollectiveClass::kDispatch) facts.is_fp8 = truth_of(arguments.front());
  for (const std::string_view argument : arguments)
    if (const auto hidden = in_range(number_of(argument), kLeastHidden, kMostHidden)) {
      facts.hidden = hidden;
      break;
    }
  return facts;
}

MoeKernelFacts normal_facts(const std::vector<std::string_view>& arguments,
                            const CommKernel& kernel) {
  MoeKernelFacts facts;
  const bool is_inside = kernel.algorithm == "intranode";
  // intranode: dispatch<ranks, ...>, combine<type, ranks, ...>; internode: <bool, nodes, ...>
  const std::size_t place = is_inside && kernel.kind == CollectiveClass::kDispatch ? 0 : 1;
  if (arguments.size() <= place) return facts;
  if (is_inside) {
    facts.ranks_per_node = in_range(number_of(arguments[place]), 2, kMostRanksPerNode);
    if (facts.ranks_per_node) facts.nodes = 1;
  } else if (truth_of(arguments.front())) {
    facts.nodes = in_range(number_of(arguments[place]), 2, kMostNodes);
  }
  return facts;
}

bool is_moe(const CommKernel& kernel) {
  return kernel.kind == CollectiveClass::kDispatch || kernel.kind == CollectiveClass::kCombine;
}

struct Timed {
  std::int64_t time = 0;
  int rank = 0;
};
struct Calls {
  CommKernel kernel = {};
  MoeKernelFacts facts = {};
  std::vector<Timed> times = {};
  bool in_halves = false;
};

// Low-latency kernels of one rank: do they come in pairs of one operation? Layers alternate between
// dispatch and combine; so a run of two is the two halves of one call.
bool comes_in_halves(const std::vector<const CommCall*>& calls) {
  constexpr double kMost = 0.9;  // the window may cut the first and the last pair
  std::size_t runs = 0, pairs = 0, length = 0;
  for (std::size_t i = 0; i <= calls.size(); ++i) {
    if (i > 0 && (i == calls.size() || calls[i]->kind != calls[i - 1]->kind)) {
      ++runs;
      pairs += length == 2 ? 1 : 0;
      length = 0;
    }
    ++length;
  }
  return runs >= 2 && static_cast<double>(pairs) >= kMost * static_cast<double>(runs);
}

class Uses {
 public:
  explicit Uses(const AcrossRanks& across) : across_(across) {}

  void add_rank(std::size_t rank) {
    std::map<CommBackend, std::vector<const CommCall*>> low_latency;
    for (const CommCall& call : across_.job.ranks[rank].calls) {
      const CommKernel* kernel = kernel_of(rank, call);
      if (kernel == nullptr || !is_moe(*kernel)) continue;
      if (kernel->algorithm == "low-latency")
        low_latency[kernel->backend].push_back(&call);
      else
        add(rank, call, *kernel, call.duration(), false);
    }
    for (auto& [backend, calls] : low_latency) add_low_latency(rank, calls);
  }

  std::vector<MoeUse> finish();

 private:
  const CommKernel* kernel_of(std::size_t rank, const CommCall& call) const {
    const Trace& trace = *across_.traces[rank];
    const GpuOp& op = trace.gpu_ops[call.operation];
    return op.comm_kernel == kNone ? nullptr : &trace.comm_kernels[op.comm_kernel];
  }

  void add(std::size_t rank, const CommCall& call, const CommKernel& kernel, std::int64_t time,
           bool in_halves) {
    Calls& calls = by_kernel_[call.kernel];
    if (calls.times.empty()) {
      const Trace& trace = *across_.traces[rank];
      calls.kernel = kernel;
      calls.facts = moe_kernel_facts(trace.name_of(trace.gpu_ops[call.operation]), kernel);
    }
    calls.in_halves |= in_halves;
    calls.times.push_back({time, across_.rank_number(static_cast<int>(rank))});
  }

  void add_low_latency(std::size_t rank, std::vector<const CommCall*>& calls) {
    std::stable_sort(calls.begin(), calls.end(),
                     [](const auto* one, const auto* other) { return one->start < other->start; });
    const bool in_halves = comes_in_halves(calls);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const CommCall& call = *calls[i];
      std::int64_t time = call.duration();
      const bool has_second = i + 1 < calls.size() && calls[i + 1]->kind == call.kind;
      if (in_halves && !has_second) continue;  // cut by the window
      if (in_halves) time += calls[++i]->duration();
      add(rank, call, *kernel_of(rank, call), time, in_halves);
    }
  }

  const AcrossRanks& across_;
  std::map<int, Calls> by_kernel_ = {};
};

std::int64_t median_of(std::vector<std::int64_t>& times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

void find_ends(const std::vector<Timed>& all, MoeUse& use) {
  std::map<int, std::vector<std::int64_t>> by_rank;
  for (const Timed& one : all) by_rank[one.rank].push_back(one.time);
  for (auto& [rank, times] : by_rank) {
    const std::int64_t median = median_of(times);
    if (use.shortest_rank < 0 || median < use.shortest_median) {
      use.shortest_rank = rank;
      use.shortest_median = median;
    }
    if (use.longest_rank < 0 || median > use.longest_median) {
      use.longest_rank = rank;
      use.longest_median = median;
    }
  }
}

MoeUse summary(const std::string& name, const Calls& calls) {
  MoeUse use{.kernel = calls.kernel, .name = name, .facts = calls.facts};
  use.in_halves = calls.in_halves;
  use.count = calls.times.size();
  std::vector<std::int64_t> times;
  for (const Timed& one : calls.times) times.push_back(one.time);
  std::sort(times.begin(), times.end());
  use.least = times.front();
  use.median = times[(times.size() - 1) / 2];
  use.p95 = times[(times.size() - 1) * 95 / 100];
  use.most = times.back();
  for (const std::int64_t time : times) use.total += time;
  find_ends(calls.times, use);
  return use;
}

std::vector<MoeUse> Uses::finish() {
  std::vector<MoeUse> all;
  for (const auto& [kernel, calls] : by_kernel_)
    all.push_back(summary(across_.job.kernels[static_cast<std::size_t>(kernel)], calls));
  std::stable_sort(all.begin(), all.end(),
                   [](const MoeUse& one, const MoeUse& other) { return one.total > other.total; });
  return all;
}

}  // namespace

MoeKernelFacts moe_kernel_facts(std::string_view name, const CommKernel& kernel) {
  const auto arguments = template_arguments(name);
  if (arguments.empty() || !is_moe(kernel)) return {};
  if (kernel.algorithm == "low-latency") return low_latency_facts(arguments, kernel);
  if (kernel.backend == CommBackend::kDeepEp &&
      (kernel.algorithm == "internode" || kernel.algorithm == "intranode"))
    return normal_facts(arguments, kernel);
  return {};
}

bool MoeUse::moves_tokens() const {
  for (const char* other : {"notify", "layout", "clean", "epilogue", "staging", "sync"})
    if (kernel.algorithm == other) return false;
  return true;
}

std::vector<MoeUse> moe_uses_of(const AcrossRanks& across) {
  if (across.traces.empty()) return {};
  Uses uses(across);
  for (std::size_t rank = 0; rank < across.traces.size(); ++rank) uses.add_rank(rank);
  return uses.finish();
}

}  // namespace comm_probe::torch
