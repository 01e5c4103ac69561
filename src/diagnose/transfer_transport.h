// Which variable shows what carries a transfer: of NIXL's backends "UCX" (also where none is
// named), "LIBFABRIC" and "Mooncake". Sources: UCX and libfabric documentation, Mooncake's transfer
// engine.
#pragma once

#include <string>
#include <string_view>

namespace comm_probe::diagnose {

// "UCX_PROTO_INFO=y on both ends: which transport carries it? tcp is the fault"
std::string who_picks_transport(std::string_view backend);

}  // namespace comm_probe::diagnose
