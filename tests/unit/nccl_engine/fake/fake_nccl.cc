// NCCL of any version from 2.17 on (FAKE_NCCL_VERSION, as ncclGetVersion counts) with the symbols
// that this version has, which really moves data: between processes and threads, through a file in
// memory that the unique id names. It writes the log lines of its choices where NCCL would.
//
//   FAKE_NCCL_FAULT=hang:1:3   rank 1 never comes back from its fourth call
//                   die:1:3    ... is killed in it;  wrong:1:3  ... gets one wrong element
//                   refuse:0:0 ncclCommInitRank of rank 0 fails
//   FAKE_NCCL_TOPO=FILE        what is left as NCCL_TOPO_DUMP_FILE
//   FAKE_NCCL_CALL_MS=0.4      an all_reduce keeps its stream busy for so long
//                              (unit/cuda/fake_cuda with FAKE_CUDA_TIMED)
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "measure/known_data.h"

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {

using comm_probe::measure::Element;

constexpr std::size_t kSlot = std::size_t{16} << 20;
constexpr int kMostRanks = 64;

struct Header {
  std::atomic<int> arrived;
  std::atomic<int> round;
};

struct Id {
  char bytes[128];
};

struct Comm {
  int rank = 0, ranks = 1, calls = 0;
  char* memory = nullptr;
  Header& header() const { return *reinterpret_cast<Header*>(memory); }
  char* slot(int of) const { return memory + 4096 + static_cast<std::size_t>(of) * kSlot; }
};

enum class Kind { kAllReduce, kBroadcast, kReduce, kAllGather, kReduceScatter, kAllToAll, kP2p };
struct Message {
  bool is_send;
  int peer;
  char* at;
  std::size_t bytes;
};
struct Op {
  Kind kind;
  Comm* comm;
  const char* send = nullptr;
  char* recv = nullptr;
  std::size_t count = 0;
  Element element = Element::kF32;
  int reduction = 0, root = 0;
  std::vector<Message> messages = {};
};

thread_local int depth = 0;
thread_local std::vector<Op> queue;

Element element_of(int type) {
  switch (type) {
    case 1:
      return Element::kU8;
    case 2:
      return Element::kI32;
    case 6:
      return Element::kF16;
    case 8:
      return Element::kF64;
    case 9:
      return Element::kBf16;
    default:
      return Element::kF32;
  }
}

bool is_fault(const char* what, int rank, int call) {
  const char* fault = std::getenv("FAKE_NCCL_FAULT");
  return fault != nullptr &&
         fault == std::string(what) + ":" + std::to_string(rank) + ":" + std::to_string(call);
}

void log(const Comm& comm, const std::string& line) {
  const char* level = std::getenv("NCCL_DEBUG");
  const char* file = std::getenv("NCCL_DEBUG_FILE");
  if (level == nullptr || std::strcmp(level, "INFO") != 0 || file == nullptr) return;
  std::ofstream(file, std::ios::app) << "fake:" << ::getpid() << ":" << ::getpid() << " ["
                                     << comm.rank << "] NCCL INFO " << line << "\n";
}

std::size_t size_of(const Op& op) { return comm_probe::measure::element_bytes(op.element); }

std::size_t sent_bytes(const Op& op) {
  const bool many = op.kind == Kind::kReduceScatter || op.kind == Kind::kAllToAll;
  return op.count * size_of(op) * (many ? static_cast<std::size_t>(op.comm->ranks) : 1);
}

void deposit(Op& op) {
  char* slot = op.comm->slot(op.comm->rank);
  if (op.kind != Kind::kP2p) {
    std::memcpy(slot, op.send, sent_bytes(op));
    return;
  }
  for (const Message& message : op.messages) {
    if (!message.is_send) continue;
    const std::size_t head[2] = {static_cast<std::size_t>(message.peer) + 1, message.bytes};
    std::memcpy(slot, head, sizeof head);
    std::memcpy(slot + sizeof head, message.at, message.bytes);
    slot += sizeof head + message.bytes;
  }
  std::memset(slot, 0, sizeof(std::size_t) * 2);
}

double combine(int reduction, double a, double b) {
  if (reduction == 1) return a * b;
  if (reduction == 2) return a > b ? a : b;
  if (reduction == 3) return a < b ? a : b;
  return a + b;
}

void reduce_into(const Op& op, std::size_t first) {
  const bool whole = op.element == Element::kI32 || op.element == Element::kU8;
  for (std::size_t i = 0; i < op.count; ++i) {
    const auto value = [&](int rank) {
      return comm_probe::measure::load_element(
          op.element,
          reinterpret_cast<std::byte*>(op.comm->slot(rank)) + (first + i) * size_of(op));
    };
    double sum = value(0);
    for (int rank = 1; rank < op.comm->ranks; ++rank) sum = combine(op.reduction, sum, value(rank));
    if (op.reduction == 4)
      sum = whole ? static_cast<long>(sum / op.comm->ranks) : sum / op.comm->ranks;
    comm_probe::measure::store_element(
        op.element, reinterpret_cast<std::byte*>(op.recv) + i * size_of(op), sum);
  }
}

void receive(const Op& op, const Message& message, std::vector<int>& taken) {
  const char* slot = op.comm->slot(message.peer);
  int number = 0;
  while (true) {
    std::size_t head[2];
    std::memcpy(head, slot, sizeof head);
    if (head[0] == 0) std::raise(SIGABRT);  // nobody sent it
    const bool mine = head[0] == static_cast<std::size_t>(op.comm->rank) + 1;
    if (mine && number++ == taken[static_cast<std::size_t>(message.peer)]) {
      std::memcpy(message.at, slot + sizeof head, message.bytes);
      ++taken[static_cast<std::size_t>(message.peer)];
      return;
    }
    slot += sizeof head + head[1];
  }
}

void collect(Op& op) {
  const Comm& comm = *op.comm;
  const std::size_t part = op.count * size_of(op);
  const auto rank = static_cast<std::size_t>(comm.rank);
  switch (op.kind) {
    case Kind::kAllReduce:
      return reduce_into(op, 0);
    case Kind::kReduce:
      return comm.rank == op.root ? reduce_into(op, 0) : void();
    case Kind::kReduceScatter:
      return reduce_into(op, rank * op.count);
    case Kind::kBroadcast:
      std::memcpy(op.recv, comm.slot(op.root), part);
      return;
    case Kind::kAllGather:
    case Kind::kAllToAll:
      for (int from = 0; from < comm.ranks; ++from)
        std::memcpy(op.recv + static_cast<std::size_t>(from) * part,
                    comm.slot(from) + (op.kind == Kind::kAllToAll ? rank * part : 0), part);
      return;
    case Kind::kP2p: {
      std::vector<int> taken(kMostRanks, 0);
      for (const Message& message : op.messages)
        if (!message.is_send) receive(op, message, taken);
      return;
    }
  }
}

int arrive(Comm& comm) {
  const int round = comm.header().round.load();
  if (comm.header().arrived.fetch_add(1) + 1 == comm.ranks) {
    comm.header().arrived.store(0);
    comm.header().round.fetch_add(1);
  }
  return round;
}
void meet(std::vector<Op>& ops) {
  std::vector<int> rounds;
  for (Op& op : ops) rounds.push_back(arrive(*op.comm));
  for (std::size_t i = 0; i < ops.size(); ++i)
    while (ops[i].comm->header().round.load() == rounds[i]) ::usleep(20);
}

int run(std::vector<Op> ops) {
  for (Op& op : ops) {
    const int call = op.comm->calls++;
    while (is_fault("hang", op.comm->rank, call)) ::pause();
    if (is_fault("die", op.comm->rank, call)) std::raise(SIGKILL);
    deposit(op);
  }
  meet(ops);
  for (Op& op : ops) collect(op);
  for (Op& op : ops)
    if (is_fault("wrong", op.comm->rank, op.comm->calls - 1) && op.recv != nullptr) op.recv[0] ^= 1;
  meet(ops);
  return 0;
}

int add(Op op) {
  if (depth == 0) return run({op});
  if (op.kind == Kind::kP2p)
    for (Op& known : queue)
      if (known.comm == op.comm && known.kind == Kind::kP2p) {
        known.messages.push_back(op.messages.front());
        return 0;
      }
  queue.push_back(op);
  return 0;
}

const char* kNames[] = {"AllReduce", "Broadcast", "Reduce", "AllGather", "ReduceScatter"};

int collective(Op op) {
  const std::size_t bytes = op.count * size_of(op);  // of one rank, whatever the operation
  if (op.comm->rank == 0 && op.comm->ranks > 1 && op.kind < Kind::kAllToAll)
    log(*op.comm, std::string(kNames[static_cast<int>(op.kind)]) + ": " + std::to_string(bytes) +
                      " Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}");
  return add(std::move(op));
}

void keep_busy(void* stream) {
  const char* ms = std::getenv("FAKE_NCCL_CALL_MS");
  void* cuda = ms == nullptr ? nullptr : ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (cuda == nullptr) return;
  const auto busy = reinterpret_cast<void (*)(void*, double)>(::dlsym(cuda, "fake_cuda_busy"));
  if (busy != nullptr) busy(stream, std::atof(ms));
}

char* at(const void* address) { return static_cast<char*>(const_cast<void*>(address)); }

}  // namespace

