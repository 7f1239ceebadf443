// The proxy of links between processes, with no fault: bytes per second and round trips of small
// messages, beside the same over a direct connection.

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/thread_executor.h"
#include "runtime/chaos/link_proxies.h"
#include "tests/bench/loopback_socket.h"
#include "tests/bench/median.h"

namespace freshet::bench {
namespace {

constexpr size_t kPieceBytes = 128 << 10;
constexpr size_t kMessageBytes = 64;

struct Load {
  uint64_t megabytes = 2000;
  uint32_t round_trips = 10'000;
};

struct Figures {
  double mb_per_s = 0;
  double round_trip_us = 0;
};

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

bool send_all(int socket, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t sent = send(socket, bytes, size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

/// How many came before the end.
uint64_t take(int socket, std::string& place, uint64_t size) {
  uint64_t taken = 0;
  while (taken < size) {
    const ssize_t received = recv(socket, place.data(), std::min(place.size(), size - taken), 0);
    if (received <= 0) break;
    taken += static_cast<uint64_t>(received);
  }
  return taken;
}

/// Answers each message, then takes the stream and says that it has it.
void serve(int listener, const Load& load) {
  const int socket = accept(listener, nullptr, nullptr);
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  std::string place(kPieceBytes, '\0');
  for (uint32_t i = 0; i < load.round_trips; ++i) {
    if (recv(socket, place.data(), kMessageBytes, MSG_WAITALL) !=
        static_cast<ssize_t>(kMessageBytes))
      break;
    if (!send_all(socket, place.data(), kMessageBytes)) break;
  }
  const uint64_t bytes = load.megabytes * 1'000'000;
  if (take(socket, place, bytes) == bytes) send_all(socket, "x", 1);
  close(socket);
}

Result<Figures> measure(int listener, const sockaddr_in& address, const Load& load,
                        const Clock& clock) {
  ThreadExecutor server("server", clock);
  server.post("serve", [&] { serve(listener, load); });
  const int socket = connect_without_delay(address);
  if (socket < 0) return system_error("connect");
  std::string piece(kPieceBytes, 'x');
  Figures figures;
  TimePoint begin = clock.now();
  for (uint32_t i = 0; i < load.round_trips; ++i) {
    if (!send_all(socket, piece.data(), kMessageBytes) ||
        recv(socket, piece.data(), kMessageBytes, MSG_WAITALL) <= 0)
      return system_error("a round trip");
  }
  figures.round_trip_us = seconds(clock.now() - begin) * 1e6 / load.round_trips;
  begin = clock.now();
  for (uint64_t left = load.megabytes * 1'000'000; left > 0;) {
    const size_t size = std::min<uint64_t>(left, piece.size());
    if (!send_all(socket, piece.data(), size)) return system_error("send");
    left -= size;
  }
  if (recv(socket, piece.data(), 1, 0) != 1) return system_error("the end");
  figures.mb_per_s = static_cast<double>(load.megabytes) / seconds(clock.now() - begin);
  close(socket);
  return figures;
}

Status run(const Load& load, uint32_t repeat) {
  const auto clock = make_system_clock();
  sockaddr_in direct{};
  ASSIGN_OR_RETURN(const int listener, listen_on_loopback(&direct));
  ASSIGN_OR_RETURN(const auto proxies, chaos::LinkProxies::start({}));
  ASSIGN_OR_RETURN(const Address proxy, proxies->add("jobmanager"));
  proxies->set_target("jobmanager", {"127.0.0.1", ntohs(direct.sin_port)});
  sockaddr_in through = direct;
  through.sin_port = htons(proxy.port);
  std::vector<double> rates, bare_rates, trips, bare_trips, ratios;
  for (uint32_t i = 0; i < repeat; ++i) {
    ASSIGN_OR_RETURN(const Figures bare, measure(listener, direct, load, *clock));
    ASSIGN_OR_RETURN(const Figures proxied, measure(listener, through, load, *clock));
    rates.push_back(proxied.mb_per_s);
    bare_rates.push_back(bare.mb_per_s);
    trips.push_back(proxied.round_trip_us);
    bare_trips.push_back(bare.round_trip_us);
    ratios.push_back(proxied.mb_per_s / bare.mb_per_s);
  }
  close(listener);
  fmt::print(
      "{{\"bench\":\"links\",\"mb_per_s\":{:.0f},\"baseline_mb_per_s\":{:.0f},\"ratio\":{:.2f},"
      "\"round_trip_us\":{:.1f},\"baseline_round_trip_us\":{:.1f}}}\n",
      median(rates), median(bare_rates), median(ratios), median(trips), median(bare_trips));
  return Status();
}

}  // namespace
}  // namespace freshet::bench

int main(int argc, char** argv) {
  CLI::App parser("Bytes and round trips through a proxy of links, and over a direct connection");
  freshet::bench::Load load;
  uint32_t repeat = 5;
  parser.add_option("--megabytes", load.megabytes, "Per run (default: 2000)");
  parser.add_option("--round-trips", load.round_trips, "Per run (default: 10000)");
  parser.add_option("--repeat", repeat, "Runs of each, in turns (default: 5)")
      ->check(CLI::PositiveNumber);
  CLI11_PARSE(parser, argc, argv);
  const freshet::Status status = freshet::bench::run(load, repeat);
  if (!status.ok()) fmt::print(stderr, "bench_links: {}\n", status.to_string());
  return status.ok() ? 0 : 1;
}
