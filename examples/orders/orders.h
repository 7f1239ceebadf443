#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/api/job.h"

namespace orders {

// Aggregates need no code to travel between tasks or to be kept as state. These two name their
// fields as well: then old state is refused, not misread, when two numbers change places.

struct Customer {
  int64_t id = 0;
  std::string name;
  std::string country;
};
FRESHET_FIELDS(Customer, id, name, country);

struct Order {
  int64_t id = 0;
  int64_t customer_id = 0;
  std::string item;
  int64_t quantity = 0;
  int64_t price_cents = 0;
};
FRESHET_FIELDS(Order, id, customer_id, item, quantity, price_cents);

/// What one key, a customer's number, gets to see.
using Event = std::variant<Customer, Order>;

int64_t customer_id(const Event& event);

/// `id,name,country`. Throws std::invalid_argument with the line when it is no such thing.
Customer parse_customer(const std::string& line);

/// `id,customer,item,quantity,price`, the price with two decimals. Throws likewise.
Order parse_order(const std::string& line);

/// `order 4: 2 x teapot for Ada Lovelace (UK), 39.98`.
std::string describe(const Order& order, const Customer& customer);

}  // namespace orders
