// What libfabric offers, in words.
#include "job/network_offers.hpp"

#include <algorithm>

#if TASUKI_FABRIC
#include "link/ofi/library.hpp"
#include "link/ofi/offers.hpp"
#endif

namespace tasuki {

ofi::Wish network_wish(const Config& config, const std::string& address, bool one_machine, int place) {
  return {.provider = config.net_provider,
          .interface = config.net_interface,
          .address = address,
          .one_machine = one_machine,
          .place = place,
          .copying = {.bytes_min = static_cast<std::uint64_t>(config.net_copy_bytes_min),
                      .bytes_max = static_cast<std::uint64_t>(config.net_copy_bytes_max),
                      .naming = static_cast<ofi::Naming>(config.net_register),
                      .tell = static_cast<ofi::Tell>(config.net_tell),
                      .atomics = config.net_atomics != 0}};
}

#if TASUKI_FABRIC
namespace {

using ofi::CopyFacts;
using ofi::Found;

/// The first offer of that provider; -1: there is none.
int first_of(const Found& found, const std::string& provider) {
  const auto one = std::find_if(found.offers().begin(), found.offers().end(),
                                [&](const ofi::Offer& offer) { return offer.provider == provider; });
  return one == found.offers().end() ? -1 : static_cast<int>(one - found.offers().begin());
}

/// `with_atomics`: what is found where they are asked for.
NetworkOffer describe(const Found& found, const Found& with_atomics, const std::string& provider,
                      const ofi::CopyWish& wish) {
  NetworkOffer offer;
  offer.provider = provider;
  for (const ofi::Offer& one : found.offers()) {
    const bool is_new =
        std::find(offer.interfaces.begin(), offer.interfaces.end(), one.interface) == offer.interfaces.end();
    if (one.provider == provider && is_new) offer.interfaces.push_back(one.interface);
  }
  const fi_info& info = *found.infos()[static_cast<std::size_t>(first_of(found, provider))];
  offer.version = ofi::version_of(info);
  CopyFacts facts = ofi::facts_of(info);
  if (const int other = first_of(with_atomics, provider); other >= 0) {
    const CopyFacts changed = ofi::facts_of(*with_atomics.infos()[static_cast<std::size_t>(other)]);
    facts.atomics = true;
    facts.keeps_order = changed.write_then_send == facts.write_then_send;
  }
  offer.promises = ofi::text_of(facts);
  if (wish.atomics && facts.atomics) facts.write_then_send = facts.write_then_send && facts.keeps_order;
  ofi::CopyPlan plan;
  std::string error;
  offer.ways = ofi::plan_copies(facts, wish, &plan, &error) ? ofi::ways_text(plan, wish) : error + ".";
  return offer;
}

}  // namespace

NetworkOffers look_for_networks(const Config& config) {
  NetworkOffers result;
  const ofi::SignalKeeper keeper;
  ofi::Library library;
  std::string error;
  if (!ofi::load_library(config.net_library, &library, &error)) {
    result.choice = "Jobs are of one host: " + error + ".";
    return result;
  }
  result.version = library.version_text();
  result.file = library.file;
  Found found(library, ofi::kMessagesAndCopies);
  const Found with_atomics(library, ofi::kMessagesAndCopies | FI_ATOMIC);
  const ofi::Wish wish = network_wish(config, "", false, 0);
  for (const ofi::Offer& offer : found.offers()) {
    if (first_of(found, offer.provider) == &offer - found.offers().data())
      result.offers.push_back(describe(found, with_atomics, offer.provider, wish.copying));
  }
  ofi::Choice choice;
  if (found.error() != 0) {
    result.choice = "Jobs are of one host: it offers no network: " + library.error_text(found.error()) + ".";
  } else if (!ofi::choose_offer(found.offers(), wish, &choice, &error)) {
    result.choice = "Jobs are of one host: " + error + ".";
  } else {
    const ofi::Offer& taken = found.offers()[static_cast<std::size_t>(choice.index)];
    for (NetworkOffer& offer : result.offers) offer.taken = offer.provider == taken.provider;
    result.choice = "Messages between hosts go by " + taken.provider + " on " + taken.interface +
                    ", because " + choice.reason + ".";
  }
  return result;
}

#else

NetworkOffers look_for_networks(const Config&) {
  NetworkOffers none;
  none.choice = "Jobs are of one host: this Tasuki was built without libfabric's headers (libfabric-dev).";
  return none;
}

#endif

}  // namespace tasuki
