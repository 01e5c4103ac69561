// Which operation on how many ranks is this curve? Stated by the text, else by the name of the
// file, else by what the columns imply:
//   bytes / (count * bytes per element) = ranks for all_gather, reduce_scatter and all_to_all, 1
//   for the others; busbw / algbw = 2(n-1)/n or (n-1)/n (model::busbw_factor).
// What several operations or several numbers of ranks fit stays empty.
//
//   busbw 741.2 over algbw 395.3 = 1.875 within print precision: all_reduce on 16 ranks
#pragma once

#include <optional>
#include <string>

#include "curve/curve.h"

namespace comm_probe::curve {

// What was said outside the tables: command lines, NCCL's own lines.
struct Said {
  std::string program = {};
  std::optional<int> ranks = {};   // from the command line
  std::optional<int> nranks = {};  // from NCCL's lines of this run
  std::optional<int> nodes = {};
  std::string nccl_version = {};
};

// Fills op, program, ranks and nodes of `curve` and where they come from.
void identify(Curve& curve, const Said& said);

// The highest rank in the list of devices, plus one; 0 where there is no list.
int listed_ranks(const Curve& curve);

// How many nodes go by this host name. Containers of several nodes may have one: then each of its
// devices is listed as often, block after block, which NCCL would refuse on one node.
int nodes_named(const Curve& curve, std::string_view host);

// The operation a program or a file name speaks of: "all_reduce_perf_mpi", "c55_2n_alltoall.txt".
struct NamedOp {
  std::string program = {};
  std::optional<model::Op> op = {};
};
NamedOp op_of_program(const std::string& program);
// Empty where the name speaks of none or of several.
NamedOp op_of_file_name(const std::string& path);

}  // namespace comm_probe::curve
