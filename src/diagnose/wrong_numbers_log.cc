// Values that training prints (torch/number_lines.h), and the algorithms that two runs took.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/finding_table.h"
#include "core/units.h"
#include "diagnose/hang_text.h"
#include "diagnose/log_rules.h"
#include "diagnose/wrong_numbers.h"

namespace comm_probe::diagnose {
namespace {

using core::Confidence;
using core::Evidence;
using core::Finding;
using torch::LoggedNumber;
using torch::NumberLines;
using torch::Quantity;

// So many steps must agree on all ranks before a difference says that a reduced value diverged; a
// loss that every rank computes from its own batch never agrees.
constexpr std::size_t kStepsThatAgree = 3;
constexpr std::size_t kMostEvidence = 4;
// Norms that overflow and recover are those of a loss scaler that finds its scale (fp16).
constexpr std::size_t kNormsInARow = 3;

std::string value_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return core::format_number(value, 9);
}

Evidence evidence_of(const NumberLines& lines, const LoggedNumber& number) {
  const auto known = lines.texts.find(static_cast<std::size_t>(&number - lines.numbers.data()));
  return {lines.files[number.file], number.line,
          known != lines.texts.end()
              ? known->second
              : fmt::format("{} {} at step {}{}", quantity_name(number.quantity),
                            value_text(number.value), number.step,
                            number.rank < 0 ? "" : fmt::format(", rank {}", number.rank))};
}

const std::vector<std::string> kFindTheRank = {
    "TORCH_NCCL_NAN_CHECK=1   (stops at the first collective whose input has a NaN)",
    "torch.autograd.set_detect_anomaly(True)   (names the operation)"};

void judge_statements(const NumberLines& lines, Judgement& judgement) {
  if (lines.statements.empty()) return;
  const torch::NanStatement& first = lines.statements.front();
  std::set<int> ranks;
  for (const torch::NanStatement& said : lines.statements)
    if (said.rank) ranks.insert(*said.rank);
  Finding finding = core::make_finding(
      "log.nan-value",
      fmt::format("{} found a NaN in {} own data, before any communication: the collective would "
                  "only have spread it",
                  first.who,
                  first.rank ? fmt::format("rank {}'s", *first.rank) : std::string("a rank's")));
  finding.ranks.assign(ranks.begin(), ranks.end());
  for (const torch::NanStatement& said : lines.statements)
    if (finding.evidence.size() < kMostEvidence)
      finding.evidence.push_back({said.file, said.line, said.text});
  finding.confidence = Confidence::kCertain;
  finding.next = {kFindTheRank[1], "the batch of that rank and step"};
  judgement.findings.push_back(std::move(finding));
}

// Numbers of one quantity, rank by rank in the order of their lines.
using Series = std::map<std::int32_t, std::vector<const LoggedNumber*>>;

std::map<Quantity, Series> series_of(const NumberLines& lines) {
  std::map<Quantity, Series> all;
  for (const LoggedNumber& number : lines.numbers)
    all[number.quantity][number.rank].push_back(&number);
  return all;
}

// The first value that is not finite and counts: any loss; norms only where they never recover.
const LoggedNumber* first_bad(const std::vector<const LoggedNumber*>& series) {
  std::size_t begin = series.size();  // of the values at the end that are not finite
  while (begin > 0 && !std::isfinite(series[begin - 1]->value)) --begin;
  if (series.front()->quantity != Quantity::kLoss)
    return series.size() - begin >= kNormsInARow ? series[begin] : nullptr;
  for (const LoggedNumber* number : series)
    if (!std::isfinite(number->value)) return number;
  return nullptr;
}

std::string who_first(const std::vector<const LoggedNumber*>& first, std::size_t logging) {
  if (first.front()->rank < 0 || logging < 2) return "";
  std::vector<int> ranks;
  for (const LoggedNumber* number : first) ranks.push_back(number->rank);
  if (ranks.size() == logging) return ", on all ranks at once";
  return fmt::format(", on {} first; the other ranks still had numbers", ranks_text(ranks));
}

// A rank whose number was bad has one again later.
bool recovers(const Series& all, const std::vector<const LoggedNumber*>& bad) {
  return std::any_of(bad.begin(), bad.end(), [&](const LoggedNumber* one) {
    const auto& numbers = all.at(one->rank);
    return std::isfinite(numbers.back()->value);
  });
}

void judge_non_finite(const NumberLines& lines, const std::map<Quantity, Series>& all,
                      Judgement& judgement) {
  for (const auto& [quantity, series] : all) {  // loss before norms
    std::vector<const LoggedNumber*> first;
    for (const auto& [rank, numbers] : series) {
      const LoggedNumber* bad = first_bad(numbers);
      if (bad == nullptr) continue;
      if (!first.empty() && bad->step < first.front()->step) first.clear();
      if (first.empty() || bad->step == first.front()->step) first.push_back(bad);
    }
    if (first.empty()) continue;
    const LoggedNumber& one = *first.front();
    Finding finding = core::make_finding(
        "log.nan-value",
        fmt::format("{} is {} {} step {}{}{}", quantity_name(quantity), value_text(one.value),
                    recovers(series, first) ? "at" : "from", one.step,
                    recovers(series, first) ? "" : " on", who_first(first, series.size())));
    const bool is_split = one.rank >= 0 && first.size() < series.size();
    if (is_split)
      for (const LoggedNumber* number : first) finding.ranks.push_back(number->rank);
    for (const LoggedNumber* number : first)
      if (finding.evidence.size() < kMostEvidence)
        finding.evidence.push_back(evidence_of(lines, *number));
    finding.confidence = is_split ? Confidence::kLikely : Confidence::kPossible;
    finding.next = kFindTheRank;
    judgement.findings.push_back(std::move(finding));
    return;
  }
}

// What the ranks printed for one step.
struct StepValues {
  std::map<double, std::vector<const LoggedNumber*>> sides = {};
  std::size_t ranks = 0;
};

std::map<std::int64_t, StepValues> steps_of(const Series& series) {
  std::map<std::int64_t, StepValues> steps;
  for (const auto& [rank, numbers] : series) {
    if (rank < 0) continue;
    std::optional<std::int64_t> last;
    for (const LoggedNumber* number : numbers) {
      if (last == number->step || std::isnan(number->value)) continue;  // twice: the first counts
      last = number->step;
      steps[number->step].sides[number->value].push_back(number);
      ++steps[number->step].ranks;
    }
  }
  return steps;
}

Finding divergence(const NumberLines& lines, Quantity quantity, std::int64_t step,
                   const StepValues& values) {
  const auto smaller = [](const auto& a, const auto& b) {
    return a.second.size() < b.second.size();
  };
  const auto most = std::max_element(values.sides.begin(), values.sides.end(), smaller);
  std::vector<const LoggedNumber*> odd;
  for (const auto& [value, numbers] : values.sides)
    if (value != most->first) odd.insert(odd.end(), numbers.begin(), numbers.end());
  std::vector<int> ranks;
  for (const LoggedNumber* number : odd) ranks.push_back(number->rank);
  std::sort(ranks.begin(), ranks.end());
  const bool is_minority = 2 * odd.size() < values.ranks;
  Finding finding = core::make_finding(
      "log.ranks-diverge",
      fmt::format(
          "{} was equal on all ranks until step {}, where {} {}; the ranks no longer hold "
          "the same parameters",
          quantity_name(quantity), step, is_minority ? ranks_text(ranks) : std::string("the ranks"),
          is_minority
              ? fmt::format("{} {} and the others {}", ranks.size() == 1 ? "prints" : "print",
                            value_text(odd.front()->value), value_text(most->first))
              : "print different values"));
  if (is_minority) finding.ranks = ranks;
  finding.expected = {{most->first, quantity_name(quantity), core::Basis::kRead, "other ranks"}};
  finding.observed = {{odd.front()->value, quantity_name(quantity), core::Basis::kRead,
                       fmt::format("rank {}", odd.front()->rank)}};
  finding.evidence = {evidence_of(lines, *odd.front()), evidence_of(lines, *most->second.front())};
  finding.confidence = Confidence::kLikely;
  finding.next = {"compare a checksum of the parameters across ranks before and after that step",
                  "comm-probe trace PROFILES   (a tensor used before wait)",
                  "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=COLL   (types and counts of every call)"};
  return finding;
}

void judge_divergence(const NumberLines& lines, const std::map<Quantity, Series>& all,
                      Judgement& judgement) {
  for (const auto& [quantity, series] : all) {
    std::size_t agreed = 0;
    for (const auto& [step, values] : steps_of(series)) {
      if (values.ranks < 2) continue;
      if (values.sides.size() == 1) {
        ++agreed;
        continue;
      }
      if (agreed >= kStepsThatAgree) {
        judgement.findings.push_back(divergence(lines, quantity, step, values));
        return;
      }
      break;  // a value of each rank's own
    }
  }
}

// The same GPU in both, under another process: two runs.
bool are_two_runs(const nccl::DebugLog& log, int a, int b) {
  std::map<std::pair<int, std::uint64_t>, int> process_of;
  for (const nccl::LogRank& rank : log.ranks)
    if (rank.comm == a)
      process_of[{log.processes[static_cast<std::size_t>(rank.process)].host, rank.bus_id}] =
          rank.process;
  for (const nccl::LogRank& rank : log.ranks) {
    if (rank.comm != b || rank.bus_id == 0) continue;
    const auto found =
        process_of.find({log.processes[static_cast<std::size_t>(rank.process)].host, rank.bus_id});
    if (found != process_of.end() && found->second != rank.process) return true;
  }
  return false;
}

std::string choice_text(const nccl::LogChoice& choice) {
  return fmt::format(
      "{} {}{}", choice.algorithm ? std::string(table_name(*choice.algorithm)) : std::string("?"),
      choice.protocol ? std::string(table_name(*choice.protocol)) : std::string("?"),
      choice.channels ? fmt::format(" on {} channels", *choice.channels) : "");
}

// The largest call of both that was taken differently; null where there is none.
std::pair<const nccl::LogChoice*, const nccl::LogChoice*> differing(const nccl::LogComm& a,
                                                                    const nccl::LogComm& b) {
  std::pair<const nccl::LogChoice*, const nccl::LogChoice*> largest = {nullptr, nullptr};
  for (const nccl::LogChoice& one : a.choices)
    for (const nccl::LogChoice& other : b.choices) {
      if (one.function != other.function || one.bytes != other.bytes) continue;
      if (one.algorithm == other.algorithm && one.protocol == other.protocol &&
          one.channels == other.channels)
        continue;
      if (largest.first == nullptr || one.bytes > largest.first->bytes) largest = {&one, &other};
    }
  return largest;
}

bool share_a_call(const nccl::LogComm& a, const nccl::LogComm& b) {
  return std::any_of(a.choices.begin(), a.choices.end(), [&](const nccl::LogChoice& one) {
    return std::any_of(b.choices.begin(), b.choices.end(), [&](const nccl::LogChoice& other) {
      return one.function == other.function && one.bytes == other.bytes;
    });
  });
}

constexpr std::size_t kMostComms = 64;  // pairs are compared

// Pairs of communicators of two runs on as many ranks, until `take` is done.
template <class Take>
void each_pair_of_runs(const nccl::DebugLog& log, Take take) {
  const std::size_t comms = std::min(log.comms.size(), kMostComms);
  for (std::size_t a = 0; a < comms; ++a)
    for (std::size_t b = a + 1; b < comms; ++b) {
      if (log.comms[a].size < 2 || log.comms[a].size != log.comms[b].size) continue;
      if (!share_a_call(log.comms[a], log.comms[b])) continue;
      if (!are_two_runs(log, static_cast<int>(a), static_cast<int>(b))) continue;
      if (take(log.comms[a], log.comms[b])) return;
    }
}

}  // namespace

