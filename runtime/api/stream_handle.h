#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/api/graph_builder.h"
#include "runtime/api/usage_error.h"
#include "runtime/graph/buffer_timeout.h"

namespace freshet {

/// The settings of the operator that a stream comes from. Each function returns the stream itself.
/// Throws UsageError behind a union or a change of partitioning, where there is no operator to set.
template <class Derived>
class StreamHandle {
 public:
  StreamHandle(GraphBuilder& builder, std::vector<StreamEnd> ends)
      : builder_(&builder), ends_(std::move(ends)) {}

  /// Shown to people.
  Derived& name(std::string name) { return set(&GraphBuilder::set_name, std::move(name)); }
  /// Names the operator's state over all versions of the job; unique in the job.
  Derived& uid(std::string uid) { return set(&GraphBuilder::set_uid, std::move(uid)); }
  Derived& set_parallelism(uint32_t parallelism) {
    return set(&GraphBuilder::set_parallelism, parallelism);
  }
  Derived& set_max_parallelism(uint32_t max_parallelism) {
    return set(&GraphBuilder::set_max_parallelism, max_parallelism);
  }
  /// Operators of different groups are not chained and never share a slot: a job needs the sum over
  /// its groups of the largest parallelism in each. Without a group an operator has that of its
  /// inputs when they agree, else "default".
  Derived& slot_sharing_group(std::string group) {
    return set(&GraphBuilder::set_slot_sharing_group, std::move(group));
  }
  /// Not chained with what comes before it; what comes behind may be.
  Derived& start_new_chain() { return set(&GraphBuilder::set_chaining, Chaining::kHead); }
  /// Chained neither with what comes before it nor with what comes behind.
  Derived& disable_chaining() { return set(&GraphBuilder::set_chaining, Chaining::kNever); }
  /// Its function may block: sleep, or wait for a service. Then its tasks get a thread each, and
  /// hold up nobody else; all other tasks of a TaskManager share its workers. Not chained with
  /// those that do not block.
  Derived& set_blocking() { return set(&GraphBuilder::set_blocking, true); }
  /// How long a record may wait for others in the operator's output, up to 24 h; 0: each is sent at
  /// once; kNoBufferTimeout: until a buffer is full. Inside a chain nothing waits.
  Derived& set_buffer_timeout(Duration timeout) {
    return set(&GraphBuilder::set_buffer_timeout, timeout);
  }

 protected:
  GraphBuilder& builder() const { return *builder_; }
  const std::vector<StreamEnd>& ends() const { return ends_; }

  std::vector<StreamEnd> ends_with(Partitioning partitioning,
                                   const std::shared_ptr<const EdgeType>& type = nullptr) const {
    std::vector<StreamEnd> ends = ends_;
    for (StreamEnd& end : ends) {
      end.partitioning = partitioning;
      end.type = type;
    }
    return ends;
  }

  std::vector<StreamEnd> ends_with(Exchange exchange) const {
    std::vector<StreamEnd> ends = ends_;
    for (StreamEnd& end : ends) end.exchange = exchange;
    return ends;
  }

  void append_ends(std::vector<StreamEnd>& to, const StreamHandle& other) const {
    if (other.builder_ != builder_) throw UsageError("streams of different jobs cannot be joined");
    to.insert(to.end(), other.ends_.begin(), other.ends_.end());
  }

 private:
  template <class Value, class Argument>
  Derived& set(void (GraphBuilder::*setter)(uint32_t, Value), Argument&& value) {
    if (ends_.size() != 1 || ends_.front().partitioning) {
      throw UsageError(
          "a name, uid or other setting must directly follow its operator, not a union or a "
          "change of partitioning");
    }
    (builder_->*setter)(ends_.front().from, std::forward<Argument>(value));
    return static_cast<Derived&>(*this);
  }

  GraphBuilder* builder_;
  std::vector<StreamEnd> ends_;
};

}  // namespace freshet
