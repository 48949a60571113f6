// MPI-IO. In one operation of
//   write, read        every rank moves `bytes` by one of the functions of data access; the data of a
//                      rank lie in one piece (contiguous), or those of all ranks take turns by the KiB
//                      (strided)
//   overlap            the same by a nonblocking function, beside computing (overlap.hpp)
//   hpio_write, _read  the same with the regions of the HPIO benchmark: so long, with so much space
//                      between, in memory, file, or both; with and without hints
//   sync               every rank writes `bytes` (or nothing) and MPI_File_sync
//   open, set_view, seek_shared, set_size, preallocate   those functions; `bytes` for each rank
// Files have room for some rounds, so that pointers go on; all rounds move the same bytes of memory. What a
// library tells of phases by performance variables becomes notes (variables.hpp). A call that returns an
// error makes the case an unsupported one, in MPI's words.
#include <algorithm>
#include <cstring>

#include "buffers.hpp"
#include "io_file.hpp"
#include "overlap.hpp"
#include "variables.hpp"

namespace mbl {
namespace {

constexpr std::uint64_t kOld = 1, kNew = 2;  // seeds: what is in a file before, and what is moved
constexpr unsigned char kUntouched = 0xee;   // memory that nothing is read into
constexpr std::int64_t kChunkBytes = 1 << 20;

std::string wrong_byte(const char* where, std::int64_t place, unsigned found, unsigned expected) {
  return std::string("byte ") + std::to_string(place) + " of the " + where + " is " + std::to_string(found) +
         ", expected " + std::to_string(expected);
}

/// Moves data, round after round.
class DataAccess : public Pattern {
 public:
  /// `beside`: computing.
  DataAccess(const Setting& setting, const Way& way, bool writes, const Layout::Shape& shape, Hints hints,
             bool beside = false)
      : setting_(setting),
        way_(way),
        writes_(writes),
        layout_(setting, shape, way.is_shared()),
        file_(setting, hints, &failure_),
        variables_({"io", "file"}, file_.handle() == MPI_FILE_NULL ? nullptr : file_.address()),
        memory_(static_cast<std::size_t>(layout_.memory_bytes())),
        call_("MPI_File_" + way.name_of(writes)) {
    if (writes) use_.gives(memory_.data(), layout_.memory_bytes());
    if (!writes) use_.gets(memory_.data(), layout_.memory_bytes());
    if (!failure_.happened_anywhere(setting.comm)) layout_.set_view(file_.handle(), &failure_);
    if (!beside) return;
    fill_file(kNew);
    if (!failure_.happened_anywhere(setting.comm))
      overlap_ = std::make_unique<Overlap>(
          setting.comm, [this] { start(); }, &request_, use_);
  }

  void prepare(int rounds) override {
    rounds_ = rounds;
    rewind();
    variables_.begin();
  }

  void run(int rounds) override {
    if (overlap_) return overlap_->run(rounds);
    for (int round = 0; round < rounds; ++round) {
      const int lap = round % layout_.laps();
      if (lap == 0 && round > 0) begin_again();
      use_.write();
      failure_.take(move_data(file_.handle(), way_, writes_, lap * setting_.bytes, memory_.data(),
                              layout_.memory_count(), layout_.memory_type()),
                    call_.c_str());
      use_.read();
    }
  }

  void settle() override {
    variables_.end(rounds_);
    if (overlap_) overlap_->settle();
  }

  std::string check() override {
    if (failure_.happened_anywhere(setting_.comm)) return failure_.text();
    fill_file(writes_ ? kOld : kNew);
    fill_memory();
    if (failure_.happened_anywhere(setting_.comm)) return failure_.text();
    prepare(1);
    run(1);
    settle();
    if (writes_) failure_.take(MPI_File_sync(file_.handle()), "MPI_File_sync");
    if (failure_.happened_anywhere(setting_.comm)) return failure_.text();
    std::string wrong = writes_ ? check_file() : check_memory();
    return failure_.happened() ? failure_.text() : wrong;
  }

  Notes notes() override {
    Notes notes = overlap_ ? overlap_->notes() : Notes{};
    for (const auto& note : variables_.notes()) notes.push_back(note);
    return notes;
  }

 private:
  void start() {
    failure_.take(start_data(file_.handle(), way_, writes_, 0, memory_.data(), layout_.memory_count(),
                             layout_.memory_type(), &request_),
                  call_.c_str());
  }

