// Any bytes given to the routing reader: no crash, and what comes out is a routing: whole tokens,
// experts that exist, none twice in a token.
#include <cstdlib>
#include <set>

#include "serving/readers/routing_file.h"

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using comm_probe::model::kNoExpert;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  for (const comm_probe::serving::RoutingShape shape :
       {comm_probe::serving::RoutingShape{2, 8}, comm_probe::serving::RoutingShape{1, 1}}) {
    auto input = comm_probe::core::Input::from_memory("fuzz", bytes);
    const auto routing = comm_probe::serving::read_routing(input, shape);
    if (!routing) continue;
    require(routing->tokens() > 0 &&
            routing->picks.size() % static_cast<std::size_t>(shape.topk) == 0);
    for (std::size_t at = 0; at < routing->picks.size();
         at += static_cast<std::size_t>(shape.topk)) {
      std::set<int> seen;
      for (int i = 0; i < shape.topk; ++i) {
        const auto pick = routing->picks[at + static_cast<std::size_t>(i)];
        require(pick == kNoExpert || (pick < shape.experts && seen.insert(pick).second));
      }
    }
  }
  return 0;
}
