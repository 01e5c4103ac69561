// Open MPI's all_reduce of floats, and which single-copy mechanism its shared-memory transport
// uses.
//   mpirun -n 2 peer_mpi LARGEST_BYTES BLOCKS
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdlib>

#include "peer_timing.h"

namespace {

// The value of the variable after start-up: "cma" only where the kernel allows it.
void print_single_copy() {
  int provided = 0, index = 0, count = 0, value = 0, length = 64;
  MPI_T_cvar_handle handle;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  if (MPI_T_cvar_get_index("btl_vader_single_copy_mechanism", &index) != MPI_SUCCESS ||
      MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS)
    return;
  MPI_T_cvar_read(handle, &value);
  char name[64] = "", text[64] = "";
  int name_length = 64, verbosity = 0, binding = 0, scope = 0;
  MPI_Datatype type;
  MPI_T_enum values = MPI_T_ENUM_NULL;
  MPI_T_cvar_get_info(index, name, &name_length, &verbosity, &type, &values, nullptr, nullptr,
                      &binding, &scope);
  int items = 0;
  char enum_name[64];
  int enum_length = 64;
  if (values != MPI_T_ENUM_NULL) MPI_T_enum_get_info(values, &items, enum_name, &enum_length);
  for (int item = 0; item < items; ++item) {
    int number = 0;
    length = 64;
    MPI_T_enum_get_item(values, item, &number, text, &length);
    if (number == value) std::printf("single-copy %s\n", text);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) print_single_copy();
  peer::Peer mpi;
  mpi.is_first = rank == 0;
  mpi.all_reduce = [](const float* send, float* recv, std::size_t count) {
    MPI_Allreduce(send, recv, static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  };
  mpi.barrier = [] { MPI_Barrier(MPI_COMM_WORLD); };
  mpi.from_first = [](int value) {
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return value;
  };
  peer::measure(mpi, argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1 << 20,
                argc > 2 ? std::atoi(argv[2]) : 3);
  MPI_Finalize();
  return 0;
}
