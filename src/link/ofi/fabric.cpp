// Opening and using an endpoint.
#include "link/ofi/fabric.hpp"

#include <rdma/fi_cm.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/system/random_number.hpp"
#include "link/ofi/card.hpp"
#include "link/ofi/frame.hpp"
#include "link/ofi/offers.hpp"

namespace tasuki::ofi {
namespace {

constexpr std::size_t kSmallBytes = 2176;  // the longest small packet with what is before it
static_assert(kSmallBytes % 64 == 0 && kSmallBytes >= kHeadAt + sizeof(HeadWords) + kPutBytesMax &&
              kSmallBytes >= kHeadAt + kBundleBytesMax);
constexpr std::size_t kSlabBytes = 256 << 10;
constexpr int kCompletionsPerRead = 32;
constexpr int kKeyTries = 8;  // where keys are short, two may be alike
constexpr int kNamesMax = 32;

template <class Object>
void close_object(Object* object) {
  if (object != nullptr) fi_close(&object->fid);
}

}  // namespace

std::unique_ptr<Fabric> Fabric::open(const std::string& library, const Wish& wish, std::size_t packet_bytes,
                                     std::string* error) {
  const SignalKeeper keeper;
  std::unique_ptr<Fabric> made(new Fabric());
  if (!load_library(library, &made->library_, error) || !made->find_network(wish, error) ||
      !made->open_objects(error) || !made->open_endpoint(error) || !made->read_name(error))
    return nullptr;
  made->small_ = {kSmallBytes, static_cast<int>(kSlabBytes / kSmallBytes), nullptr};
  const std::size_t bytes = (packet_bytes + 63) / 64 * 64;
  made->large_ = {bytes, std::max(1, static_cast<int>(kSlabBytes / bytes)), nullptr};
  return made;
}

Fabric::~Fabric() {
  if (descriptor_ >= 0) close(descriptor_);
  close_object(endpoint_);
  close_object(queue_);
  close_object(peers_);
  for (const auto& [key, region] : regions_) close_object(region.registration);
  for (const Slab& slab : slabs_) {
    close_object(slab.registration);
    munmap(slab.memory, slab.bytes);
  }
  close_object(domain_);
  close_object(fabric_);
  if (info_ != nullptr) library_.freeinfo(info_);
}

std::string Fabric::failure(const char* call, long result) const {
  return std::string("libfabric ") + library_.version_text() + ", " + offer_.provider + " on " +
         offer_.interface + ": " + call + " failed: " + library_.error_text(result);
}

bool Fabric::find_network(const Wish& wish, std::string* error) {
  std::vector<std::uint64_t> capabilities = {kMessagesAndCopies, FI_MSG};
  if (wish.copying.atomics) capabilities.insert(capabilities.begin(), kMessagesAndCopies | FI_ATOMIC);
  for (const std::uint64_t wanted : capabilities) {
    error->clear();
    if (find_network(wish, wanted, error))
      return plan_copies(facts_of(*info_), wish.copying, &copying_, error);
  }
  return false;
}

bool Fabric::find_network(const Wish& wish, std::uint64_t capabilities, std::string* error) {
  const Found found(library_, capabilities);
  if (found.error() != 0) {
    *error = library_.file + " offers no network: " + library_.error_text(found.error());
    return false;
  }
  Choice choice;
  if (!choose_offer(found.offers(), wish, &choice, error)) return false;
  const auto index = static_cast<std::size_t>(choice.index);
  info_ = library_.dupinfo(found.infos()[index]);
  offer_ = found.offers()[index];
  reason_ = choice.reason;
  version_ = version_of(*info_);
  inject_bytes_max_ = info_->tx_attr->inject_size;
  return true;
}

bool Fabric::open_objects(std::string* error) {
  const char* call = "fi_fabric";
  long result = library_.fabric(info_->fabric_attr, &fabric_, nullptr);
  if (result == 0) {
    call = "fi_domain";
    result = fi_domain(fabric_, info_, &domain_, nullptr);
  }
  if (result == 0) {
    call = "fi_av_open";
    fi_av_attr attributes{};
    attributes.type = FI_AV_TABLE;
    result = fi_av_open(domain_, &attributes, &peers_, nullptr);
  }
  if (result == 0) {
    call = "fi_cq_open";
    fi_cq_attr attributes{};
    attributes.format = FI_CQ_FORMAT_DATA;
    attributes.wait_obj = FI_WAIT_FD;
    result = fi_cq_open(domain_, &attributes, &queue_, nullptr);
    if (result == 0) {
      result = fi_control(&queue_->fid, FI_GETWAIT, &queue_descriptor_);
      if (result == 0 && (descriptor_ = epoll_create1(EPOLL_CLOEXEC)) < 0) result = -errno;
    } else {  // this provider has none: ranks sleep for short times
      attributes.wait_obj = FI_WAIT_NONE;
      result = fi_cq_open(domain_, &attributes, &queue_, nullptr);
    }
  }
  if (result != 0) *error = failure(call, result);
  return result == 0;
}

/// The queue's own descriptor may stay readable when all has been read: that of libfabric 1.17 over TCP does
/// after the first completion. So what is waited for is that anything happens to it, not how it is.
Fabric::Events Fabric::expect_events() {
  if (descriptor_ < 0) return Events::kNone;
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  if (!expecting_ && epoll_ctl(descriptor_, EPOLL_CTL_ADD, queue_descriptor_, &event) != 0)
    return Events::kClosed;
  expecting_ = true;
  const int count = epoll_wait(descriptor_, &event, 1, 0);
  if (count < 0 && (errno == EBADF || errno == EINVAL)) return Events::kClosed;
  return count == 0 ? Events::kNone : Events::kSome;
}

void Fabric::expect_no_events() {
  if (std::exchange(expecting_, false)) epoll_ctl(descriptor_, EPOLL_CTL_DEL, queue_descriptor_, nullptr);
}

/// Providers give endpoints names. Those of shm are made of the process' id and a number, and stay in
/// /dev/shm where a process is killed; once another process has that id, they count as taken. The next
/// numbers do not.
bool Fabric::open_endpoint(std::string* error) {
  for (int names = 1;; ++names) {
    const char* call = "fi_endpoint";
    long result = fi_endpoint(domain_, info_, &endpoint_, nullptr);
    if (result == 0) {
      call = "fi_ep_bind";
      result = fi_ep_bind(endpoint_, &peers_->fid, 0);
    }
    if (result == 0) result = fi_ep_bind(endpoint_, &queue_->fid, FI_SEND | FI_RECV);
    if (result == 0) {
      call = "fi_enable";
      result = fi_enable(endpoint_);
    }
    if (result == 0) return true;
    if (result != -FI_EBUSY || names == kNamesMax) {
      *error = failure(call, result);
      return false;
    }
    close_object(std::exchange(endpoint_, nullptr));
  }
}

bool Fabric::read_name(std::string* error) {
  char bytes[kNameBytesMax];
  std::size_t length = sizeof bytes;
  const int result = fi_getname(&endpoint_->fid, bytes, &length);
  if (result != 0 || length > sizeof bytes) {
    *error = failure("fi_getname", result);
    return false;
  }
  name_.assign(bytes, length);
  return true;
}

bool Fabric::grow(Pool& pool) {
  const auto count = static_cast<std::size_t>(pool.buffers_per_slab);
  Slab slab{nullptr, pool.bytes * count, nullptr, std::make_unique<Buffer[]>(count)};
  slab.memory = mmap(nullptr, slab.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (slab.memory == MAP_FAILED) return false;
  void* registration = nullptr;
  if (wants_registered()) {
    slab.registration = make_registration(slab.memory, slab.bytes, FI_SEND | FI_RECV);
    if (slab.registration == nullptr) {
      munmap(slab.memory, slab.bytes);
      return false;
    }
    registration = fi_mr_desc(slab.registration);
  }
  for (std::size_t i = 0; i < count; ++i) {
    Buffer& buffer = slab.buffers[i];
    buffer.memory = static_cast<std::byte*>(slab.memory) + i * pool.bytes;
    buffer.capacity = static_cast<std::uint32_t>(pool.bytes);
    buffer.registration = registration;
    buffer.next = pool.free;
    pool.free = &buffer;
  }
  slabs_.push_back(std::move(slab));
  return true;
}

Buffer* Fabric::take(std::size_t bytes) {
  Pool& pool = bytes <= small_.bytes ? small_ : large_;
  if (pool.free == nullptr && !grow(pool)) return nullptr;
  Buffer* const buffer = pool.free;
  pool.free = buffer->next;
  buffer->next = nullptr;
  buffer->covers = 0;
  buffer->lent = nullptr;
  return buffer;
}

void Fabric::give_back(Buffer* buffer) {
  Pool& pool = buffer->capacity == small_.bytes ? small_ : large_;
  buffer->next = pool.free;
  pool.free = buffer;
}

bool Fabric::post(Buffer* buffer) {
  buffer->peer = -1;
  const ssize_t result = fi_recv(endpoint_, buffer->memory + kFrameAt, buffer->capacity - kFrameAt,
                                 buffer->registration, FI_ADDR_UNSPEC, &buffer->context);
  return result == 0;
}

fi_addr_t Fabric::insert(const std::string& name) {
  fi_addr_t peer = FI_ADDR_NOTAVAIL;
  if (name.size() != name_.size()) return peer;
  char bytes[kNameBytesMax] = {};
  std::memcpy(bytes, name.data(), name.size());
  return fi_av_insert(peers_, bytes, 1, &peer, 0, nullptr) == 1 ? peer : FI_ADDR_NOTAVAIL;
}

long Fabric::send(fi_addr_t peer, Buffer* buffer) {
  if (buffer->lent != nullptr) {
    constexpr std::size_t kHeadBytes = kBulkAt - kFrameAt;
    const iovec parts[] = {{buffer->memory + kFrameAt, kHeadBytes},
                           {const_cast<void*>(buffer->lent), buffer->length - kHeadBytes}};
    const fi_msg message{parts, nullptr, std::size(parts), peer, &buffer->context, 0};
    return fi_sendmsg(endpoint_, &message, FI_COMPLETION);
  }
  return fi_send(endpoint_, buffer->memory + kFrameAt, buffer->length, buffer->registration, peer,
                 &buffer->context);
}

long Fabric::inject(fi_addr_t peer, const void* data, std::size_t bytes) {
  return fi_inject(endpoint_, data, bytes, peer);
}

// ----- memory named by keys --------------------------------------------------------------------------------

bool Fabric::wants_registered() const {
  return (info_->domain_attr->mr_mode & FI_MR_LOCAL) != 0;
}

/// Null: that cannot be. Where keys are ours they are random: whoever names memory by one has been told it.
fid_mr* Fabric::make_registration(void* base, std::size_t bytes, std::uint64_t access) {
  const std::size_t key_bytes = std::min(info_->domain_attr->mr_key_size, sizeof(std::uint64_t));
  const std::uint64_t mask = UINT64_MAX >> (64 - 8 * std::max<std::size_t>(key_bytes, 1));
  fid_mr* made = nullptr;
  int result = -FI_ENOKEY;
  for (int tries = 0; result == -FI_ENOKEY && tries < kKeyTries; ++tries)
    result = fi_mr_reg(domain_, base, bytes, access, 0, random_number() & mask, 0, &made, nullptr);
  if (result != 0) return nullptr;
  const bool is_bound = (info_->domain_attr->mr_mode & FI_MR_ENDPOINT) == 0 ||
                        (fi_mr_bind(made, &endpoint_->fid, 0) == 0 && fi_mr_enable(made) == 0);
  if (is_bound) return made;
  close_object(made);
  return nullptr;
}

const Region* Fabric::register_memory(void* base, std::size_t bytes) {
  fid_mr* const made = make_registration(base, bytes, FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE);
  if (made == nullptr) return nullptr;
  const bool is_virtual = (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
  const std::uint64_t key = fi_mr_key(made);
  const std::uint64_t address = is_virtual ? reinterpret_cast<std::uint64_t>(base) : 0;
  return &(regions_[key] = {made, static_cast<std::byte*>(base), bytes, address, key});
}

void Fabric::unregister_memory(std::uint64_t key) {
  const auto found = regions_.find(key);
  if (found == regions_.end()) return;
  close_object(found->second.registration);
  regions_.erase(found);
}

/// Of the own memory of a copy, where the provider wants it registered, too.
void* Fabric::description_of(Copy& copy) {
  const auto holds = [&](const Region& region) {
    const auto at = static_cast<std::size_t>(copy.here - region.base);
    return at < region.bytes && copy.bytes <= region.bytes - at;
  };
  for (const auto& [key, region] : regions_) {
    if (holds(region)) return fi_mr_desc(region.registration);
  }
  copy.own = register_memory(copy.here, copy.bytes);
  return copy.own != nullptr ? fi_mr_desc(copy.own->registration) : nullptr;
}

long Fabric::begin(fi_addr_t peer, Copy* copy) {
  void* description = nullptr;
  if (wants_registered() && (description = description_of(*copy)) == nullptr) return -FI_ENOMEM;
  copy->part = std::min(copy->bytes, copying_.bytes_max);
  const iovec here{copy->here, copy->part};
  const fi_rma_iov there{copy->there, copy->part, copy->key};
  const fi_msg_rma message{&here, &description, 1, peer, &there, 1, &copy->context, copy->word};
  if (!copy->puts) return fi_readmsg(endpoint_, &message, FI_COMPLETION);
  const bool tells_now = copy->tells && copy->part == copy->bytes;
  // Also of what the target is told of itself: what is lost has to be noticed here.
  std::uint64_t flags = FI_COMPLETION | FI_DELIVERY_COMPLETE;
  if (tells_now && copying_.tell == Tell::kData) flags |= FI_REMOTE_CQ_DATA;
  return fi_writemsg(endpoint_, &message, flags);
}

void Fabric::end(Copy* copy) {
  if (const Region* const own = std::exchange(copy->own, nullptr)) unregister_memory(own->key);
}

// ----- completions -----------------------------------------------------------------------------------------

int Fabric::read(std::span<Completion> completions) {
  fi_cq_data_entry entries[kCompletionsPerRead];
  const std::size_t wanted = std::min<std::size_t>(completions.size(), kCompletionsPerRead);
  const ssize_t count = fi_cq_read(queue_, entries, wanted);
  if (count == -FI_EAVAIL) {
    completions[0] = read_error();
    return completions[0].work != nullptr ? 1 : 0;
  }
  int written = 0;
  for (ssize_t i = 0; i < count; ++i) {
    const fi_cq_data_entry& entry = entries[i];
    // Of a peer's write nobody here has asked for: its context means nothing.
    const bool is_told = (entry.flags & FI_REMOTE_CQ_DATA) != 0 && (entry.flags & FI_RECV) == 0;
    if (is_told) {
      completions[static_cast<std::size_t>(written++)] = {
          .work = nullptr, .bytes = 0, .error = 0, .word = static_cast<std::uint32_t>(entry.data)};
    } else if (entry.op_context != nullptr) {
      completions[static_cast<std::size_t>(written++)] = {
          .work = static_cast<Work*>(entry.op_context), .bytes = entry.len, .error = 0, .word = 0};
    }
  }
  return written;
}

Completion Fabric::read_error() {
  fi_cq_err_entry entry{};
  if (fi_cq_readerr(queue_, &entry, 0) != 1) return {};
  return {.work = static_cast<Work*>(entry.op_context),
          .bytes = 0,
          .error = entry.err != 0 ? entry.err : FI_EIO,
          .word = 0};
}

bool Fabric::can_wait() {
  fid* const objects[] = {&queue_->fid};
  return descriptor_ >= 0 && fi_trywait(fabric_, const_cast<fid**>(objects), 1) == FI_SUCCESS;
}

}  // namespace tasuki::ofi
