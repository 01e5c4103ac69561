#include "cli/calc_path_rdma.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"
#include "model/rdma.h"

namespace comm_probe::cli {
namespace {

using core::Json;
using core::json_number;

constexpr int kShownStatuses[] = {4, 5, 12, 13};

int default_of(std::string_view setting) {
  int value = 0;
  for (const model::RdmaDefault& row : model::rdma_defaults())
    if (row.setting == setting) value = row.value;
  return value;
}

core::Result<QueuePairTimer> timer_of(std::string when, int timeout, int retries) {
  const auto ack = model::local_ack_timeout(timeout);
  if (!ack) return ack.error();
  const auto status_12 = model::time_to_retry_exceeded(timeout, retries);
  if (!status_12) return status_12.error();
  return QueuePairTimer{std::move(when), timeout, retries, *ack, *status_12};
}

Json seconds(const std::optional<core::Duration>& time) {
  return time ? Json(json_number(time->in_seconds())) : Json(nullptr);
}

std::string text_of(const std::optional<core::Duration>& time) {
  return time ? core::format_duration(*time) : "never";
}

// Whether a job of NCCL can end with it.
std::string_view in_nccl(int status) {
  if (status != 13) return "possible";
  return "not reachable with NCCL defaults";
}

std::string range_text(const model::RdmaFigure& figure) {
  if (figure.low == figure.high)
    return fmt::format("{} {}", core::format_number(figure.low), figure.unit);
  return fmt::format("{} to {} {}", core::format_number(figure.low),
                     core::format_number(figure.high), figure.unit);
}

}  // namespace

core::Result<std::vector<QueuePairTimer>> queue_pair_timers(const QueuePairFlags& flags) {
  std::vector<QueuePairTimer> timers;
  const int retries = flags.retries.value_or(default_of("NCCL_IB_RETRY_CNT"));
  const auto add = [&](std::string when, int timeout) -> std::optional<core::Error> {
    auto timer = timer_of(std::move(when), timeout, retries);
    if (!timer) return timer.error();
    timers.push_back(std::move(*timer));
    return std::nullopt;
  };
  if (flags.timeout)
    if (const auto error = add("as given", *flags.timeout)) return *error;
  for (const model::RdmaDefault& row : model::rdma_defaults())
    if (row.setting == "NCCL_IB_TIMEOUT")
      if (const auto error = add(std::string(row.applies_when), row.value)) return *error;
  return timers;
}

Json rdma_json(const std::vector<QueuePairTimer>& timers) {
  Json json = {{"timers", Json::array()}, {"defaults", Json::array()}, {"statuses", Json::array()}};
  for (const QueuePairTimer& timer : timers)
    json["timers"].push_back({{"applies_when", timer.applies_when},
                              {"NCCL_IB_TIMEOUT", timer.timeout},
                              {"NCCL_IB_RETRY_CNT", timer.retries},
                              {"ack_timeout_s", seconds(timer.ack)},
                              {"status_12_after_s", seconds(timer.status_12)},
                              {"basis", "computed"}});
  for (const model::RdmaDefault& row : model::rdma_defaults())
    json["defaults"].push_back({{"setting", row.setting},
                                {"value", row.value},
                                {"applies_when", row.applies_when},
                                {"source", row.source}});
  for (const model::CompletionStatus& status : model::completion_statuses())
    json["statuses"].push_back({{"code", status.code},
                                {"name", status.name},
                                {"meaning", status.meaning},
                                {"in_nccl", in_nccl(status.code)}});
  json["queue_pair_states"] = model::queue_pair_states();
  for (const model::RdmaFigure& figure : model::rdma_figures())
    json["figures"].push_back({{"name", figure.name},
                               {"low", figure.low},
                               {"high", figure.high},
                               {"unit", figure.unit},
                               {"applies_when", figure.applies_when},
                               {"basis", "catalog"},
                               {"source", figure.source}});
  return json;
}

core::Table timers_table(const std::vector<QueuePairTimer>& timers) {
  core::Table table{.columns = {{"applies to", core::Column::Align::kLeft},
                                {"NCCL_IB_TIMEOUT"},
                                {"retries"},
                                {"one timer"},
                                {"status 12 after"},
                                {"at the latest"}},
                    .rows = {}};
  for (const QueuePairTimer& timer : timers) {
    // Devices may wait four times the nominal timer, and N retries are N + 1 attempts.
    const auto latest =
        timer.ack ? std::optional(*timer.ack * (4.0 * (timer.retries + 1))) : std::nullopt;
    table.rows.push_back({timer.applies_when, fmt::to_string(timer.timeout),
                          fmt::to_string(timer.retries), text_of(timer.ack),
                          text_of(timer.status_12), text_of(latest)});
  }
  return table;
}

std::vector<core::Block> rdma_blocks() {
  core::KeyValues statuses;
  for (const model::CompletionStatus& status : model::completion_statuses())
    for (const int shown : kShownStatuses)
      if (status.code == shown)
        statuses.rows.emplace_back(
            fmt::format("{} {}", shown, status.name),
            fmt::format("{}{}", status.meaning,
                        shown == 13 ? "; not reachable with NCCL defaults" : ""));
  core::KeyValues figures;
  figures.rows.emplace_back("queue pair", fmt::format("{}, then it sends; any fatal status: ERR",
                                                      fmt::join(model::queue_pair_states(), ", ")));
  for (const model::RdmaFigure& figure : model::rdma_figures())
    figures.rows.emplace_back(figure.name, fmt::format("{}; {} ({})", range_text(figure),
                                                       figure.applies_when, figure.source));
  return {core::Heading{"Completion statuses"}, statuses,
          core::Paragraph{"NCCL sets rnr_retry to 7, which means for ever, in every release looked "
                          "at (2.8 to 2.30): a receiver without posted buffers is a silent hang, "
                          "never status 13."},
          core::Heading{"Queue pairs and orders of magnitude"}, figures};
}

}  // namespace comm_probe::cli
