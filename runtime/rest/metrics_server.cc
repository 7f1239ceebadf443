#include "runtime/rest/metrics_server.h"

#include <fmt/format.h>

#include <utility>

#include "runtime/metrics/metric_catalog.h"
#include "runtime/metrics/prometheus_text.h"

namespace freshet::rest {

/// What the requests share.
class MetricsServer::Endpoint {
 public:
  Endpoint(const Options& options, std::shared_ptr<MetricRegistry> registry, const Clock& clock)
      : registry_(std::move(registry)),
        clock_(clock),
        own_(std::make_shared<MetricGroup>(options.scope, options.labels)) {
    const auto count = [scrapes = scrapes_] { return scrapes->count(); };
    own_->counter(kScrapes, count);
    own_->meter(kScrapesPerSecond, clock_.now(), count);
    own_->histogram(kScrapeTime, times_);
    registry_->add(own_);
  }

  Response handle(const Request& request) {
    if (request.path != "/metrics" && request.path != "/")
      return {404, "text/plain", "there is only /metrics\n"};
    if (request.method != "GET") return {405, "text/plain", "only GET\n"};
    const TimePoint begin = clock_.now();
    Response response{200, kPrometheusContentType, prometheus_text(registry_->read(begin))};
    scrapes_->add();
    times_->add(std::chrono::duration<double, std::milli>(clock_.now() - begin).count());
    return response;
  }

 private:
  const std::shared_ptr<MetricRegistry> registry_;
  const Clock& clock_;
  const std::shared_ptr<MetricCounter> scrapes_ = std::make_shared<MetricCounter>();
  const std::shared_ptr<Histogram> times_ = std::make_shared<Histogram>();
  const std::shared_ptr<MetricGroup> own_;
};

Result<std::unique_ptr<MetricsServer>> MetricsServer::start(
    const Options& options, std::shared_ptr<MetricRegistry> registry, const Clock& clock) {
  std::unique_ptr<MetricsServer> server(new MetricsServer());
  server->endpoint_ = std::make_shared<Endpoint>(options, std::move(registry), clock);
  const auto handler = [endpoint = server->endpoint_](const Request& request) {
    return endpoint->handle(request);
  };
  Status last;
  for (uint32_t port = options.ports.first; port <= options.ports.last; port++) {
    auto http =
        HttpServer::start({options.host, static_cast<uint16_t>(port)}, kThreadsMax, {handler});
    if (http.ok()) {
      server->http_ = std::move(http).value();
      return server;
    }
    last = http.status();
  }
  if (options.ports.first == options.ports.last) return last;
  return unavailable(fmt::format("cannot listen for HTTP at {}: none of the ports {} to {} is free",
                                 options.host, options.ports.first, options.ports.last));
}

}  // namespace freshet::rest