Judgement judge_numbers(const NumberLines& lines) {
  Judgement judgement;
  const auto all = series_of(lines);
  judge_statements(lines, judgement);
  if (judgement.findings.empty()) judge_non_finite(lines, all, judgement);
  judge_divergence(lines, all, judgement);
  return judgement;
}

bool shows_two_orders(const nccl::DebugLog& log) {
  bool shows = false;
  each_pair_of_runs(log, [&](const nccl::LogComm&, const nccl::LogComm&) { return shows = true; });
  return shows;
}

Judgement judge_algorithms(const nccl::DebugLog& log) {
  Judgement judgement;
  each_pair_of_runs(log, [&](const nccl::LogComm& a, const nccl::LogComm& b) {
    const auto [one, other] = differing(a, b);
    if (one == nullptr) return false;
    Finding finding = log_finding(
        log, "log.algorithms-differ",
        fmt::format("two runs on {} ranks added in different orders: {} of {} with {} in one, "
                    "{} in the other; their results differ in the last bits",
                    a.size, one->function.empty() ? "calls" : one->function,
                    core::format_bytes(core::Bytes::of(one->bytes)), choice_text(*one),
                    choice_text(*other)),
        one->first);
    finding.evidence.push_back(log_evidence(log, other->first));
    finding.confidence = Confidence::kCertain;
    finding.next = {"comm-probe nccl env   (NCCL_ALGO, NCCL_PROTO, channels of both runs)"};
    judgement.findings.push_back(std::move(finding));
    return true;
  });
  return judgement;
}

}  // namespace comm_probe::diagnose
