#include "examples/orders/orders.h"
#include "runtime/api/job.h"
#include "runtime/connectors/file_sink.h"
#include "runtime/connectors/print_sink.h"
#include "runtime/connectors/text_files.h"

namespace {

using freshet::Collector;
using freshet::KeyedContext;
using orders::Customer;
using orders::Event;
using orders::Order;

/// Gives each order its customer. The two come in any order: orders wait as state until their
/// customer is known, and those that wait in vain are reported at the end.
class JoinCustomer : public freshet::KeyedProcessFunction<int64_t, Event, std::string> {
 public:
  void open(KeyedContext<int64_t>& context) override {
    customer_ = context.value_state<Customer>("customer");
    waiting_ = context.value_state<std::vector<Order>>("waiting");
  }

  void process(const Event& event, KeyedContext<int64_t>& /*context*/,
               Collector<std::string>& out) override {
    if (const auto* customer = std::get_if<Customer>(&event)) {
      customer_.update(*customer);
      for (const Order& order : waiting_.value_or({})) out.collect(describe(order, *customer));
      waiting_.clear();
      return;
    }
    const auto& order = std::get<Order>(event);
    if (const Customer* customer = customer_.get()) {
      out.collect(describe(order, *customer));
      return;
    }
    std::vector<Order> waiting = waiting_.value_or({});
    waiting.push_back(order);
    waiting_.update(std::move(waiting));
  }

  void on_end(KeyedContext<int64_t>& context, Collector<std::string>& out) override {
    for (const Order& order : waiting_.value_or({})) {
      out.collect("order " + std::to_string(order.id) + ": nobody is customer " +
                  std::to_string(context.key()));
    }
  }

 private:
  freshet::ValueState<Customer> customer_;
  freshet::ValueState<std::vector<Order>> waiting_;
};

freshet::DataStream<std::string> read_lines(freshet::Environment& env, const std::string& option) {
  const auto files = env.arguments().list(option, "files of " + option + ", one per line");
  return env.from_source(freshet::text_files(env.paths(files)), option);
}

}  // namespace

/// One line for every order, with the name and country of its customer.
FRESHET_JOB(orders) {
  const auto customers =
      read_lines(env, "customers")
          .map([](const std::string& line) -> Event { return orders::parse_customer(line); })
          .name("parse customers");
  const auto orders_placed =
      read_lines(env, "orders")
          .map([](const std::string& line) -> Event { return orders::parse_order(line); })
          .name("parse orders");
  const std::string output = env.arguments().text_or(
      "output", "", "directory to make for the results; without it they are printed");
  if (output.empty() && env.arguments().given("output")) {
    env.arguments().refuse("--output needs the name of a directory");
  }

  customers.union_with(orders_placed)
      .key_by(orders::customer_id)
      .process(JoinCustomer())
      .name("join")
      .uid("join")
      .sink_to(output.empty() ? freshet::print_sink<std::string>()
                              : freshet::file_sink<std::string>(env.path(output)));
}
