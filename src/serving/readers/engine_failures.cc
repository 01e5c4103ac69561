#include "serving/readers/engine_failures.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "serving/readers/line_words.h"

namespace comm_probe::serving {
namespace {

constexpr std::size_t kLongestDetail = 120;
constexpr std::size_t kMostKept = 32;
constexpr std::int64_t kMostCounted = 1'000'000'000;  // beyond it a line is damaged
constexpr auto kNowhere = std::string_view::npos;

struct FailureText {
  std::string_view text;
  std::string_view also;  // must stand behind it
  FailureKind kind;
  std::string_view detail;  // stands behind this; empty: no detail
};
constexpr std::array kTexts = {
    FailureText{"custom allreduce currently requires input length", "multiple of ",
                FailureKind::kAllReduceLength, "multiple of "},
    FailureText{"buffer address ", " is not registered!", FailureKind::kAllReduceBuffer, ""},
    FailureText{"Rank data buffer is overflowed by ", "", FailureKind::kAllReduceRankData,
                "overflowed by "},
    FailureText{"Prefill transfer failed for request", "", FailureKind::kKvTransfer,
                "with exception "},
    FailureText{"Decode transfer failed for request", "", FailureKind::kKvTransfer,
                "with exception "},
    FailureText{"Losing connection with prefill instance", "", FailureKind::kKvPeerLost,
                "bootstrap_addr: "},
    FailureText{"VRAM memory is detected as host by UCX", "", FailureKind::kVramAsHost, ""},
};
constexpr std::size_t kMostIds = 1'000'000;
constexpr std::string_view kExpiry = "Releasing expired KV blocks for request";
constexpr std::string_view kSlice = "Worker: Process failed for slice";

std::string_view behind(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  return at == kNowhere ? std::string_view() : text.substr(at + mark.size());
}

// "KVTransferError(bootstrap_room=8875): Decode instance could be dead" -> what stands behind.
std::string detail_of(const FailureText& text, std::string_view line) {
  if (text.detail.empty()) return "";
  std::string_view detail = behind(line, text.detail);
  if (detail.starts_with("KVTransferError"))
    if (const auto reason = behind(detail, "): "); !reason.empty()) detail = reason;
  if (text.kind == FailureKind::kKvPeerLost) detail = detail.substr(0, detail.find(')'));
  if (text.kind == FailureKind::kAllReduceLength || text.kind == FailureKind::kAllReduceRankData)
    detail = detail.substr(0, detail.find_first_not_of("0123456789"));
  return std::string(detail.substr(0, kLongestDetail));
}

// Another rank's error, told on: the first of its own says more.
bool is_told_on(const EngineFailure& failure) {
  return failure.detail.empty() || failure.detail.find("from another rank") != std::string::npos;
}

std::optional<std::int64_t> count_behind(std::string_view text, std::string_view mark) {
  text = behind(text, mark);
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || count < 0 || count > kMostCounted) return std::nullopt;
  return count;
}

}  // namespace

const EngineFailure* EngineFailures::find(FailureKind kind) const {
  const auto it = std::find_if(all.begin(), all.end(),
                               [kind](const EngineFailure& one) { return one.kind == kind; });
  return it == all.end() ? nullptr : &*it;
}

void EngineFailureReader::add(const core::Line& line) {
  for (const FailureText& text : kTexts) {
    const std::size_t at = line.text.find(text.text);
    if (at == kNowhere) continue;
    const std::string_view rest = line.text.substr(at);
    if (!text.also.empty() && rest.find(text.also) == kNowhere) continue;
    return add_failure(line, at, {.kind = text.kind, .detail = detail_of(text, rest)});
  }
  if (line.text.find(kSlice) != kNowhere) add_nic(line);
  add_counts(line);
}

void EngineFailureReader::add_failure(const core::Line& line, std::size_t at,
                                      EngineFailure failure) {
  if (!is_own_words(line.text, at) || failure.detail.starts_with("Aborted by AbortReq")) return;
  ++found_;
  failure.times = 1;
  failure.evidence = line_evidence(file_, line, at);
  const auto known =
      std::find_if(failures_.all.begin(), failures_.all.end(), [&](const EngineFailure& other) {
        return other.kind == failure.kind &&
               (failure.kind != FailureKind::kKvNic || other.detail == failure.detail);
      });
  if (known == failures_.all.end()) {
    if (failures_.all.size() < kMostKept) failures_.all.push_back(std::move(failure));
    return;
  }
  failure.times += known->times;
  if (is_told_on(*known) && !is_told_on(failure))
    *known = std::move(failure);
  else
    known->times = failure.times;
}

// "... local_nic: mlx5_7, peer_nic: 10.0.0.1:15004@mlx5_7, ...): local protection error"
void EngineFailureReader::add_nic(const core::Line& line) {
  const std::size_t at = line.text.find(kSlice);
  const std::string_view rest = line.text.substr(at);
  const std::string_view status = behind(rest, "): ");
  if (status.empty() || status.find("flush") != kNowhere) return;
  const std::string_view nic = behind(rest, "local_nic: ");
  add_failure(line, at,
              {.kind = FailureKind::kKvNic,
               .detail = std::string(status.substr(0, kLongestDetail)),
               .nic = std::string(nic.substr(0, std::min<std::size_t>(nic.find(','), 64)))});
}

void EngineFailureReader::add_counts(const core::Line& line) {
  const auto add = [&](KvCount& all, std::string_view mark) {
    const std::size_t at = line.text.find(mark);
    if (at == kNowhere) return;
    const auto count = count_behind(line.text, mark);
    if (!count || *count == 0) return;
    ++found_;
    if (all.number == 0) all.evidence = line_evidence(file_, line, at);
    all.number = std::min(all.number + *count, kMostCounted);
  };
  if (line.text.find("Num ") != kNowhere) {
    add(failures_.failed_transfers, "Num failed transfers=");
    add(failures_.failed_transfers, "Num failed recvs=");
    add(failures_.expired_requests, "Num KV expired reqs=");
  }
  add_expiry(line);
}

// "... for request cmpl-1 which were retrieved by": every worker of the instance prints it.
void EngineFailureReader::add_expiry(const core::Line& line) {
  const std::size_t at = line.text.find(kExpiry);
  if (at == kNowhere || !is_own_words(line.text, at)) return;
  ++found_;
  if (expiry_.source.empty()) expiry_ = line_evidence(file_, line, at);
  std::string_view id = line.text.substr(at + kExpiry.size());
  id.remove_prefix(std::min(id.find_first_not_of(' '), id.size()));
  id = id.substr(0, std::min<std::size_t>(id.find_first_of(" ,"), 128));
  if (id.empty())
    ++unnamed_;
  else if (expired_.size() < kMostIds)
    expired_.emplace(id);
}

// The same requests stand in single lines and in the counts of an interval.
EngineFailures EngineFailureReader::finish() {
  KvCount& expired = failures_.expired_requests;
  const auto named = static_cast<std::int64_t>(expired_.size());
  const std::int64_t requests = named > 0 ? named : std::min<std::int64_t>(unnamed_, 1);
  if (requests > expired.number) expired = {requests, expiry_};
  return std::move(failures_);
}

}  // namespace comm_probe::serving
