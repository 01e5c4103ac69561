#include "cli/sim_changes.h"

#include <fmt/format.h>

#include "core/number.h"
#include "core/units.h"

namespace comm_probe::cli {
namespace {

using core::input_error;

core::Result<model::SlowLink> slow_link_of(const std::string& text) {
  const std::size_t first = text.find(':'), last = text.rfind(':');
  if (first != last) {
    const std::string other = text.substr(first + 1, last - first - 1);
    const auto a = core::whole_number<int>(text.substr(0, first));
    const auto b = other == "*" ? model::kAnyRank : core::whole_number<int>(other);
    const auto factor = core::whole_number<double>(text.substr(last + 1));
    if (a && b && (*b >= 0 || other == "*") && factor) return model::SlowLink{*a, *b, *factor};
  }
  return input_error(
      fmt::format("--slow-link {} is not A:B:FACTOR", text),
      "17:18:0.5 halves the link between the ranks 17 and 18, 17:*:0.5 the NIC of 17");
}

core::Result<sim::LateRank> late_rank_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon != std::string::npos) {
    const auto rank = core::whole_number<int>(text.substr(0, colon));
    auto by = core::parse_duration(text.substr(colon + 1));
    if (!by) return by.error();
    if (rank) return sim::LateRank{*rank, *by};
  }
  return input_error(fmt::format("--late {} is not RANK:TIME", text), "like --late 5:2ms");
}

}  // namespace

void ChangeFlags::add_to(CLI::App& app) {
  app.add_option("--slow-link", slow,
                 "the link between two ranks has FACTOR times its bandwidth; A:*:FACTOR: every "
                 "link of rank A that leaves its node (repeat it for several)")
      ->type_name("A:B:FACTOR");
  app.add_option("--late", late, "a rank comes late (repeat it for several)")
      ->type_name("RANK:TIME");
}

core::Result<std::vector<model::SlowLink>> ChangeFlags::slow_links() const {
  std::vector<model::SlowLink> links;
  for (const std::string& text : slow) {
    const auto link = slow_link_of(text);
    if (!link) return link.error();
    links.push_back(*link);
  }
  return links;
}

core::Result<std::vector<sim::LateRank>> ChangeFlags::late_ranks() const {
  std::vector<sim::LateRank> ranks;
  for (const std::string& text : late) {
    const auto rank = late_rank_of(text);
    if (!rank) return rank.error();
    ranks.push_back(*rank);
  }
  return ranks;
}

std::string cost_text(core::Duration with, core::Duration without) {
  const core::Duration more = with - without;
  if (more.in_seconds() < model::kNoTime) return "nothing";
  return fmt::format("{} ({:+.3g} %)", core::format_duration(more), (with / without - 1) * 100);
}

}  // namespace comm_probe::cli