FAKE int ncclGetVersion(int* version) { return *version = FAKE_NCCL_VERSION, 0; }
FAKE int ncclGetUniqueId(Id* id) {
  std::snprintf(id->bytes, sizeof id->bytes, "/comm-probe-fake-%d", ::getpid());
  const int file = ::shm_open(id->bytes, O_RDWR | O_CREAT | O_TRUNC, 0600);
  const int cut = ::ftruncate(file, static_cast<off_t>(4096 + kSlot * kMostRanks));
  ::close(file);
  return cut;
}
FAKE int ncclCommInitRank(void** out, int ranks, Id id, int rank) {
  if (is_fault("refuse", rank, 0)) return 5;
  auto* comm = new Comm{.rank = rank, .ranks = ranks};
  const int file = ::shm_open(id.bytes, O_RDWR, 0600);
  comm->memory =
      static_cast<char*>(::mmap(nullptr, 4096 + kSlot * kMostRanks, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_NORESERVE, file, 0));
  ::close(file);
  *out = comm;
  log(*comm, "NCCL version 2.28.9+cuda13.0");
  log(*comm, "ncclCommInitRank comm 0x1 rank " + std::to_string(rank) + " nranks " +
                 std::to_string(ranks) +
                 " cudaDev 0 nvmlDev 0 busId 60 commId 0xa5953a44ddecf0df - Init START");
  log(*comm, "comm 0x1 rank " + std::to_string(rank) + " nRanks " + std::to_string(ranks) +
                 " nNodes " + (std::getenv("NCCL_HOSTID") ? std::to_string(ranks) : "1") +
                 " localRanks 1 localRank 0 MNNVL 0");
  const char* topo = std::getenv("FAKE_NCCL_TOPO");
  const char* dump = std::getenv("NCCL_TOPO_DUMP_FILE");
  if (rank == 0 && topo != nullptr && dump != nullptr)
    std::ofstream(dump) << std::ifstream(topo).rdbuf();
  return 0;
}
FAKE int ncclCommDestroy(void* it) {
  auto* comm = static_cast<Comm*>(it);
  if (comm->rank == 0) ::shm_unlink(("/comm-probe-fake-" + std::to_string(::getpid())).c_str());
  return 0;
}
FAKE int ncclCommAbort(void*) { return 0; }
FAKE const char* ncclGetErrorString(int code) { return code == 5 ? "invalid usage" : "no error"; }
FAKE const char* ncclGetLastError(void*) { return "Duplicate GPU detected : rank 0 and rank 1\n"; }
FAKE int ncclCommGetAsyncError(void*, int* code) { return *code = 0, 0; }
FAKE int ncclGroupStart() { return ++depth, 0; }
FAKE int ncclGroupEnd() {
  if (--depth > 0) return 0;
  std::vector<Op> ops;
  ops.swap(queue);
  return ops.empty() ? 0 : run(std::move(ops));
}

