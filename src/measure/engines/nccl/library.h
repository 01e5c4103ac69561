// libnccl.so.2, loaded when it is used: its calls by our own declarations (public interface of
// NCCL 2.18 to 2.29, nccl.h), what a release must have, and what it may have. NCCL's interface only
// grows: a call that is there keeps its arguments.
//
//   required since 2.18   init, destroy, errors, five collectives, send, recv, groups,
//   ncclCommSplit may be there          ncclMemAlloc, ncclCommRegister (2.19),
//   ncclCommInitRankScalable (2.23),
//                         ncclCommWindowRegister (2.27), ncclAlltoAll (2.28)
//
//   Library::open(host)   // COMM_PROBE_NCCL, then the loader's path, then PyTorch's usual places
//   library->version()    // {2, 28, 9} of ncclGetVersion() == 22809
#pragma once

#include <compare>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/host.h"
#include "core/result.h"
#include "core/shared_library.h"

namespace comm_probe::measure::nccl {

struct UniqueId {
  char bytes[128] = {};
};
using Comm = void*;    // ncclComm_t
using Stream = void*;  // cudaStream_t, which is the driver's CUstream
using Window = void*;  // ncclWindow_t
inline constexpr int kSuccess = 0;
inline constexpr int kInProgress = 7;
inline constexpr int kWindowSymmetric = 1;  // NCCL_WIN_COLL_SYMMETRIC

struct Version {
  int major = 0;
  int minor = 0;
  int patch = 0;
  auto operator<=>(const Version&) const = default;
  std::string text() const;
};
// 22809 -> 2.28.9; up to 2.8 the number has one digit less: 2804 -> 2.8.4.
Version version_of(int code);
inline constexpr Version kOldest = {2, 18, 0};

// The calls, null where the library has none. Every one returns NCCL's result code.
struct Calls {
  int (*get_version)(int*) = nullptr;
  int (*get_unique_id)(UniqueId*) = nullptr;
  int (*init_rank)(Comm*, int ranks, UniqueId, int rank) = nullptr;
  int (*destroy)(Comm) = nullptr;
  int (*abort)(Comm) = nullptr;
  const char* (*error_string)(int) = nullptr;
  const char* (*last_error)(Comm) = nullptr;
  int (*async_error)(Comm, int*) = nullptr;
  int (*all_reduce)(const void*, void*, std::size_t, int type, int op, Comm, Stream) = nullptr;
  int (*broadcast)(const void*, void*, std::size_t, int type, int root, Comm, Stream) = nullptr;
  int (*reduce)(const void*, void*, std::size_t, int type, int op, int root, Comm,
                Stream) = nullptr;
  int (*all_gather)(const void*, void*, std::size_t, int type, Comm, Stream) = nullptr;
  int (*reduce_scatter)(const void*, void*, std::size_t, int type, int op, Comm, Stream) = nullptr;
  int (*send)(const void*, std::size_t, int type, int peer, Comm, Stream) = nullptr;
  int (*recv)(void*, std::size_t, int type, int peer, Comm, Stream) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  // The rest may be absent.
  int (*mem_alloc)(void**, std::size_t) = nullptr;
  int (*mem_free)(void*) = nullptr;
  int (*register_buffer)(Comm, void*, std::size_t, void** handle) = nullptr;
  int (*deregister_buffer)(Comm, void* handle) = nullptr;
  int (*register_window)(Comm, void*, std::size_t, Window*, int flags) = nullptr;
  int (*deregister_window)(Comm, Window) = nullptr;
  int (*all_to_all)(const void*, void*, std::size_t, int type, Comm, Stream) = nullptr;
  void (*reset_debug)() = nullptr;
};

// A symbol of the interface, and the release that brought it.
struct SymbolEntry {
  const char* name;
  Version since;
  bool required;  // by this engine
};
std::span<const SymbolEntry> symbol_table();

// Where the library is looked for, in order.
std::vector<std::string> library_places(const core::Host& host);

class Library {
 public:
  // Fails, in one line, where none loads, a required symbol is lacking, or it is older than 2.18.
  static core::Result<Library> open(const core::Host& host);
  static core::Result<Library> open(const std::vector<std::string>& places);

  const Calls& calls() const { return calls_; }
  Version version() const { return version_; }
  const std::string& file() const { return library_.file(); }
  bool has(const char* symbol) const;
  // Of the symbols that a release of this version should have, those that it has not.
  std::vector<std::string> lacking() const;
  // "unhandled cuda error (last error: ...)" of a result code.
  std::string explain(int result, Comm comm = nullptr) const;

 private:
  explicit Library(core::SharedLibrary library) : library_(std::move(library)) {}
  core::SharedLibrary library_;
  Calls calls_ = {};
  Version version_ = {};
};

}  // namespace comm_probe::measure::nccl
