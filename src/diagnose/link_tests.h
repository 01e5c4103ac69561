// Tests of links: does each of them say something that contradicts itself, its neighbours, or what
// port and slot carry?
//
// A test between two NICs is compared with a reference only (the text prints no rate of a port);
// devices of one machine are compared with each other (link_gpu_rules.cc).
//
// Worked example (tests/unit/diagnose/link_tests_test.cc repeats it): p17 of the field files, three
// A6000: 13.15 GB/s without P2P, 2.12 with it: curve.p2p-slower, possible.
#pragma once

#include <span>
#include <vector>

#include "catalog/catalog.h"
#include "curve/link_test.h"
#include "diagnose/diagnose.h"
#include "diagnose/link_ceiling.h"

namespace comm_probe::diagnose {

// Everything about one test.
Judgement judge_link_test(const curve::LinkTest& test, const LinkReference& reference);
// Its matrices against the machine that was named.
MachineReference machine_reference_of(const catalog::Machine& machine);
Judgement judge_against_machine(const curve::LinkTest& test, const MachineReference& machine);
// Tests beside each other: host against GPU memory of one NIC, one slow test among its like (the
// same program, settings, sizes and port).
struct ComparedTest {
  const curve::LinkTest* test = nullptr;
  LinkReference reference = {};  // what is known of its own port
};
Judgement compare_link_tests(std::span<const ComparedTest> tests);

// "ib_write_bw on mlx5_0"
std::string name_of(const curve::LinkTest& test);
// The row of the highest average among those that show a link (64 KiB and more); null where there
// is none.
const curve::LinkRow* best_row(const curve::LinkTest& test);
// A bandwidth test whose two ends may be two NICs.
bool is_between_nics(const curve::LinkTest& test);
// The same where it is known to be so: OSU runs inside a node as often as between two, and its
// osu_mbw_mr prints the sum of many pairs.
bool is_over_one_port(const curve::LinkTest& test);

// The groups, in this order.
Judgement judge_link_errors(const curve::LinkTest& test);
Judgement judge_link_rates(const curve::LinkTest& test, const LinkReference& reference);
Judgement judge_link_latency(const curve::LinkTest& test);
Judgement judge_peer_access(const curve::LinkTest& test);
Judgement judge_gpu_peers(const curve::LinkTest& test, const LinkReference& reference);
Judgement judge_host_links(const curve::LinkTest& test);
Judgement judge_posting(const curve::LinkTest& test);
// nixlbench with host and GPU memory, read and written: is one of them far below the best?
Judgement compare_transfers(std::span<const ComparedTest> tests);

}  // namespace comm_probe::diagnose