  void rewind() {
    if (way_.is_shared()) {
      failure_.take(MPI_File_seek_shared(file_.handle(), 0, MPI_SEEK_SET), "MPI_File_seek_shared");
    } else if (way_.position == Position::kOwn) {
      failure_.take(MPI_File_seek(file_.handle(), 0, MPI_SEEK_SET), "MPI_File_seek");
    }
  }

  /// No rank moves the shared pointer back while another is still to use it.
  void begin_again() {
    if (way_.is_shared()) MPI_Barrier(setting_.comm);
    rewind();
  }

  /// Goes through this rank's share of the file, chunk by chunk: `visit(chunk's first place, data, bytes)`.
  template <class Visit>
  void through_file(std::int64_t first, Visit visit) {
    const std::int64_t all = layout_.file_bytes() - first;
    const std::int64_t end = first + all * (setting_.rank + 1) / setting_.size;
    std::vector<unsigned char> chunk(static_cast<std::size_t>(kChunkBytes));
    for (std::int64_t at = first + all * setting_.rank / setting_.size; at < end; at += kChunkBytes)
      visit(at, chunk.data(), static_cast<int>(std::min(kChunkBytes, end - at)));
  }

  void fill_file(std::uint64_t seed) {
    through_file(0, [&](std::int64_t at, unsigned char* data, int bytes) {
      for (int i = 0; i < bytes; ++i) data[i] = known_byte(seed, at + i);
      failure_.take(MPI_File_write_at(file_.plain(), at, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE),
                    "MPI_File_write_at");
    });
  }

  void fill_memory() {
    std::fill(memory_.begin(), memory_.end(), kUntouched);
    if (!writes_) return;
    for (std::int64_t i = 0; i < setting_.bytes; ++i)
      memory_[static_cast<std::size_t>(layout_.memory_position(i))] =
          known_byte(kNew, layout_.file_position(0, i));
  }

  /// Ranks that share a pointer without an order write their data at the place of any of them.
  std::string check_file() {
    const bool any_order = way_.position == Position::kShared;
    std::string wrong;
    through_file(
        any_order ? setting_.bytes * setting_.size : 0, [&](std::int64_t at, unsigned char* data, int bytes) {
          read_plain(at, data, bytes);
          for (int i = 0; i < bytes && wrong.empty(); ++i) {
            const unsigned char expected = known_byte(layout_.lap_at(at + i) == 0 ? kNew : kOld, at + i);
            if (data[i] != expected) wrong = wrong_byte("file", at + i, data[i], expected);
          }
        });
    if (!any_order || !wrong.empty()) return wrong;
    std::vector<unsigned char> block(memory_.size());
    for (int slot = 0; slot < setting_.size; ++slot) {
      read_plain(slot * setting_.bytes, block.data(), static_cast<int>(setting_.bytes));
      if (block == memory_) return {};
    }
    return "what this rank wrote is not in the file";
  }

  void read_plain(std::int64_t at, unsigned char* data, int bytes) {
    failure_.take(MPI_File_read_at(file_.plain(), at, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE),
                  "MPI_File_read_at");
  }

  std::string check_memory() {
    if (way_.position == Position::kShared) return check_slots();
    std::vector<unsigned char> expected(memory_.size(), kUntouched);
    for (std::int64_t i = 0; i < setting_.bytes; ++i)
      expected[static_cast<std::size_t>(layout_.memory_position(i))] =
          known_byte(kNew, layout_.file_position(0, i));
    const auto [found, wanted] = std::mismatch(memory_.begin(), memory_.end(), expected.begin());
    return found == memory_.end() ? "" : wrong_byte("memory", found - memory_.begin(), *found, *wanted);
  }

  /// What was read is the data of one slot; no other rank got that.
  std::string check_slots() {
    int own = -1;
    for (int slot = 0; slot < setting_.size && own < 0; ++slot) {
      std::int64_t same = 0;
      while (same < setting_.bytes &&
             memory_[static_cast<std::size_t>(same)] == known_byte(kNew, slot * setting_.bytes + same))
        ++same;
      if (same == setting_.bytes) own = slot;
    }
    std::vector<int> all(static_cast<std::size_t>(setting_.size));
    MPI_Allgather(&own, 1, MPI_INT, all.data(), 1, MPI_INT, setting_.comm);
    if (own < 0) return "what this rank read is no rank's part of the file";
    const auto times = std::count(all.begin(), all.end(), own);
    return times == 1 ? "" : "part " + std::to_string(own) + " was read " + std::to_string(times) + " times";
  }

