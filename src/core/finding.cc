#include "core/finding.h"

namespace comm_probe::core {

const char* severity_name(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kInfo:
      return "info";
  }
  return "info";
}

const char* layer_name(Layer layer) {
  switch (layer) {
    case Layer::kHardware:
      return "hardware";
    case Layer::kTopology:
      return "topology";
    case Layer::kRdma:
      return "rdma";
    case Layer::kNccl:
      return "nccl";
    case Layer::kFramework:
      return "framework";
    case Layer::kApplication:
      return "application";
  }
  return "application";
}

const char* confidence_name(Confidence confidence) {
  switch (confidence) {
    case Confidence::kCertain:
      return "certain";
    case Confidence::kLikely:
      return "likely";
    case Confidence::kPossible:
      return "possible";
  }
  return "possible";
}

Figure figure(Bandwidth bandwidth, Basis basis, std::string source) {
  return {bandwidth.in_GBps(), "GB/s", basis, std::move(source)};
}
Figure figure(Duration time, Basis basis, std::string source) {
  return {time.in_us(), "us", basis, std::move(source)};
}
Figure figure(Bytes bytes, Basis basis, std::string source) {
  return {bytes.count(), "B", basis, std::move(source)};
}

}  // namespace comm_probe::core
