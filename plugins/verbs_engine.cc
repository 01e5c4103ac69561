// RDMA write and read over verbs for `link --only net` (src/measure/engines/verbs). Built where
// libibverbs is found, loaded by the program when it is asked for.
#include <infiniband/verbs.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "measure/engines/verbs/verbs_plugin.h"

struct comm_probe_verbs_side {
  ibv_context* context = nullptr;
  ibv_pd* domain = nullptr;
  ibv_mr* memory = nullptr;
  ibv_cq* completions = nullptr;
  ibv_qp* pair = nullptr;
  int port = 1;
  ibv_port_attr attributes = {};
  comm_probe_verbs_end other = {};
};

namespace {

using Side = comm_probe_verbs_side;

constexpr int kDepth = 128;
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
// A lost peer is told by the queue pair itself: 4.096 us x 2^14 = 67 ms, seven times.
constexpr int kTimeout = 14;
constexpr int kRetries = 7;
constexpr std::uint32_t kFirstPacket = 1;

const char* failure(const char* call, int error) {
  static std::string text;
  text = std::string(call) + ": " + std::strerror(error);
  return text.c_str();
}

double seconds_now() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

int devices(char (*names)[64], int most) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  if (list == nullptr) return -errno;
  for (int i = 0; i < std::min(count, most); ++i) {
    std::strncpy(names[i], ibv_get_device_name(list[i]), 63);
    names[i][63] = '\0';
  }
  ibv_free_device_list(list);
  return count;
}

ibv_context* opened(const char* name) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  ibv_context* context = nullptr;
  for (int i = 0; list != nullptr && i < count; ++i)
    if (std::strcmp(ibv_get_device_name(list[i]), name) == 0) context = ibv_open_device(list[i]);
  if (list != nullptr) ibv_free_device_list(list);
  return context;
}

void close_side(Side* side) {
  if (side->pair != nullptr) ibv_destroy_qp(side->pair);
  if (side->completions != nullptr) ibv_destroy_cq(side->completions);
  if (side->memory != nullptr) ibv_dereg_mr(side->memory);
  if (side->domain != nullptr) ibv_dealloc_pd(side->domain);
  if (side->context != nullptr) ibv_close_device(side->context);
  delete side;
}

const char* create_pair(Side* side) {
  side->completions = ibv_create_cq(side->context, kDepth, nullptr, nullptr, 0);
  if (side->completions == nullptr) return failure("ibv_create_cq", errno);
  ibv_qp_init_attr wanted = {};
  wanted.send_cq = wanted.recv_cq = side->completions;
  wanted.qp_type = IBV_QPT_RC;
  wanted.cap.max_send_wr = kDepth;
  wanted.cap.max_recv_wr = wanted.cap.max_send_sge = wanted.cap.max_recv_sge = 1;
  side->pair = ibv_create_qp(side->domain, &wanted);
  return side->pair == nullptr ? failure("ibv_create_qp", errno) : nullptr;
}

const char* create(Side* side, const char* device, void* memory, size_t size) {
  side->context = opened(device);
  if (side->context == nullptr) return failure("ibv_open_device", errno);
  if (const int error =
          ibv_query_port(side->context, static_cast<std::uint8_t>(side->port), &side->attributes))
    return failure("ibv_query_port", error);
  side->domain = ibv_alloc_pd(side->context);
  if (side->domain == nullptr) return failure("ibv_alloc_pd", errno);
  side->memory = ibv_reg_mr(side->domain, memory, size, kAccess);
  if (side->memory == nullptr) return failure("ibv_reg_mr", errno);
  return create_pair(side);
}

const char* open_side(const char* device, int port, void* memory, size_t size, Side** opened) {
  auto* side = new Side;
  side->port = port;
  if (const char* why = create(side, device, memory, size)) {
    close_side(side);
    return why;
  }
  *opened = side;
  return nullptr;
}

int type_number(std::uint32_t type) {
  if (type == IBV_GID_TYPE_ROCE_V2) return 2;
  return type == IBV_GID_TYPE_ROCE_V1 ? 1 : 0;
}

const char* port_of(Side* side, comm_probe_verbs_port* port) {
  port->is_active = side->attributes.state == IBV_PORT_ACTIVE ? 1 : 0;
  port->is_ethernet = side->attributes.link_layer == IBV_LINK_LAYER_ETHERNET ? 1 : 0;
  port->mtu = 128 << side->attributes.active_mtu;
  port->gids = 0;
  for (int i = 0; i < side->attributes.gid_tbl_len && port->gids < COMM_PROBE_VERBS_MOST_GIDS;
       ++i) {
    ibv_gid_entry entry = {};
    if (ibv_query_gid_ex(side->context, static_cast<std::uint32_t>(side->port),
                         static_cast<std::uint32_t>(i), &entry, 0) != 0)
      continue;
    comm_probe_verbs_gid& gid = port->gid[port->gids++];
    std::memcpy(gid.raw, entry.gid.raw, sizeof gid.raw);
    gid.index = i;
    gid.type = type_number(entry.gid_type);
  }
  return nullptr;
}

