#include "serving/readers/engine_lines.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "serving/readers/line_words.h"

namespace comm_probe::serving {
namespace {

constexpr std::size_t kMostKept = 64;  // of lists, of things that are off, of starts
constexpr std::size_t kMostNames = 32;
constexpr auto kNowhere = std::string_view::npos;

bool contains(std::string_view text, std::string_view word) { return text.find(word) != kNowhere; }

std::string_view behind(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  return at == kNowhere ? std::string_view() : text.substr(at + mark.size());
}

std::string word_until(std::string_view text, std::string_view stops) {
  return std::string(text.substr(0, std::min<std::size_t>(text.find_first_of(stops), 64)));
}

// "['CUSTOM', 'PYNCCL'] ..." -> CUSTOM, PYNCCL
std::vector<std::string> quoted_list(std::string_view text) {
  std::vector<std::string> names;
  if (!text.starts_with('[')) return names;
  text = text.substr(0, text.find(']'));
  while (names.size() < kMostNames) {
    const std::size_t open = text.find_first_of("'\"");
    if (open == kNowhere) break;
    const std::size_t close = text.find(text[open], open + 1);
    if (close == kNowhere) break;
    names.emplace_back(text.substr(open + 1, std::min<std::size_t>(close - open - 1, 64)));
    text.remove_prefix(close + 1);
  }
  return names;
}

// "tensor_parallel_size=8," and "'tp_size': 2,"
std::string value_of(std::string_view text, std::string_view key) {
  while (true) {
    text = behind(text, key);
    if (text.empty()) return "";
    const std::size_t begin = text.find_first_not_of("'\" ");
    if (begin == kNowhere || (text[begin] != '=' && text[begin] != ':')) continue;
    const std::size_t value = text.find_first_not_of(" ", begin + 1);
    if (value == kNowhere) return "";
    return word_until(text.substr(value), ", )}");
  }
}

std::optional<int> number_of(std::string_view text) {
  constexpr int kMost = 1 << 20;
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data() || number < 0 || number > kMost)
    return std::nullopt;
  return number;
}

std::optional<bool> boolean_of(const std::string& text) {
  if (text == "True" || text == "true") return true;
  if (text == "False" || text == "false") return false;
  return std::nullopt;
}

struct OffText {
  std::string_view text;  // of the line
  const char* backend;
  OffCause cause;
  std::string_view detail;  // stands behind this; empty: no detail
};
// The first that the line holds counts; the last of each backend catches what is new.
constexpr std::array kOffTexts = {
    OffText{"Custom allreduce is disabled because of missing", "CUSTOM", OffCause::kNotBuilt, ""},
    OffText{"Custom allreduce is disabled because this process group spans", "CUSTOM",
            OffCause::kSpansNodes, ""},
    OffText{"Custom allreduce is disabled due to an unsupported world size: ", "CUSTOM",
            OffCause::kWorldSize, "world size: "},
    OffText{"Custom allreduce is disabled because it's not supported on more than two", "CUSTOM",
            OffCause::kPcieOnly, ""},
    OffText{"Custom allreduce is disabled because your platform lacks GPU P2P", "CUSTOM",
            OffCause::kNoP2p, ""},
    OffText{"Custom allreduce is disabled", "CUSTOM", OffCause::kOther, "is disabled "},
    OffText{"Setup Custom allreduce failed with ", "CUSTOM", OffCause::kSetupFailed,
            "failed with "},
    OffText{"SymmMemCommunicator: Device capability ", "SYMM_MEM", OffCause::kSymmDevice,
            "capability "},
    OffText{"SymmMemCommunicator: World size ", "SYMM_MEM", OffCause::kSymmWorldSize,
            "World size "},
    OffText{"SymmMemCommunicator: symmetric memory multicast", "SYMM_MEM", OffCause::kSymmMulticast,
            ""},
    OffText{"SymmMemCommunicator: symmetric memory initialization failed", "SYMM_MEM",
            OffCause::kSymmFailed, "failed: "},
    OffText{"FlashInfer All Reduce is disabled", "FLASHINFER", OffCause::kFlashInfer,
            "is disabled "},
    OffText{"Failed to initialize FlashInfer All Reduce workspace", "FLASHINFER",
            OffCause::kFlashInfer, "workspace: "},
    OffText{"Custom quick allreduce is disabled", "QUICK_REDUCE", OffCause::kOther, "is disabled "},
};

std::string detail_of(const OffText& kind, std::string_view line) {
  if (kind.detail.empty()) return "";
  const std::string_view rest = behind(line, kind.detail);
  if (kind.cause == OffCause::kWorldSize || kind.cause == OffCause::kSymmDevice ||
      kind.cause == OffCause::kSymmWorldSize) {
    std::string word = word_until(rest, ", ");
    if (word.ends_with('.')) word.pop_back();
    return word;
  }
  std::string text(rest.substr(0, rest.find(" To silence this")));
  if (text.ends_with('.')) text.pop_back();
  return text.substr(0, 160);
}

}  // namespace

bool BackendList::has(std::string_view name) const {
  return std::find(built.begin(), built.end(), name) != built.end();
}
bool BackendList::could_have(std::string_view name) const {
  return std::find(potential.begin(), potential.end(), name) != potential.end();
}

