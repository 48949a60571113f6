// Datatypes as words: size, extent, true bounds, then the layout's nodes from the root on, each with its
// shape.
#include "datatype/wire_type.hpp"

#include <algorithm>
#include <utility>

#include "base/user_memory.hpp"
#include "datatype/layout.hpp"

namespace tasuki {
namespace {

using Words = std::vector<std::int64_t>;
constexpr int kDepthMax = 200;

/// Room for so many words more, and then for as many again. False: there is no memory for them.
bool make_room(std::size_t more, Words* words) {
  const std::size_t wanted = words->size() + more;
  return wanted <= words->capacity() || try_reserve(words, 2 * wanted);
}

/// Appends a node and what is below it. False: that would be more than `words_max` words in all, or than
/// there is memory for.
bool encode(const Layout& node, std::size_t words_max, Words* words) {
  if (!make_room(9 + 2 * node.blocks.size() + 5 * node.pieces.size(), words)) return false;
  words->insert(words->end(), {static_cast<std::int64_t>(node.shape), node.size, node.runs, node.offset,
                               node.count, node.stride, node.block_bytes, node.child ? 1 : 0});
  if (node.child && !encode(*node.child, words_max, words)) return false;
  if (words->size() + 2 * node.blocks.size() + 5 * node.pieces.size() > words_max) return false;
  if (node.shape == Layout::Shape::kBlocks) {
    words->push_back(static_cast<std::int64_t>(node.blocks.size()));
    for (const Layout::Block& block : node.blocks)
      words->insert(words->end(), {block.displacement, block.packed_begin});
  }
  if (node.shape == Layout::Shape::kList) {
    words->push_back(static_cast<std::int64_t>(node.pieces.size()));
    for (const Layout::Piece& piece : node.pieces) {
      words->insert(words->end(), {piece.displacement, piece.packed_begin, piece.count, piece.stride});
      if (!encode(*piece.child, words_max, words)) return false;
    }
  }
  return words->size() <= words_max;
}

/// Reads words one by one; past the end it gives zeros and remembers.
class Reader {
 public:
  Reader(const std::int64_t* words, std::size_t count) : words_(words), left_(count) {}
  std::int64_t next() {
    if (left_ == 0) {
      failed_ = true;
      return 0;
    }
    --left_;
    return *words_++;
  }
  /// A number of things of `words_each` words that are to follow.
  std::size_t number(std::size_t words_each) {
    const auto wanted = static_cast<std::uint64_t>(next());
    if (wanted <= left_ / words_each) return static_cast<std::size_t>(wanted);
    failed_ = true;
    return 0;
  }
  bool failed() const { return failed_; }
  bool at_end() const { return left_ == 0; }

