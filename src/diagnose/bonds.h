// Which of a number of things belong together, when pairs of them do? Processes by communicators,
// hosts by communicators and tables: what is bound to one and the same thing has one root.
//
//   Bonds bonds(4); bonds.bind(0, 1); bonds.bind(2, 1): 0, 1 and 2 have one root, 3 another
#pragma once

#include <numeric>
#include <vector>

namespace comm_probe::diagnose {

class Bonds {
 public:
  Bonds() = default;
  explicit Bonds(std::size_t things) : above_(things) {
    std::iota(above_.begin(), above_.end(), 0);
  }
  // One more, bound to none.
  void add() { above_.push_back(static_cast<int>(above_.size())); }
  int root(int thing) {
    while (above_[at(thing)] != thing) thing = above_[at(thing)] = above_[at(above_[at(thing)])];
    return thing;
  }
  void bind(int a, int b) { above_[at(root(a))] = root(b); }

 private:
  static std::size_t at(int thing) { return static_cast<std::size_t>(thing); }
  std::vector<int> above_ = {};
};

}  // namespace comm_probe::diagnose