  Setting setting_;
  Way way_;
  bool writes_;
  int rounds_ = 1;
  Failure failure_;
  Layout layout_;
  File file_;
  Variables variables_;  // freed before the file
  std::vector<unsigned char> memory_;
  std::string call_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::unique_ptr<Overlap> overlap_;  // null: it does not compute
};

/// Opens and closes a file: one that is there, or a new one that goes away again.
class Opening : public Pattern {
 public:
  Opening(const Setting& setting, bool creates)
      : setting_(setting),
        creates_(creates),
        file_(setting, Hints::kNone, &failure_),
        new_path_(new_path(setting)) {}

  void run(int rounds) override {
    const int mode = creates_ ? MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE : MPI_MODE_RDWR;
    const char* path = (creates_ ? new_path_ : file_.path()).c_str();
    open_seconds_ = close_seconds_ = 0;
    for (int round = 0; round < rounds; ++round) {
      MPI_File file = MPI_FILE_NULL;
      const double begin = MPI_Wtime();
      if (!failure_.take(MPI_File_open(setting_.comm, path, mode, MPI_INFO_NULL, &file), "MPI_File_open"))
        return;
      const double middle = MPI_Wtime();
      failure_.take(MPI_File_close(&file), "MPI_File_close");
      open_seconds_ += (middle - begin) / rounds;
      close_seconds_ += (MPI_Wtime() - middle) / rounds;
    }
  }

  std::string check() override {
    if (!failure_.happened_anywhere(setting_.comm)) run(1);
    return failure_.happened_anywhere(setting_.comm) ? failure_.text() : kNotChecked;
  }

  Notes notes() override { return {{"open_seconds", open_seconds_}, {"close_seconds", close_seconds_}}; }

 private:
  Setting setting_;
  bool creates_;
  Failure failure_;
  File file_;
  std::string new_path_;
  double open_seconds_ = 0, close_seconds_ = 0;
};

/// Every rank writes its part, or nothing, and all bring the file to the disk.
class Syncing : public Pattern {
 public:
  explicit Syncing(const Setting& setting)
      : setting_(setting),
        file_(setting, Hints::kNone, &failure_),
        data_(static_cast<std::size_t>(setting.bytes), kUntouched) {}

  void run(int rounds) override {
    write_seconds_ = sync_seconds_ = 0;
    for (int round = 0; round < rounds; ++round) {
      const double begin = MPI_Wtime();
      if (!data_.empty())
        failure_.take(MPI_File_write_at(file_.handle(), setting_.rank * setting_.bytes, data_.data(),
                                        static_cast<int>(setting_.bytes), MPI_BYTE, MPI_STATUS_IGNORE),
                      "MPI_File_write_at");
      const double middle = MPI_Wtime();
      failure_.take(MPI_File_sync(file_.handle()), "MPI_File_sync");
      write_seconds_ += (middle - begin) / rounds;
      sync_seconds_ += (MPI_Wtime() - middle) / rounds;
    }
  }

  std::string check() override {
    if (failure_.happened_anywhere(setting_.comm)) return failure_.text();
    fill(data_.data(), setting_.bytes, static_cast<std::uint64_t>(setting_.rank));
    run(1);
    if (failure_.happened_anywhere(setting_.comm)) return failure_.text();
    if (data_.empty()) return kNotChecked;
    const int next = (setting_.rank + 1) % setting_.size;
    std::vector<unsigned char> found(data_.size());
    failure_.take(MPI_File_read_at(file_.plain(), next * setting_.bytes, found.data(),
                                   static_cast<int>(setting_.bytes), MPI_BYTE, MPI_STATUS_IGNORE),
                  "MPI_File_read_at");
    return failure_.happened() ? failure_.text()
                               : compare(found.data(), setting_.bytes, static_cast<std::uint64_t>(next));
  }

  Notes notes() override { return {{"write_seconds", write_seconds_}, {"sync_seconds", sync_seconds_}}; }

 private:
  Setting setting_;
  Failure failure_;
  File file_;
  std::vector<unsigned char> data_;
  double write_seconds_ = 0, sync_seconds_ = 0;
};

/// A function that all ranks call, over and over.
class Managing : public Pattern {
 public:
  enum class Function { kSetView, kSeekShared, kSetSize, kPreallocate };

  Managing(const Setting& setting, Function function)
      : setting_(setting),
        function_(function),
        file_(setting, Hints::kNone, &failure_),
        layout_(part_of(setting), {kPartBytes, 0, false, true}, false) {}

