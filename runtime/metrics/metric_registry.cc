#include "runtime/metrics/metric_registry.h"

#include <utility>

namespace freshet {

void MetricRegistry::add(const std::weak_ptr<MetricSource>& source) {
  MutexLock lock(mutex_);
  // Those that are gone are forgotten when nobody reads, too.
  if (sources_.size() == sources_.capacity())
    std::erase_if(sources_, [](const auto& one) { return one.expired(); });
  sources_.push_back(source);
}

std::vector<MetricGroupReading> MetricRegistry::read(TimePoint now) {
  std::vector<std::shared_ptr<MetricSource>> sources;
  {
    MutexLock lock(mutex_);
    std::erase_if(sources_, [](const auto& one) { return one.expired(); });
    for (const auto& one : sources_) {
      if (auto source = one.lock()) sources.push_back(std::move(source));
    }
  }
  std::vector<MetricGroupReading> groups;
  for (const auto& source : sources) source->read(now, &groups);
  return groups;
}

void MetricGroup::counter(const MetricInfo& info, std::function<uint64_t()> read) {
  MutexLock lock(mutex_);
  entries_.push_back(
      {info, [read = std::move(read)](TimePoint) { return static_cast<double>(read()); }, nullptr});
}

void MetricGroup::gauge(const MetricInfo& info, std::function<double()> read) {
  MutexLock lock(mutex_);
  entries_.push_back({info, [read = std::move(read)](TimePoint) { return read(); }, nullptr});
}

void MetricGroup::meter(const MetricInfo& info, TimePoint now, std::function<uint64_t()> read) {
  auto rate = [window = RateWindow<1>(now), first = read(), read](TimePoint at) mutable {
    return window.read(at, {read() - first})[0];
  };
  MutexLock lock(mutex_);
  entries_.push_back({info, std::move(rate), nullptr});
}

void MetricGroup::histogram(const MetricInfo& info, std::shared_ptr<const Histogram> histogram) {
  MutexLock lock(mutex_);
  entries_.push_back({info, nullptr, std::move(histogram)});
}

void MetricGroup::read(TimePoint now, std::vector<MetricGroupReading>* groups) {
  MetricGroupReading group{scope_, labels_, {}};
  {
    MutexLock lock(mutex_);
    for (Entry& entry : entries_) {
      MetricReading reading{std::string(entry.info.name), entry.info.kind, 0, std::nullopt,
                            std::string(entry.info.meaning)};
      if (entry.histogram) {
        reading.histogram = entry.histogram->summary();
        reading.value = static_cast<double>(reading.histogram->count);
      } else {
        reading.value = entry.read(now);
      }
      group.metrics.push_back(std::move(reading));
    }
  }
  groups->push_back(std::move(group));
}

}  // namespace freshet