std::optional<int> EngineStart::attention_ranks() const {
  if (!dp_attention || !tensor_parallel) return tensor_parallel;
  return std::max(1, *tensor_parallel / std::max(1, data_parallel.value_or(1)));
}

bool is_last_of_its_file(const EngineStart& start, const std::vector<EngineStart>& starts) {
  return std::none_of(starts.begin(), starts.end(), [&start](const EngineStart& other) {
    return other.evidence.source == start.evidence.source &&
           other.evidence.line.value_or(0) > start.evidence.line.value_or(0);
  });
}

void EngineLineReader::add(const core::Line& line) {
  // Most lines hold none of these letters.
  const std::string_view text = line.text;
  if (contains(text, "all-reduce backends")) add_list(line);
  if (contains(text, "allreduce") || contains(text, "All Reduce") ||
      contains(text, "SymmMemCommunicator"))
    add_off(line);
  if (contains(text, "LLM engine (v") || contains(text, "server_args=")) add_start(line);
  if (contains(text, "is using nccl==") || contains(text, "graph addresses") ||
      contains(text, "P2P access cache"))
    add_facts(line);
}

void EngineLineReader::add_list(const core::Line& line) {
  const std::size_t at = line.text.find("Using [");
  if (at == kNowhere) return;
  BackendList list;
  list.built = quoted_list(line.text.substr(at + 6));
  const std::string_view rest = behind(line.text, "dispatch order) for ");
  list.group = word_until(behind(rest, "'"), "'");
  list.potential = quoted_list(behind(line.text, "potential backends: "));
  list.evidence = line_evidence(file_, line, at);
  list.last_line = line.number;
  if (list.built.empty()) return;
  ++found_;
  const auto known =
      std::find_if(lines_.lists.begin(), lines_.lists.end(), [&list](const BackendList& other) {
        return other.group == list.group && other.built == list.built;
      });
  if (known == lines_.lists.end()) {
    if (lines_.lists.size() < kMostKept) lines_.lists.push_back(std::move(list));
  } else if (known->evidence.source == list.evidence.source) {
    known->last_line = line.number;
  }
}

void EngineLineReader::add_off(const core::Line& line) {
  for (const OffText& kind : kOffTexts) {
    const std::size_t at = line.text.find(kind.text);
    if (at == kNowhere) continue;
    if (!is_own_words(line.text, at)) return;
    ++found_;
    BackendOff off = {kind.backend, kind.cause, detail_of(kind, line.text.substr(at)),
                      line_evidence(file_, line, at), 1};
    for (BackendOff& other : lines_.off)
      if (other.backend == off.backend && other.cause == off.cause && other.detail == off.detail) {
        ++other.times;
        return;
      }
    if (lines_.off.size() < kMostKept) lines_.off.push_back(std::move(off));
    return;
  }
}

void EngineLineReader::add_start(const core::Line& line) {
  EngineStart start;
  const std::string_view vllm = behind(line.text, "LLM engine (v");
  const std::size_t at =
      vllm.empty() ? line.text.find("server_args=") : line.text.find("LLM engine");
  start.engine = vllm.empty() ? "SGLang" : "vLLM";
  if (!vllm.empty()) start.version = word_until(vllm, ")");
  start.tensor_parallel =
      number_of(value_of(line.text, vllm.empty() ? "tp_size" : "tensor_parallel_size"));
  start.data_parallel =
      number_of(value_of(line.text, vllm.empty() ? "dp_size" : "data_parallel_size"));
  start.dp_attention = boolean_of(value_of(line.text, "enable_dp_attention")).value_or(false);
  start.expert_parallel = boolean_of(value_of(line.text, "enable_expert_parallel")).value_or(false);
  start.custom_disabled = boolean_of(value_of(line.text, "disable_custom_all_reduce"));
  start.eager =
      boolean_of(value_of(line.text, vllm.empty() ? "disable_cuda_graph" : "enforce_eager"));
  start.only_prefills = value_of(line.text, "disaggregation_mode") == "'prefill'" ||
                        value_of(line.text, "kv_role") == "'kv_producer'";
  start.evidence = line_evidence(file_, line, at);
  if (start.version.empty() && !start.tensor_parallel && !start.custom_disabled) return;
  ++found_;
  if (lines_.starts.size() < kMostKept) lines_.starts.push_back(std::move(start));
}

void EngineLineReader::add_facts(const core::Line& line) {
  if (const auto nccl = behind(line.text, "is using nccl=="); !nccl.empty()) {
    lines_.nccl = word_until(nccl, " ,\t");
    ++found_;
  }
  if (const auto count = number_of(behind(line.text, "Registering "));
      count && contains(line.text, "cuda graph addresses")) {
    lines_.graph_addresses = *count;
    ++found_;
  }
  if (const auto cache = behind(line.text, "reading GPU P2P access cache from "); !cache.empty()) {
    lines_.p2p_cache = word_until(cache, " \t");
    lines_.p2p_cache_line = line_evidence(file_, line, line.text.find("reading GPU"));
    ++found_;
  }
}

}  // namespace comm_probe::serving