  void run(int rounds) override {
    for (int round = 0; round < rounds; ++round) {
      switch (function_) {
        case Function::kSetView:
          layout_.set_view(file_.handle(), &failure_);
          break;
        case Function::kSeekShared:
          failure_.take(MPI_File_seek_shared(file_.handle(), kPartBytes, MPI_SEEK_SET),
                        "MPI_File_seek_shared");
          break;
        case Function::kSetSize:
          failure_.take(MPI_File_set_size(file_.handle(), all_bytes()), "MPI_File_set_size");
          failure_.take(MPI_File_set_size(file_.handle(), 0), "MPI_File_set_size");
          break;
        case Function::kPreallocate:
          failure_.take(MPI_File_set_size(file_.handle(), 0), "MPI_File_set_size");
          failure_.take(MPI_File_preallocate(file_.handle(), all_bytes()), "MPI_File_preallocate");
          break;
      }
    }
  }

  std::string check() override {
    if (failure_.happened_anywhere(setting_.comm)) return failure_.text();
    run(1);
    if (failure_.happened_anywhere(setting_.comm)) return failure_.text();
    if (function_ == Function::kSetView) return kNotChecked;
    MPI_Offset found = -1, expected = 0;
    if (function_ == Function::kSeekShared) {
      expected = kPartBytes;
      failure_.take(MPI_File_get_position_shared(file_.handle(), &found), "MPI_File_get_position_shared");
    } else {
      expected = function_ == Function::kPreallocate ? all_bytes() : 0;
      failure_.take(MPI_File_get_size(file_.handle(), &found), "MPI_File_get_size");
    }
    if (failure_.happened()) return failure_.text();
    if (found == expected) return {};
    return "the file's size or position is " + std::to_string(found) + ", expected " +
           std::to_string(expected);
  }

 private:
  static constexpr std::int64_t kPartBytes = 1 << 10;

  /// For a view of regions that take turns.
  static Setting part_of(Setting setting) {
    setting.bytes = 64 * kPartBytes;
    return setting;
  }

  MPI_Offset all_bytes() const { return static_cast<MPI_Offset>(setting_.bytes * setting_.size); }

