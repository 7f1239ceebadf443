#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/time.h"
#include "runtime/chaos/link_proxies.h"
#include "tests/unit/chaos/loopback.h"

namespace freshet::chaos {

/// Proxies before `jobmanager` and `taskmanager-2`; clients say who they are by their port.
class LinkProxiesTest : public ::testing::Test {
 protected:
  LinkProxiesTest() {
    LinkProxies::Options options;
    options.name_of = [this](const ConnectionEnds& ends) {
      const std::lock_guard lock(mutex_);
      EXPECT_TRUE(ends.remote == addresses_["jobmanager"] ||
                  ends.remote == addresses_["taskmanager-2"]);
      return names_[ends.local.port];
    };
    start(options);
  }

  void start(const LinkProxies::Options& options) {
    proxies_ = LinkProxies::start(options).value();
    for (const std::string name : {"jobmanager", "taskmanager-2"}) {
      const Address address = proxies_->add(name).value();
      const std::lock_guard lock(mutex_);
      addresses_[name] = address;
    }
    proxies_->set_target("jobmanager", job_manager_.address());
    proxies_->set_target("taskmanager-2", task_manager_2_.address());
  }

  Stream connect(const std::string& from, const std::string& to = "jobmanager") {
    Stream stream;
    {
      const std::lock_guard lock(mutex_);
      names_[stream.address().port] = from;
    }
    EXPECT_TRUE(stream.connect(addresses_[to]));
    return stream;
  }

  /// Both ends of a connection from taskmanager-1 that works.
  std::pair<Stream, Stream> connected(const std::string& from = "taskmanager-1",
                                      const std::string& to = "jobmanager") {
    Stream client = connect(from, to);
    Stream server = (to == "jobmanager" ? job_manager_ : task_manager_2_).accept();
    expect_works(client, server);
    return {std::move(client), std::move(server)};
  }

  static void expect_works(Stream& client, Stream& server) {
    EXPECT_TRUE(client.say("ping"));
    EXPECT_EQ(server.hear(4), "ping");
    EXPECT_TRUE(server.say("pong"));
    EXPECT_EQ(client.hear(4), "pong");
  }

  static Fault fault(FaultKind kind, const std::string& link = "taskmanager-1 <-> jobmanager") {
    Fault result;
    result.kind = kind;
    result.link = parse_link_name(link).value();
    return result;
  }

  LinkCounters counters(const std::string& from, const std::string& to) {
    for (const LinkCounters& one : proxies_->counters()) {
      if (one.from == from && one.to == to) return one;
    }
    return {};
  }

  std::mutex mutex_;
  std::map<uint16_t, std::string> names_;
  std::map<std::string, Address> addresses_;
  Server job_manager_;
  Server task_manager_2_;
  std::unique_ptr<LinkProxies> proxies_;
};

}  // namespace freshet::chaos
