#include "taskmanager/gate_group_cache.h"

namespace freshet {

namespace {

uint64_t bytes_of(const GateGroup& group) {
  return sizeof(GateGroup) + group.locations.size() * sizeof(InputGate::ProducerLocation) +
         group.producers.size() * sizeof(InputGate::ProducerRange);
}

}  // namespace

GateGroupCache::GateGroupCache(Options options, Transport& transport, Mailbox& mailbox)
    : options_(std::move(options)), transport_(transport), mailbox_(mailbox) {}

GateGroupCache::~GateGroupCache() {
  for (const auto& [key, fetch] : fetches_) fetch.blob->cancel();
}

GateGroupCache::Group GateGroupCache::find(const JobId& job, const std::string& hash) {
  const auto found = entries_.find({job, hash});
  if (found == entries_.end()) return nullptr;
  uses_.splice(uses_.end(), uses_, found->second.use);
  return found->second.group;
}

void GateGroupCache::add(const JobId& job, const std::string& hash, Group group) {
  const Key key{job, hash};
  const uint64_t bytes = bytes_of(*group);
  if (bytes > options_.bytes_max || entries_.contains(key)) return;
  while (bytes_ + bytes > options_.bytes_max) erase(Key(uses_.front()));
  entries_[key] = {std::move(group), uses_.insert(uses_.end(), key)};
  bytes_ += bytes;
}

void GateGroupCache::erase(const Key& key) {
  const auto found = entries_.find(key);
  bytes_ -= bytes_of(*found->second.group);
  uses_.erase(found->second.use);
  entries_.erase(found);
}

void GateGroupCache::fetch(const JobInformation& job, const std::string& hash, Done done) {
  const Key key{job.id, hash};
  const auto [it, first] = fetches_.try_emplace(key);
  it->second.waiting.push_back(std::move(done));
  if (!first) return;
  fetch_count_++;
  it->second.blob =
      BlobFetch::start(options_.fetch, transport_, mailbox_, hash,
                       [this, key, graph = job.graph](const Result<std::string>& bytes) {
                         if (!bytes.ok()) return end_fetch(key, bytes.status());
                         fetched_bytes_ += bytes->size();
                         end_fetch(key, parse_group(*bytes, *graph, options_.host_id));
                       });
}

void GateGroupCache::end_fetch(const Key& key, const Result<Group>& group) {
  std::vector<Done> waiting = std::move(fetches_.extract(key).mapped().waiting);
  if (group.ok()) add(key.first, key.second, *group);
  for (Done& done : waiting) done(group);
}

void GateGroupCache::forget(const JobId& job) {
  const Key first{job, std::string()};
  while (true) {
    const auto found = entries_.lower_bound(first);
    if (found == entries_.end() || found->first.first != job) break;
    erase(Key(found->first));
  }
  while (true) {
    const auto found = fetches_.lower_bound(first);
    if (found == fetches_.end() || found->first.first != job) break;
    found->second.blob->cancel();
    fetches_.erase(found);
  }
}

}  // namespace freshet
