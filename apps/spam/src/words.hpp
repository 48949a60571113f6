// The words by which input files, the command line and run.json name choices.
#pragma once

#include <array>
#include <cstddef>

#include "settings.hpp"

namespace spam {

/// In the order of the enumerators.
template <class Choice>
struct Words;
template <>
struct Words<Boundary> {
  static constexpr std::array<const char*, 3> kAll = {"open", "mirror", "periodic"};
};
template <>
struct Words<Engine> {
  static constexpr std::array<const char*, 2> kAll = {"blocked", "list"};
};
template <>
struct Words<Schedule> {
  static constexpr std::array<const char*, 3> kAll = {"static", "cyclic", "dynamic"};
};
template <>
struct Words<Update> {
  static constexpr std::array<const char*, 3> kAll = {"critical", "reduction", "none"};
};
template <>
struct Words<Sorting> {
  static constexpr std::array<const char*, 2> kAll = {"serial", "threaded"};
};
template <>
struct Words<HaloKind> {
  static constexpr std::array<const char*, 2> kAll = {"messages", "shared"};
};

template <class Choice>
const char* word_of(Choice choice) {
  return Words<Choice>::kAll[static_cast<std::size_t>(choice)];
}

}  // namespace spam
