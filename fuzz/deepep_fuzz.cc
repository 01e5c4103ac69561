// Any bytes given to the reader of DeepEP's prints, and what is said of them: no crash, and every
// figure is one that the records promise.
#include <cstdlib>

#include "diagnose/deepep.h"

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace comm_probe;  // NOLINT
  auto input =
      core::Input::from_memory("fuzz", std::string(reinterpret_cast<const char*>(data), size));
  const auto lines = serving::read_deepep(input);
  if (!lines) return 0;
  for (const serving::DeepEpRate& rate : lines->rates) {
    require(rate.rdma || rate.nvlink);
    if (rate.rdma) require(rate.rdma->in_GBps() <= 1e5);
    if (rate.time) require(rate.time->in_us() <= 1e12);
    require(rate.place.text.size() <= 200);
  }
  const diagnose::DeepEpFacts facts = {
      {}, {core::Bandwidth::from_GBps(50), core::Basis::kAssumed, "fuzz"}};
  require(diagnose::judge_deepep(*lines, facts).rates.size() == lines->rates.size());
  return 0;
}
