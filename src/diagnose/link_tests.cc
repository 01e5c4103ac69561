#include "diagnose/link_tests.h"

namespace comm_probe::diagnose {
namespace {

using core::Bandwidth;
using curve::LinkRow;
using curve::LinkTest;

// name, value, applies when, source
constexpr double kLinkBytes = 65536;  // smaller messages show the message rate; perftest's default

}  // namespace

std::string name_of(const LinkTest& test) {
  const std::string name = test.program.empty() ? link_tool_name(test.tool) : test.program;
  return test.device.empty() ? name : name + " on " + test.device;
}

const LinkRow* best_row(const LinkTest& test) {
  const LinkRow* best = nullptr;
  for (const LinkRow& row : test.rows)
    if (row.average && *row.average > Bandwidth() && row.bytes.count() >= kLinkBytes &&
        (best == nullptr || *row.average > *best->average))
      best = &row;
  return best;
}

bool is_between_nics(const LinkTest& test) {
  switch (test.tool) {
    case curve::LinkTool::kPerftest:
      return !test.is_latency;
    case curve::LinkTool::kOsu:
      return !test.is_latency && !test.collective;
    case curve::LinkTool::kFiPingpong:
    case curve::LinkTool::kNixlbench:
    case curve::LinkTool::kNvbandwidth:
    case curve::LinkTool::kP2pTest:
    case curve::LinkTool::kBandwidthTest:
      return false;
  }
  return false;
}

bool is_over_one_port(const LinkTest& test) {
  if (!is_between_nics(test)) return false;
  if (test.tool != curve::LinkTool::kOsu) return true;
  return test.ends == curve::Ends::kTwoNodes && test.pairs.value_or(1) == 1;
}

Judgement judge_link_test(const LinkTest& test, const LinkReference& reference) {
  Judgement out = judge_link_errors(test);
  out.add(judge_link_rates(test, reference));
  out.add(judge_link_latency(test));
  out.add(judge_peer_access(test));
  out.add(judge_gpu_peers(test, reference));
  out.add(judge_host_links(test));
  out.add(judge_posting(test));
  return out;
}

}  // namespace comm_probe::diagnose