FAKE int ncclAllReduce(const void* send, void* recv, std::size_t n, int type, int op, void* comm,
                       void* stream) {
  keep_busy(stream);
  return collective(
      {Kind::kAllReduce, static_cast<Comm*>(comm), at(send), at(recv), n, element_of(type), op});
}
FAKE int ncclBroadcast(const void* send, void* recv, std::size_t n, int type, int root, void* comm,
                       void*) {
  return collective({Kind::kBroadcast, static_cast<Comm*>(comm), at(send), at(recv), n,
                     element_of(type), 0, root});
}
FAKE int ncclReduce(const void* send, void* recv, std::size_t n, int type, int op, int root,
                    void* comm, void*) {
  return collective(
      {Kind::kReduce, static_cast<Comm*>(comm), at(send), at(recv), n, element_of(type), op, root});
}
FAKE int ncclAllGather(const void* send, void* recv, std::size_t n, int type, void* comm, void*) {
  return collective(
      {Kind::kAllGather, static_cast<Comm*>(comm), at(send), at(recv), n, element_of(type)});
}
FAKE int ncclReduceScatter(const void* send, void* recv, std::size_t n, int type, int op,
                           void* comm, void*) {
  return collective({Kind::kReduceScatter, static_cast<Comm*>(comm), at(send), at(recv), n,
                     element_of(type), op});
}
FAKE int ncclSend(const void* send, std::size_t n, int type, int peer, void* comm, void*) {
  Op op{Kind::kP2p, static_cast<Comm*>(comm)};
  op.element = element_of(type);
  op.messages.push_back({true, peer, at(send), n * size_of(op)});
  return add(op);
}
FAKE int ncclRecv(void* recv, std::size_t n, int type, int peer, void* comm, void*) {
  Op op{Kind::kP2p, static_cast<Comm*>(comm)};
  op.element = element_of(type);
  op.messages.push_back({false, peer, at(recv), n * size_of(op)});
  return add(op);
}
FAKE int ncclCommSplit(void*, int, int, void**, void*) { return 3; }

