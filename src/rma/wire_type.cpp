// Datatypes as words: size, extent, true bounds, then the layout's nodes from the root on, each with its
// shape.
#include "rma/wire_type.hpp"

#include <utility>

#include "datatype/layout.hpp"

namespace tasuki::rma {
namespace {

using Words = std::vector<std::int64_t>;
constexpr int kDepthMax = 200;

void encode(const Layout& node, Words* words) {
  words->insert(words->end(), {static_cast<std::int64_t>(node.shape), node.size, node.runs, node.offset,
                               node.count, node.stride, node.block_bytes, node.child ? 1 : 0});
  if (node.child) encode(*node.child, words);
  if (node.shape == Layout::Shape::kBlocks) {
    words->push_back(static_cast<std::int64_t>(node.blocks.size()));
    for (const Layout::Block& block : node.blocks)
      words->insert(words->end(), {block.displacement, block.packed_begin});
  }
  if (node.shape == Layout::Shape::kList) {
    words->push_back(static_cast<std::int64_t>(node.pieces.size()));
    for (const Layout::Piece& piece : node.pieces) {
      words->insert(words->end(), {piece.displacement, piece.packed_begin, piece.count, piece.stride});
      encode(*piece.child, words);
    }
  }
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

std::vector<std::int64_t> encode_type(const Datatype& datatype) {
  Words words{datatype.size, datatype.extent, datatype.true_lb, datatype.true_extent};
  encode(*datatype.layout, &words);
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
  if (!made->layout || reader.failed() || !reader.at_end() || made->layout->size != made->size) return {};
  return made;
}

}  // namespace tasuki::rma