const char* prepare(Side* side, int gid_index, comm_probe_verbs_end* mine) {
  ibv_qp_attr init = {};
  init.qp_state = IBV_QPS_INIT;
  init.port_num = static_cast<std::uint8_t>(side->port);
  init.qp_access_flags = kAccess;
  if (const int error = ibv_modify_qp(
          side->pair, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
    return failure("ibv_modify_qp to INIT", error);
  ibv_gid gid = {};
  if (gid_index >= 0 &&
      ibv_query_gid(side->context, static_cast<std::uint8_t>(side->port), gid_index, &gid) != 0)
    return failure("ibv_query_gid", errno);
  *mine = {side->pair->qp_num,
           kFirstPacket,
           side->memory->rkey,
           side->attributes.lid,
           reinterpret_cast<std::uint64_t>(side->memory->addr),
           {}};
  std::memcpy(mine->gid, gid.raw, sizeof mine->gid);
  return nullptr;
}

ibv_qp_attr ready_to_receive(const Side& side, int gid_index) {
  ibv_qp_attr ready = {};
  ready.qp_state = IBV_QPS_RTR;
  ready.path_mtu = side.attributes.active_mtu;
  ready.dest_qp_num = side.other.queue_pair;
  ready.rq_psn = side.other.packet;
  ready.max_dest_rd_atomic = 16;
  ready.min_rnr_timer = 12;
  ready.ah_attr.dlid = static_cast<std::uint16_t>(side.other.lid);
  ready.ah_attr.port_num = static_cast<std::uint8_t>(side.port);
  if (gid_index < 0) return ready;
  ready.ah_attr.is_global = 1;
  ready.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(gid_index);
  ready.ah_attr.grh.hop_limit = 64;
  std::memcpy(ready.ah_attr.grh.dgid.raw, side.other.gid, sizeof side.other.gid);
  return ready;
}

const char* connect(Side* side, int gid_index, const comm_probe_verbs_end* theirs) {
  side->other = *theirs;
  ibv_qp_attr receive = ready_to_receive(*side, gid_index);
  if (const int error =
          ibv_modify_qp(side->pair, &receive,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
    return failure("ibv_modify_qp to RTR", error);
  ibv_qp_attr send = {};
  send.qp_state = IBV_QPS_RTS;
  send.timeout = kTimeout;
  send.retry_cnt = send.rnr_retry = kRetries;
  send.sq_psn = kFirstPacket;
  send.max_rd_atomic = 16;
  if (const int error =
          ibv_modify_qp(side->pair, &send,
                        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                            IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
    return failure("ibv_modify_qp to RTS", error);
  return nullptr;
}

int post(Side* side, bool is_read, size_t size) {
  ibv_sge piece = {reinterpret_cast<std::uint64_t>(side->memory->addr),
                   static_cast<std::uint32_t>(size), side->memory->lkey};
  ibv_send_wr request = {};
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = is_read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = side->other.address;
  request.wr.rdma.rkey = side->other.key;
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(side->pair, &request, &bad);
}

const char* transfer(Side* side, int is_read, size_t size, int count, int window) {
  const int most = std::min(window, kDepth);
  int posted = 0, done = 0;
  while (done < count) {
    while (posted < count && posted - done < most) {
      if (const int error = post(side, is_read != 0, size)) return failure("ibv_post_send", error);
      ++posted;
    }
    ibv_wc finished[16];
    const int found = ibv_poll_cq(side->completions, 16, finished);
    if (found < 0) return failure("ibv_poll_cq", errno);
    for (int i = 0; i < found; ++i)
      if (finished[i].status != IBV_WC_SUCCESS) {
        static std::string text;
        text = std::string(is_read != 0 ? "RDMA read" : "RDMA write") + " ended with status " +
               std::to_string(finished[i].status) + " (" + ibv_wc_status_str(finished[i].status) +
               ")";
        return text.c_str();
      }
    done += found;
  }
  return nullptr;
}

const char* registration(Side* side, size_t size, double* in, double* out) {
  const double start = seconds_now();
  ibv_mr* memory = ibv_reg_mr(side->domain, side->memory->addr, size, kAccess);
  if (memory == nullptr) return failure("ibv_reg_mr", errno);
  const double registered = seconds_now();
  ibv_dereg_mr(memory);
  *in = registered - start;
  *out = seconds_now() - registered;
  return nullptr;
}

constexpr comm_probe_verbs kFunctions = {COMM_PROBE_VERBS_VERSION,
                                         devices,
                                         open_side,
                                         close_side,
                                         port_of,
                                         prepare,
                                         connect,
                                         transfer,
                                         registration};

}  // namespace

extern "C" const comm_probe_verbs* comm_probe_verbs_functions() { return &kFunctions; }
