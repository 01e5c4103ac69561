// `bench send_recv --backend ucx --verb put|get`: two processes of this machine, which it starts
// itself, move registered memory with UCX's one-sided operations, as a transfer of KV blocks does
// (NIXL's UCX back end). A row is one transfer at a time, from the call until its bytes are in the
// other memory; beside it what a window of transfers reaches, and what registering the memory
// costs.
#pragma once

#include "measure/engine.h"

namespace comm_probe::measure::ucx {

std::optional<core::Error> missing();
int usual_ranks();
std::vector<model::Algorithm> algorithms(model::Op op);
core::Result<bool> check(const Plan& plan);
core::Result<Run> run(const Plan& plan, const Progress& progress);

// "posix cma" of what ucp_ep_print_info prints: the ways of the endpoint's lanes, each once, in
// their order.
std::string transports_in(const std::string& description);

// All of "posix cma" reach memory without registering it with a device.
bool registers_nothing(const std::string& transports);

}  // namespace comm_probe::measure::ucx
