// Answers like libibverbs with one RoCE device, "fake_0": a queue pair is numbered by its process,
// and a write or read goes there through process_vm_writev and process_vm_readv. For tests of what
// `link --only net` does with a device where there is none. FAKE_VERBS_GIDS=none: a port without
// GID.
#include <infiniband/verbs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#undef ibv_reg_mr
#undef ibv_query_port

namespace {

ibv_device g_device = {};
int g_completed = 0;
int g_other = 0;

int post_send(ibv_qp*, ibv_send_wr* request, ibv_send_wr**) {
  iovec here = {reinterpret_cast<void*>(request->sg_list->addr), request->sg_list->length};
  iovec there = {reinterpret_cast<void*>(request->wr.rdma.remote_addr), request->sg_list->length};
  const bool is_read = request->opcode == IBV_WR_RDMA_READ;
  const ssize_t moved = is_read ? process_vm_readv(g_other, &here, 1, &there, 1, 0)
                                : process_vm_writev(g_other, &here, 1, &there, 1, 0);
  if (moved < 0) return errno;
  ++g_completed;
  return 0;
}

int poll_cq(ibv_cq*, int most, ibv_wc* finished) {
  const int count = g_completed < most ? g_completed : most;
  for (int i = 0; i < count; ++i) finished[i].status = IBV_WC_SUCCESS;
  g_completed -= count;
  return count;
}

}  // namespace

extern "C" {

ibv_device** ibv_get_device_list(int* count) {
  static ibv_device* list[] = {&g_device, nullptr};
  std::strcpy(g_device.name, "fake_0");
  *count = 1;
  return list;
}
void ibv_free_device_list(ibv_device**) {}
const char* ibv_get_device_name(ibv_device* device) { return device->name; }
ibv_context* ibv_open_device(ibv_device* device) {
  static ibv_context context = {};
  context.device = device;
  context.ops.post_send = post_send;
  context.ops.poll_cq = poll_cq;
  return &context;
}
int ibv_close_device(ibv_context*) { return 0; }
int ibv_query_port(ibv_context*, uint8_t, _compat_ibv_port_attr* compat) {
  auto* port = reinterpret_cast<ibv_port_attr*>(compat);
  port->state = IBV_PORT_ACTIVE;
  port->active_mtu = IBV_MTU_4096;
  port->gid_tbl_len = std::getenv("FAKE_VERBS_GIDS") == nullptr ? 3 : 0;
  port->link_layer = IBV_LINK_LAYER_ETHERNET;
  return 0;
}
// fe80::1 as v2, 10.1.2.3 as v1 and as v2
int _ibv_query_gid_ex(ibv_context*, uint32_t, uint32_t index, ibv_gid_entry* entry, uint32_t,
                      size_t) {
  const uint8_t local[16] = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  const uint8_t address[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3};
  std::memcpy(entry->gid.raw, index == 0 ? local : address, 16);
  entry->gid_type = index == 1 ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
  return 0;
}
int ibv_query_gid(ibv_context* context, uint8_t port, int index, ibv_gid* gid) {
  ibv_gid_entry entry = {};
  _ibv_query_gid_ex(context, port, static_cast<uint32_t>(index), &entry, 0, sizeof entry);
  *gid = entry.gid;
  return 0;
}
ibv_pd* ibv_alloc_pd(ibv_context* context) {
  static ibv_pd domain = {};
  domain.context = context;
  return &domain;
}
int ibv_dealloc_pd(ibv_pd*) { return 0; }
ibv_mr* ibv_reg_mr(ibv_pd* domain, void* at, size_t size, int) {
  auto* memory = new ibv_mr{};
  memory->pd = domain;
  memory->addr = at;
  memory->length = size;
  return memory;
}
ibv_mr* ibv_reg_mr_iova2(ibv_pd* domain, void* at, size_t size, uint64_t, unsigned) {
  return ibv_reg_mr(domain, at, size, 0);
}
int ibv_dereg_mr(ibv_mr* memory) {
  delete memory;
  return 0;
}
ibv_cq* ibv_create_cq(ibv_context* context, int, void*, ibv_comp_channel*, int) {
  static ibv_cq completions = {};
  completions.context = context;
  return &completions;
}
int ibv_destroy_cq(ibv_cq*) { return 0; }
ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr*) {
  static ibv_qp pair = {};
  pair.context = domain->context;
  pair.qp_num = static_cast<uint32_t>(getpid());
  return &pair;
}
int ibv_destroy_qp(ibv_qp*) { return 0; }
int ibv_modify_qp(ibv_qp*, ibv_qp_attr* attributes, int) {
  if (attributes->qp_state == IBV_QPS_RTR) g_other = static_cast<int>(attributes->dest_qp_num);
  return 0;
}
const char* ibv_wc_status_str(ibv_wc_status) { return "success"; }

}  // extern "C"
