#include "nccl/log_problem.h"

#include <array>

namespace comm_probe::nccl {
namespace {

using enum LogFamily;
constexpr LogRole kCause = LogRole::kCause;
constexpr LogRole kFollowUp = LogRole::kFollowUp;
constexpr LogRole kNoHarm = LogRole::kHarmless;

// The first row that fits wins: the special stands before the general. Texts of 2.4 to 2.30:
// shared spec nccl-7-log 7.6, users-nccl, and the recorded logs of data/field/logs.
constexpr std::array kWarnings = {
    LogPattern{kIbCompletion, kCause, {"Got completion ", " error "}},
    LogPattern{kIbCompletion, kCause, {"Got completion ", " status="}},
    LogPattern{kIbAsyncFatal, kCause, {"NET/IB", "async fatal event"}},
    // the subnet manager's or an address that changed: healthy jobs go on
    LogPattern{kIbAsyncEvent, kNoHarm, {"async event", "client reregistration"}},
    LogPattern{kIbAsyncEvent, kNoHarm, {"async event", "LID change"}},
    LogPattern{kIbAsyncEvent, kNoHarm, {"async event", "SM change"}},
    LogPattern{kIbAsyncEvent, kNoHarm, {"async event", "P_Key"}},
    LogPattern{kIbAsyncEvent, kNoHarm, {"async event", "GID table change"}},
    LogPattern{kIbAsyncEvent, kCause, {"NET/IB", "async event"}},
    LogPattern{kModifyQp, kCause, {"Call to ibv_modify_qp failed", ""}},
    LogPattern{kRegisterMemory, kCause, {"Call to ibv_reg_", " failed"}},
    LogPattern{kCreateQueue, kCause, {"Call to ibv_create_", " failed"}},
    LogPattern{kOpenDevice, kCause, {"Call to ibv_open_device failed", ""}},
    LogPattern{kOpenDevice, kCause, {"NET/IB", "Unable to open device"}},
    LogPattern{kIncompatibleNics, kCause, {"Attempted to connect incompatible devices", ""}},
    LogPattern{kMessageTruncated, kCause, {"essage truncated", "instead of"}},
    LogPattern{kMessageTruncated, kCause, {"posted incorrect receive info", ""}},
    LogPattern{kMessageTruncated, kCause, {"ismatched collective", ""}},
    LogPattern{kVersionMismatch, kCause, {"Mismatched NCCL version", ""}},
    LogPattern{kDuplicateGpu, kCause, {"Duplicate GPU detected", ""}},
    LogPattern{kDuplicateRank, kCause, {"Bootstrap Root", "already checked in"}},
    LogPattern{kDuplicateRank, kCause, {"Bootstrap Root", "mismatch"}},
    LogPattern{kNoInterface, kCause, {"o socket interface found", ""}},
    LogPattern{kNoInterface, kCause, {"no usable listening interface", ""}},
    LogPattern{kAddressFamily, kCause, {"connecting to address", "neither AF_INET"}},
    LogPattern{kTeardown, kNoHarm, {"[Service thread] Accept failed", ""}},
    LogPattern{kTeardown, kNoHarm, {"[Service thread] Could not receive type", ""}},
    LogPattern{kTeardown, kNoHarm, {"Failed to execute operation Close", ""}},
    LogPattern{kTeardown, kNoHarm, {"[Service thread] Connection closed by localRank", ""}},
    LogPattern{kPeerClosed, kFollowUp, {"onnection closed by re", ""}},  // or cut behind it
    LogPattern{kPeerClosed, kFollowUp, {"Connection reset by peer", ""}},
    LogPattern{kPeerClosed, kFollowUp, {"Broken pipe", ""}},
    LogPattern{kProxyFailed, kFollowUp, {"Failed to execute operation", ""}},
    LogPattern{kProxyFailed, kFollowUp, {"Proxy Call to rank", ""}},
    LogPattern{kProxyFailed, kFollowUp, {"Socket recv failed while polling", ""}},
    LogPattern{kConnectFailed, kCause, {"onnect to ", " returned "}},
    LogPattern{kConnectFailed, kCause, {"onnect to ", " failed"}},
    LogPattern{kConnectFailed, kCause, {"xceeded", "retries"}},
    LogPattern{kConnectFailed, kCause, {"exceeded error retry count", ""}},
    LogPattern{kConnectFailed, kCause, {"Call to connect returned", ""}},
    LogPattern{kStrayConnection, kCause, {"wrong type", "!="}},
    LogPattern{kShmFull, kCause, {"Call to posix_fallocate failed", "No space left"}},
    LogPattern{kShmFull, kCause, {"failed to extend /dev/shm", ""}},
    LogPattern{kShmFull, kCause, {"shared memory segment", "No space left"}},
    LogPattern{kShmFailed, kCause, {"Error while ", "shared memory segment"}},
    LogPattern{kNvlsBind, kCause, {"NVLink SHARP", "ulticast"}},
    LogPattern{kImex, kCause, {"MNNVL", "available but not working"}},
    LogPattern{kCudaMemory, kCause, {"Cuda failure", "out of memory"}},
    LogPattern{kCudaMemory, kCause, {"Failed to CUDA ", "alloc"}},
    LogPattern{kFabricManager, kCause, {"Cuda failure", "system not yet initialized"}},
    LogPattern{kCudaArch, kCause, {"Cuda failure", "named symbol not found"}},
    LogPattern{kCudaArch, kCause, {"Cuda failure", "no kernel image"}},
    LogPattern{kCudaArch, kCause, {"Cuda failure", "invalid device function"}},
    LogPattern{kCudaError, kCause, {"Cuda failure", ""}},
    LogPattern{kNvlinkP2pOff, kCause, {"P2P is disabled between NVLINK connected", ""}},
    LogPattern{kNoAlgorithm, kCause, {"no algorithm/protocol available", ""}},
    LogPattern{kUnknownMethod, kCause, {"Unrecognized element token", ""}},
    LogPattern{kRingBroken, kCause, {"Error : ring", "does not"}},
    LogPattern{kNoTransport, kCause, {"No transport found for rank", ""}},
    LogPattern{kNoNicPath, kCause, {"Could not find any local path from gpu", ""}},
    LogPattern{kTopologyFile, kCause, {"XML Parse error", ""}},
    LogPattern{kTopologyFile, kCause, {"XML Topology has wrong version", ""}},
    LogPattern{kTopologyFile, kCause, {"Could not open XML", ""}},
    LogPattern{kSelfSend, kCause, {"to self without a matching", ""}},
    LogPattern{kAborted, kFollowUp, {"is in abort state", ""}},
    LogPattern{kInvalidUsage, kCause, {"already destroyed", ""}},
    LogPattern{kInvalidUsage, kCause, {"invalid usage", ""}},
    LogPattern{kSearchFallback, kNoHarm, {"Could not find a path for pattern", ""}},
    LogPattern{kNoVerbs, kNoHarm, {"Failed to open libibverbs", ""}},
    LogPattern{kHarmless, kNoHarm, {"SHARP coll init error", ""}},
    LogPattern{kHarmless, kNoHarm, {"Cannot initialize CollNet", ""}},
    LogPattern{kHarmless, kNoHarm, {"MSCCL", "Cannot enable"}},
    LogPattern{kHarmless, kNoHarm, {"HINT", ""}},
    LogPattern{kHarmless, kNoHarm, {"NCCL_IB_MERGE_NICS", ""}},
};

// INFO lines that tell of trouble or explain it.
constexpr std::array kNotices = {
    LogPattern{kTeardown, kNoHarm, {"[Service thread] Connection closed by localRank", ""}},
    LogPattern{kOpenDevice, kCause, {"NET/IB", "Unable to open device"}},
    LogPattern{kOfiProvider, kNoHarm, {"NET/OFI Selected ", "rovider is "}},
    LogPattern{kOfiNoGdr, kNoHarm, {"NET/OFI ", "disabling GDR"}},
    LogPattern{kPluginMissing, kNoHarm, {"NET/Plugin", "cannot open shared object file"}},
    LogPattern{kPluginMissing, kNoHarm, {"NET/Plugin", "o plugin found"}},
    LogPattern{kPluginMissing, kNoHarm, {"NET/Plugin", "Could not find: lib"}},
    LogPattern{kPluginFailed, kNoHarm, {"Failed to initialize NET plugin", ""}},
    LogPattern{kNoVerbs, kNoHarm, {"Failed to open libibverbs", ""}},
    LogPattern{kMaxSharedMemory, kCause, {"ncclMaxSharedMem", "exceeds"}},
    LogPattern{kCuMemHost, kNoHarm, {"cuMem host allocations do not appear", ""}},
    LogPattern{kPciNoSpeed, kNoHarm, {"KV Convert to int", "value of ''"}},
    LogPattern{kPciUnknownSpeed, kNoHarm, {"KV Convert to int", "GT/s"}},
    LogPattern{kStrayConnection, kNoHarm, {"receive a valid magic", ""}},
    LogPattern{kTopologyFile, kNoHarm, {"Could not open XML topology file", ""}},
    LogPattern{kMnnvlState, kNoHarm, {"MNNVL busId ", " state "}},
    LogPattern{kConnectFailed, kNoHarm, {"retrying (", ""}},
};

template <class Table>
const LogPattern* match(const Table& table, std::string_view message) {
  for (const LogPattern& row : table) {
    const std::size_t at = message.find(row.words[0]);
    if (at == std::string_view::npos) continue;
    if (message.find(row.words[1], at + row.words[0].size()) != std::string_view::npos) return &row;
  }
  return nullptr;
}

}  // namespace

const LogPattern* match_log_warning(std::string_view message) { return match(kWarnings, message); }
const LogPattern* match_log_notice(std::string_view message) { return match(kNotices, message); }

}  // namespace comm_probe::nccl