  Setting setting_;
  Function function_;
  Failure failure_;
  File file_;
  Layout layout_;
};

// ---------------------------------------------------------------------------------------------- catalogue

using Sizes = std::vector<std::int64_t>;

constexpr std::int64_t kStridedBytes = 1 << 10;

/// `first` and fourfold from there, seven sizes.
Sizes fourfold(std::int64_t first) {
  Sizes sizes(7, first);
  for (std::size_t i = 1; i < sizes.size(); ++i) sizes[i] = 4 * sizes[i - 1];
  return sizes;
}

Benchmark benchmark(const char* name, std::string variant, const char* doc, Sizes bytes, Sizes quick) {
  Benchmark made;
  made.group = "io";
  made.name = name;
  made.variant = std::move(variant);
  made.doc = doc;
  made.bytes = std::move(bytes);
  made.quick_bytes = std::move(quick);
  made.factor = [](int size) { return size; };
  return made;
}

void add_access(Catalogue& catalogue, const Way& way, bool writes, bool strided, Hints hints, Sizes quick) {
  const std::string variant = "call=" + way.name_of(writes) +
                              ",layout=" + (strided ? "strided" : "contiguous") + ",hints=" + name_of(hints);
  Benchmark made = benchmark(writes ? "write" : "read", variant, "every rank moves its part of a file",
                             fourfold(4 << 10), std::move(quick));
  Layout::Shape shape;
  if (strided) {
    shape = {kStridedBytes, 0, false, true};
    made.unit = kStridedBytes;
  }
  made.make = [=](const Setting& setting) {
    return std::make_unique<DataAccess>(setting, way, writes, shape, hints);
  };
  add_in_use(catalogue, std::move(made));
}

void add_accesses(Catalogue& catalogue) {
  const Sizes three = {4 << 10, 64 << 10, 1 << 20}, one = {64 << 10};
  for (const bool writes : {true, false}) {
    for (const Way& way : ways()) {
      const bool is_main = way.completion == Completion::kBlocking && !way.is_shared();
      const bool is_all = way.name == std::string("write_all");
      add_access(catalogue, way, writes, false, Hints::kNone, is_main && way.collective ? three : one);
      if (!way.is_shared()) add_access(catalogue, way, writes, true, Hints::kNone, is_all ? one : Sizes{});
    }
    for (const bool strided : {false, true})
      for (const Hints hints : {Hints::kAggregate, Hints::kNoAggregate})
        add_access(catalogue, way_named("write_all"), writes, strided, hints, {});
  }
}

/// At offsets that are given, so that every round moves the same.
void add_overlaps(Catalogue& catalogue) {
  for (const bool writes : {true, false})
    for (const char* call : {"iwrite_at", "iwrite_at_all"})
      for (const bool strided : {false, true}) {
        const Way& way = way_named(call);
        Benchmark made = benchmark(
            "overlap",
            "form=overlap,call=" + way.name_of(writes) + ",layout=" + (strided ? "strided" : "contiguous"),
            "the nonblocking call, computing for as long as it takes alone, MPI_Wait", fourfold(64 << 10),
            Sizes{});
        const Layout::Shape shape = strided ? Layout::Shape{kStridedBytes, 0, false, true} : Layout::Shape{};
        if (strided) made.unit = kStridedBytes;
        made.make = [=](const Setting& setting) {
          return std::make_unique<DataAccess>(setting, way, writes, shape, Hints::kNone, true);
        };
        add_in_use(catalogue, std::move(made));
      }
}

void add_hpio(Catalogue& catalogue, const char* call, bool writes, const Layout::Shape& shape, Hints hints,
              bool quick) {
  const Way& way = way_named(call);
  const auto kind = [](bool regions) { return regions ? "regions" : "contiguous"; };
  const std::string variant = "call=" + way.name_of(writes) + ",memory=" + kind(shape.memory_regions) +
                              ",file=" + kind(shape.file_regions) +
                              ",region=" + std::to_string(shape.region) +
                              ",space=" + std::to_string(shape.space) + ",hints=" + name_of(hints);
  Benchmark made = benchmark(
      writes ? "hpio_write" : "hpio_read", variant, "every rank moves regions with space between them",
      fourfold(shape.region == 64 ? 1 << 10 : shape.region), quick ? Sizes{shape.region * 64} : Sizes{});
  made.unit = shape.region;
  made.make = [=](const Setting& setting) {
    return std::make_unique<DataAccess>(setting, way, writes, shape, hints);
  };
  add_in_use(catalogue, std::move(made));
}

/// Regions of 64 B in as much space, and those of the paper on placement-aware exchange.
void add_hpios(Catalogue& catalogue) {
  for (const bool writes : {true, false})
    for (const auto& [region, space] : {std::pair{64, 64}, std::pair{3744, 256}})
      for (const char* call : {"write", "write_all"})
        for (const bool memory : {false, true})
          for (const bool file : {false, true}) {
            const Layout::Shape shape{region, space, memory, file};
            const bool both = memory && file;
            add_hpio(catalogue, call, writes, shape, Hints::kNone, both && region > 64);
            if (!both || call != std::string("write_all")) continue;
            for (const Hints hints : {Hints::kAggregate, Hints::kNoAggregate})
              add_hpio(catalogue, call, writes, shape, hints, false);
          }
}

void add_managing(Catalogue& catalogue, const char* name, Managing::Function function, Sizes bytes,
                  Sizes quick) {
  Benchmark made = benchmark(name, "", "all ranks call the function", std::move(bytes), std::move(quick));
  if (function == Managing::Function::kSetSize) made.divisor = 2;
  made.make = [function](const Setting& setting) { return std::make_unique<Managing>(setting, function); };
  catalogue.push_back(std::move(made));
}

}  // namespace

void add_io(Catalogue& catalogue) {
  add_accesses(catalogue);
  add_overlaps(catalogue);
  add_hpios(catalogue);
  for (const bool creates : {false, true}) {
    Benchmark made = benchmark("open", creates ? "file=new" : "file=existing",
                               "all ranks open a file and close it", {0}, {0});
    made.make = [creates](const Setting& setting) { return std::make_unique<Opening>(setting, creates); };
    catalogue.push_back(std::move(made));
  }
  for (const bool written : {true, false}) {
    Benchmark made =
        benchmark("sync", written ? "data=written" : "data=none", "what was written goes to the disk",
                  written ? fourfold(4 << 10) : Sizes{0}, written ? Sizes{64 << 10} : Sizes{0});
    made.make = [](const Setting& setting) { return std::make_unique<Syncing>(setting); };
    catalogue.push_back(std::move(made));
  }
  add_managing(catalogue, "set_view", Managing::Function::kSetView, {0}, {0});
  add_managing(catalogue, "seek_shared", Managing::Function::kSeekShared, {0}, {0});
  add_managing(catalogue, "set_size", Managing::Function::kSetSize, {1 << 20, 16 << 20}, {1 << 20});
  add_managing(catalogue, "preallocate", Managing::Function::kPreallocate, {1 << 20, 16 << 20}, {1 << 20});
}

}  // namespace mbl
