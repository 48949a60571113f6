// Errors name the file and the system's reason.
#include "text_file.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "error.hpp"

namespace spam {

std::string read_text(const std::string& file) {
  std::string text;
  std::FILE* in = std::fopen(file.c_str(), "rb");
  std::array<char, 4096> piece;
  std::size_t bytes = 1;
  while (in != nullptr && bytes > 0) {
    bytes = std::fread(piece.data(), 1, piece.size(), in);
    text.append(piece.data(), bytes);
  }
  const bool failed = in == nullptr || std::ferror(in) != 0;
  const std::string why = std::strerror(errno);
  if (in != nullptr) std::fclose(in);
  if (failed) throw Error(fmt::format("{}: cannot be read: {}", file, why));
  return text;
}

std::string write_text(const std::string& file, const std::string& text) {
  const std::string partial = file + ".part";
  std::FILE* out = std::fopen(partial.c_str(), "wb");
  bool good = out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size();
  int error = errno;
  if (out != nullptr && std::fclose(out) != 0) {
    error = good ? errno : error;
    good = false;
  }
  if (good && std::rename(partial.c_str(), file.c_str()) == 0) return "";
  if (good) error = errno;
  if (out != nullptr) std::remove(partial.c_str());  // else the name may be a directory's
  return fmt::format("{}: cannot be written: {}", file, std::strerror(error));
}

}  // namespace spam
