// One-sided put and get of UCX for `bench --backend ucx` (src/measure/engines/ucx). Built where UCX
// is found, loaded by the program when it is asked for.
#include <stdio.h>
#include <ucp/api/ucp.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "measure/engines/ucx/ucx_plugin.h"

struct comm_probe_ucx_memory {
  ucp_mem_h handle = nullptr;
};

struct comm_probe_ucx_side {
  ucp_context_h context = nullptr;
  ucp_worker_h worker = nullptr;
  ucp_ep_h endpoint = nullptr;
  ucp_rkey_h remote_key = nullptr;
  ucp_address_t* address = nullptr;
  void* packed_key = nullptr;
  std::vector<ucs_status_ptr_t> under_way = {};
};

namespace {

using Side = comm_probe_ucx_side;
using Memory = comm_probe_ucx_memory;

const char* failed(const char* call, ucs_status_t status) {
  static std::string text;
  if (status == UCS_OK) return nullptr;
  text = std::string(call) + ": " + ucs_status_string(status);
  return text.c_str();
}

const char* library() {
  static const std::string text = std::string("UCX ") + ucp_get_version_string();
  return text.c_str();
}

int moves_cuda_memory(Side* side) {
  ucp_context_attr_t attributes = {};
  attributes.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
  if (ucp_context_query(side->context, &attributes) != UCS_OK) return 0;
  return (attributes.memory_types & UCS_BIT(UCS_MEMORY_TYPE_CUDA)) != 0 ? 1 : 0;
}

void close_side(Side* side);

const char* open_side(Side** opened) {
  auto* side = new Side;
  ucp_params_t params = {};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_RMA;
  if (const char* why = failed("ucp_init", ucp_init(&params, nullptr, &side->context))) {
    delete side;
    return why;
  }
  ucp_worker_params_t worker = {};
  worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  worker.thread_mode = UCS_THREAD_MODE_SINGLE;
  const char* why =
      failed("ucp_worker_create", ucp_worker_create(side->context, &worker, &side->worker));
  if (why != nullptr) {
    close_side(side);
    return why;
  }
  *opened = side;
  return nullptr;
}

void wait_for(Side* side, ucs_status_ptr_t request) {
  if (!UCS_PTR_IS_PTR(request)) return;
  while (ucp_request_check_status(request) == UCS_INPROGRESS) ucp_worker_progress(side->worker);
  ucp_request_free(request);
}

void close_side(Side* side) {
  if (side->remote_key != nullptr) ucp_rkey_destroy(side->remote_key);
  if (side->packed_key != nullptr) ucp_rkey_buffer_release(side->packed_key);
  if (side->endpoint != nullptr) {
    ucp_request_param_t force = {};
    force.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    force.flags = UCP_EP_CLOSE_FLAG_FORCE;
    wait_for(side, ucp_ep_close_nbx(side->endpoint, &force));
  }
  if (side->address != nullptr) ucp_worker_release_address(side->worker, side->address);
  if (side->worker != nullptr) ucp_worker_destroy(side->worker);
  if (side->context != nullptr) ucp_cleanup(side->context);
  delete side;
}

const char* address(Side* side, const void** bytes, size_t* size) {
  const char* why =
      failed("ucp_worker_get_address", ucp_worker_get_address(side->worker, &side->address, size));
  *bytes = side->address;
  return why;
}

const char* connect(Side* side, const void* address) {
  ucp_ep_params_t params = {};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
  params.address = static_cast<const ucp_address_t*>(address);
  return failed("ucp_ep_create", ucp_ep_create(side->worker, &params, &side->endpoint));
}

const char* map(Side* side, void* at, size_t size, Memory** memory) {
  ucp_mem_map_params_t params = {};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
  params.address = at;
  params.length = size;
  *memory = new Memory;
  return failed("ucp_mem_map", ucp_mem_map(side->context, &params, &(*memory)->handle));
}

const char* unmap(Side* side, Memory* memory) {
  const ucs_status_t status = ucp_mem_unmap(side->context, memory->handle);
  delete memory;
  return failed("ucp_mem_unmap", status);
}

const char* key(Side* side, Memory* memory, const void** bytes, size_t* size) {
  const char* why = failed("ucp_rkey_pack",
                           ucp_rkey_pack(side->context, memory->handle, &side->packed_key, size));
  *bytes = side->packed_key;
  return why;
}

const char* use_key(Side* side, const void* packed) {
  return failed("ucp_ep_rkey_unpack",
                ucp_ep_rkey_unpack(side->endpoint, packed, &side->remote_key));
}

ucs_status_ptr_t start(Side* side, const comm_probe_ucx_transfer& asked, uint64_t from = 0,
                       uint64_t to = 0) {
  ucp_request_param_t params = {};
#ifdef COMM_PROBE_UCX_HAS_MEMH
  if (asked.memory != nullptr) {
    params.op_attr_mask = UCP_OP_ATTR_FIELD_MEMH;
    params.memh = asked.memory->handle;
  }
#endif
  char* const local = static_cast<char*>(asked.local) + from;
  const uint64_t remote = asked.remote + to;
  return asked.is_get != 0
             ? ucp_get_nbx(side->endpoint, local, asked.size, remote, side->remote_key, &params)
             : ucp_put_nbx(side->endpoint, local, asked.size, remote, side->remote_key, &params);
}

const char* finish(Side* side, ucs_status_ptr_t request, const char* call) {
  if (UCS_PTR_IS_ERR(request)) return failed(call, UCS_PTR_STATUS(request));
  if (request == nullptr) return nullptr;
  ucs_status_t status = UCS_INPROGRESS;
  while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS)
    ucp_worker_progress(side->worker);
  ucp_request_free(request);
  return failed(call, status);
}

