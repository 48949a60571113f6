// Values as launchers take them: all that a rank puts before a fence is one text, of characters that every
// wire carries, cut into pieces that are no longer than the wire allows. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tasuki::wire {

using Values = std::map<std::string, std::string, std::less<>>;

/// "key:value,key:value,", in which a byte other than a letter, a digit or one of "+-./_" is "%XX".
std::string text_of(const Values& values);
/// Adds them to `values`. Returns false for what text_of() never made.
bool values_of(std::string_view text, Values* values);

/// The first begins with the number of pieces and a '+'. REQUIRES: piece_bytes_max >= 16.
std::vector<std::string> pieces_of(const std::string& text, std::size_t piece_bytes_max);
/// How many pieces the first one announces, and takes the announcement away. 0: it announces none.
std::size_t take_piece_count(std::string* first_piece);

}  // namespace tasuki::wire