 private:
  const std::int64_t* words_;
  std::size_t left_;
  bool failed_ = false;
};

// ----- what came may be anything
// ----------------------------------------------------------------------------

__extension__ typedef __int128 Wide;
constexpr Count kFarthest = Count{1} << 61;  // sums of a few such numbers do not overflow

/// The bytes [low, high) that a layout touches, relative to its element.
struct Reach {
  Wide low = 0;
  Wide high = 0;
};

/// `count` copies of `one` at `offset` and then `stride` apart. False: farther than any memory goes.
bool repeat(const Reach& one, Count offset, Count count, Count stride, Reach* all) {
  const Wide last = Wide{offset} + Wide{count - 1} * stride;
  *all = {std::min<Wide>(offset, last) + one.low, std::max<Wide>(offset, last) + one.high};
  return all->low >= -kFarthest && all->high <= kFarthest;
}

void include(const Reach& one, bool is_first, Reach* all) {
  if (is_first) *all = one;
  all->low = std::min(all->low, one.low);
  all->high = std::max(all->high, one.high);
}

bool is_size(Count bytes) {
  return bytes > 0 && bytes <= kFarthest;
}

bool find_reach(const Layout& node, Reach* reach);

bool find_reach_of_blocks(const Layout& node, Reach* reach) {
  const std::size_t count = node.blocks.size() - 1;
  if (node.blocks.front().packed_begin != 0 || node.runs != static_cast<Count>(count)) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const Count begin = node.blocks[i].packed_begin;
    const Count end = node.blocks[i + 1].packed_begin;
    if (begin < 0 || end <= begin || (node.block_bytes != 0 && end - begin != node.block_bytes)) return false;
    Reach one;
    if (!repeat({0, end - begin}, node.blocks[i].displacement, 1, 0, &one)) return false;
    include(one, i == 0, reach);
  }
  return true;
}

bool find_reach_of_list(const Layout& node, Reach* reach) {
  Wide packed = 0;
  for (std::size_t i = 0; i < node.pieces.size(); ++i) {
    const Layout::Piece& piece = node.pieces[i];
    Reach child;
    Reach one;
    if (piece.packed_begin != packed || !is_size(piece.count) || piece.child->size == 0 ||
        !find_reach(*piece.child, &child) ||
        !repeat(child, piece.displacement, piece.count, piece.stride, &one)) {
      return false;
    }
    include(one, i == 0, reach);
    packed += Wide{piece.count} * piece.child->size;
    if (packed > node.size) return false;
  }
  return packed == node.size;
}

/// Whether the numbers of a node fit each other and its children; and what it reaches.
bool find_reach(const Layout& node, Reach* reach) {
  *reach = {};
  if (node.runs < 0 || node.runs > kRunsMax) return false;
  if (node.size == 0) return node.shape == Layout::Shape::kRun;
  if (!is_size(node.size)) return false;
  switch (node.shape) {
    case Layout::Shape::kRun:
      return repeat({0, node.size}, node.offset, 1, 0, reach);
    case Layout::Shape::kStrided: {
      Reach one{0, node.block_bytes};
      if (node.child && (node.child->shape == Layout::Shape::kRun || !find_reach(*node.child, &one)))
        return false;
      const Count bytes = node.child ? node.child->size : node.block_bytes;
      return is_size(bytes) && is_size(node.count) && Wide{node.count} * bytes == node.size &&
             repeat(one, node.offset, node.count, node.stride, reach);
    }
    case Layout::Shape::kBlocks:
      return find_reach_of_blocks(node, reach);
    case Layout::Shape::kList:
      return find_reach_of_list(node, reach);
  }
  return false;
}

/// Whether the type's bounds are those of its layout: a target relies on them.
bool is_sound(const Datatype& type) {
  Reach reach;
  return find_reach(*type.layout, &reach) && type.extent >= -kFarthest && type.extent <= kFarthest &&
         type.true_lb >= -kFarthest && type.true_lb <= kFarthest && type.true_extent >= 0 &&
         type.true_extent <= kFarthest &&
         (type.size == 0 ||
          (reach.low >= type.true_lb && reach.high <= Wide{type.true_lb} + type.true_extent));
}

// ----------------------------------------------------------------------------------------------------------

LayoutRef decode(Reader& reader, int depth) {
  auto node = std::make_shared<Layout>();
  const std::int64_t shape = reader.next();
  if (shape < 0 || shape > static_cast<std::int64_t>(Layout::Shape::kList) || depth > kDepthMax)
    return nullptr;
  node->shape = static_cast<Layout::Shape>(shape);
  node->size = reader.next();
  node->runs = reader.next();
  node->offset = reader.next();
  node->count = reader.next();
  node->stride = reader.next();
  node->block_bytes = reader.next();
  const bool has_child = reader.next() != 0;
  if (has_child) {
    node->child = decode(reader, depth + 1);
    if (!node->child) return nullptr;
  }
  if (node->shape == Layout::Shape::kBlocks) {
    const std::size_t blocks = reader.number(2);
    for (std::size_t i = 0; i < blocks; ++i) {
      const Count displacement = reader.next();
      node->blocks.push_back({displacement, reader.next()});
    }
    if (blocks < 2 || node->blocks.back().packed_begin != node->size) return nullptr;
  }
  if (node->shape == Layout::Shape::kList) {
    const std::size_t pieces = reader.number(5);
    for (std::size_t i = 0; i < pieces; ++i) {
      Layout::Piece piece{};
      piece.displacement = reader.next();
      piece.packed_begin = reader.next();
      piece.count = reader.next();
      piece.stride = reader.next();
      piece.child = decode(reader, depth + 1);
      if (!piece.child) return nullptr;
      node->pieces.push_back(std::move(piece));
    }
    if (pieces == 0) return nullptr;
  }
  return reader.failed() ? nullptr : node;
}

}  // namespace

std::vector<std::int64_t> encode_type(const Datatype& datatype, std::size_t words_max) {
  Words words{datatype.size, datatype.extent, datatype.true_lb, datatype.true_extent};
  if (!encode(*datatype.layout, words_max, &words)) return {};
  return words;
}

Ref<Datatype> decode_type(const std::int64_t* words, std::size_t count) {
  Reader reader(words, count);
  Ref<Datatype> made(new Datatype);
  made->size = reader.next();
  made->extent = reader.next();
  made->true_lb = reader.next();
  made->true_extent = reader.next();
  made->layout = decode(reader, 0);
  if (!made->layout || reader.failed() || !reader.at_end() || made->layout->size != made->size ||
      !is_sound(*made)) {
    return {};
  }
  return made;
}

}  // namespace tasuki