const char* transfer(Side* side, const comm_probe_ucx_transfer* asked) {
  const char* call = asked->is_get != 0 ? "ucp_get_nbx" : "ucp_put_nbx";
  const char* why = nullptr;
  const auto begin = std::chrono::steady_clock::now();
  side->under_way.clear();
  for (uint64_t i = 0; i < asked->pieces; ++i)
    side->under_way.push_back(
        start(side, *asked, asked->local_offsets[i], asked->remote_offsets[i]));
  if (asked->pieces == 0)
    for (int i = 0; i < asked->window; ++i) side->under_way.push_back(start(side, *asked));
  if (asked->posting_seconds != nullptr)
    *asked->posting_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (ucs_status_ptr_t request : side->under_way)
    if (const char* wrong = finish(side, request, call)) why = wrong;
  if (asked->is_get != 0 || why != nullptr) return why;
  const ucp_request_param_t params = {};
  return finish(side, ucp_ep_flush_nbx(side->endpoint, &params), "ucp_ep_flush_nbx");
}

void progress(Side* side) { ucp_worker_progress(side->worker); }

void describe(Side* side, char* text, size_t size) {
  char* written = nullptr;
  size_t length = 0;
  FILE* stream = open_memstream(&written, &length);
  if (stream == nullptr || size == 0) return;
  ucp_ep_print_info(side->endpoint, stream);
  fclose(stream);
  const size_t kept = length < size - 1 ? length : size - 1;
  std::memcpy(text, written, kept);
  text[kept] = '\0';
  std::free(written);
}

constexpr comm_probe_ucx kFunctions = {COMM_PROBE_UCX_VERSION,
                                       library,
                                       moves_cuda_memory,
                                       open_side,
                                       close_side,
                                       address,
                                       connect,
                                       map,
                                       unmap,
                                       key,
                                       use_key,
                                       transfer,
                                       progress,
                                       describe};

}  // namespace

extern "C" const comm_probe_ucx* comm_probe_ucx_functions() { return &kFunctions; }
