// The only symbol of glibc 2.36 in a portable build: libstdc++ asks arc4random for std::random_device
// where it was there when libstdc++ was built. Ours asks the kernel, as that one does.
#include <sys/random.h>

#include <cstdlib>

// What is hidden here would not be seen by libstdc++, which is linked in behind it.
extern "C" unsigned int arc4random() noexcept {
  unsigned int value = 0;
  if (getrandom(&value, sizeof value, 0) != sizeof value) std::abort();
  return value;
}