#if FAKE_NCCL_VERSION >= 21900
FAKE int ncclMemAlloc(void** at, std::size_t size) { return *at = std::malloc(size), 0; }
FAKE int ncclMemFree(void* at) { return std::free(at), 0; }
FAKE int ncclCommRegister(void*, void* at, std::size_t, void** handle) { return *handle = at, 0; }
FAKE int ncclCommDeregister(void*, void*) { return 0; }
#endif
#if FAKE_NCCL_VERSION >= 22304
FAKE int ncclCommInitRankScalable(void**, int, int, int, Id*, void*) { return 3; }
#endif
#if FAKE_NCCL_VERSION >= 22403
FAKE void ncclResetDebugInit() {}
#endif
#if FAKE_NCCL_VERSION >= 22703
FAKE int ncclCommWindowRegister(void*, void* at, std::size_t, void** window, int flags) {
  return *window = at, flags == 1 ? 0 : 4;
}
FAKE int ncclCommWindowDeregister(void*, void*) { return 0; }
FAKE int ncclCommShrink(void*, int*, int, void**, void*, int) { return 3; }
#endif
#if FAKE_NCCL_VERSION >= 22803
FAKE int ncclAlltoAll(const void* send, void* recv, std::size_t n, int type, void* comm, void*) {
  return collective(
      {Kind::kAllToAll, static_cast<Comm*>(comm), at(send), at(recv), n, element_of(type)});
}
FAKE int ncclGather(const void*, void*, std::size_t, int, int, void*, void*) { return 3; }
FAKE int ncclScatter(const void*, void*, std::size_t, int, int, void*, void*) { return 3; }
#endif
