#include "examples/orders/orders.h"

#include <charconv>
#include <stdexcept>

namespace orders {

namespace {

std::vector<std::string> fields_of(const std::string& line, size_t count, const char* form) {
  std::vector<std::string> fields;
  size_t begin = 0;
  while (true) {
    const size_t comma = line.find(',', begin);
    fields.push_back(line.substr(begin, comma - begin));
    if (comma == line.npos) break;
    begin = comma + 1;
  }
  if (fields.size() != count) {
    throw std::invalid_argument("the line '" + line + "' has not the form " + form);
  }
  return fields;
}

int64_t number(const std::string& text, const std::string& line) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end) {
    throw std::invalid_argument("'" + text + "' in the line '" + line + "' is no whole number");
  }
  return value;
}

int64_t cents(const std::string& text, const std::string& line) {
  if (text.size() < 4 || text[text.size() - 3] != '.') {
    throw std::invalid_argument("'" + text + "' in the line '" + line + "' is no price like 9.99");
  }
  return number(text.substr(0, text.size() - 3) + text.substr(text.size() - 2), line);
}

std::string with_decimals(int64_t cents) {
  const std::string fraction = std::to_string(cents % 100);
  return std::to_string(cents / 100) + "." + (fraction.size() == 1 ? "0" : "") + fraction;
}

}  // namespace

int64_t customer_id(const Event& event) {
  if (const auto* customer = std::get_if<Customer>(&event)) return customer->id;
  return std::get<Order>(event).customer_id;
}

Customer parse_customer(const std::string& line) {
  auto fields = fields_of(line, 3, "id,name,country");
  return {number(fields[0], line), std::move(fields[1]), std::move(fields[2])};
}

Order parse_order(const std::string& line) {
  auto fields = fields_of(line, 5, "id,customer,item,quantity,price");
  return {number(fields[0], line), number(fields[1], line), std::move(fields[2]),
          number(fields[3], line), cents(fields[4], line)};
}

std::string describe(const Order& order, const Customer& customer) {
  return "order " + std::to_string(order.id) + ": " + std::to_string(order.quantity) + " x " +
         order.item + " for " + customer.name + " (" + customer.country + "), " +
         with_decimals(order.quantity * order.price_cents);
}

}  // namespace orders
