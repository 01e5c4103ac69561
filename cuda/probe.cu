// Kernels that measure links and launches (src/measure/link/gpu_*.cc). No library is used but what nvcc brings.

// Does nothing: what a launch costs.
extern "C" __global__ void empty() {}
