#include "shuffle/gate_channel.h"

#include <fmt/format.h>

#include <algorithm>

#include "network/frame.h"
#include "runtime/base/check.h"

namespace freshet {

namespace {

constexpr size_t kKeptBytesMax = 64u << 10;  // Of memory for the next element that is put together.

}  // namespace

bool GateChannel::fail(std::string why) {
  status_ =
      data_loss(fmt::format("channel from producer {} at element {}: {}", producer_, taken_, why));
  return false;
}

bool GateChannel::prepare() {
  while (status_.ok()) {
    if (parsed_ || assembled_) return true;
    if (!started_) {
      if (queue_.empty()) return false;
      if (!start_next_buffer()) return false;
      continue;
    }
    if (current().event) return true;
    if (at_ == current().size) {
      if (!finish_buffer()) return false;
      continue;
    }
    if (parse_next()) return true;
    if (status_.ok() && !begin_element()) return false;
  }
  return false;
}

bool GateChannel::start_next_buffer() {
  started_ = true;
  at_ = 0;
  elements_seen_ = 0;
  if (current().event) return start_event();
  layout_ = {shared_.fixed_record_size, (current().flags & kFrameHasTimestamps) != 0};
  if (assembling_ != ((current().flags & kFrameStartsWithTail) != 0)) {
    return fail("an element that goes on where none was begun, or does not go on");
  }
  if (assembling_ && !continue_element()) return false;
  return !shared_.hash || verify_hash();
}

bool GateChannel::start_event() {
  if (assembling_) return fail("an event inside an element");
  if (!shared_.hash) return true;
  const std::string_view bytes = current().bytes();
  const auto kind = static_cast<ElementKind>(bytes[0]);
  if (kind != ElementKind::kBarrier) {
    verified_hash_ = rolling_hash(verified_hash_, kind, kNoTimestamp, bytes.substr(1));
  }
  return check_hash();
}

bool GateChannel::check_hash() {
  const bool same = static_cast<uint32_t>(verified_hash_) == current().hash ||
                    (shared_.may_lack_hash && current().hash == 0);
  return same || fail("the hash of its elements differs");
}

bool GateChannel::continue_element() {
  const std::string_view bytes = current().bytes();
  while (!heap_header_known_ && at_ < bytes.size()) {
    heap_.push_back(bytes[at_++]);
    const ParseResult result = parse_record_header(heap_layout_, heap_, &heap_record_);
    if (result == ParseResult::kInvalid) return fail("a record with an impossible length");
    heap_header_known_ = result == ParseResult::kComplete;
  }
  if (!heap_header_known_) return true;
  const uint64_t whole = heap_record_.header_bytes + heap_record_.payload_bytes;
  const size_t part = std::min<uint64_t>(whole - heap_.size(), bytes.size() - at_);
  heap_.append(bytes.substr(at_, part));
  at_ += part;
  assembled_ = heap_.size() == whole;
  return true;
}

bool GateChannel::parse_next() {
  const std::string_view rest = current().bytes().substr(at_);
  const ParseResult result = parse_record_header(layout_, rest, &next_);
  if (result == ParseResult::kInvalid) return fail("a record with an impossible length");
  parsed_ =
      result == ParseResult::kComplete && next_.payload_bytes <= rest.size() - next_.header_bytes;
  return parsed_;
}

bool GateChannel::begin_element() {
  if ((current().flags & kFrameEndsIncomplete) == 0) return fail("a record that is cut off");
  ++elements_seen_;
  assembling_ = true;
  heap_.assign(current().bytes().substr(at_));
  heap_layout_ = layout_;
  heap_header_known_ =
      parse_record_header(heap_layout_, heap_, &heap_record_) == ParseResult::kComplete;
  at_ = current().size;
  return true;
}

bool GateChannel::verify_hash() {
  uint64_t hash = verified_hash_;
  if (assembled_) {
    hash = rolling_hash(hash, ElementKind::kRecord, heap_record_.timestamp,
                        std::string_view(heap_).substr(heap_record_.header_bytes));
  }
  std::string_view rest = current().bytes().substr(at_);
  RecordView record;
  while (!rest.empty() && parse_record_header(layout_, rest, &record) == ParseResult::kComplete &&
         record.payload_bytes <= rest.size() - record.header_bytes) {
    hash = rolling_hash(hash, ElementKind::kRecord, record.timestamp,
                        rest.substr(record.header_bytes, record.payload_bytes));
    rest.remove_prefix(record.header_bytes + record.payload_bytes);
  }
  verified_hash_ = hash;
  return check_hash();
}

bool GateChannel::finish_buffer() {
  if (elements_seen_ != current().elements_started) {
    return fail(fmt::format("{} elements where {} were announced", elements_seen_,
                            current().elements_started));
  }
  if (((current().flags & kFrameEndsIncomplete) != 0) != (assembling_ && !assembled_)) {
    return fail("an element that ends where it should go on");
  }
  shared_.freed_bytes += current().charge();
  drop_current();
  return true;
}

void GateChannel::drop_current() {
  Buffer done = queue_.pop();
  note_gone(done);
  if (shared_.viewed == this) {
    shared_.kept_blocks.push_back(std::move(done.block));
    shared_.viewed = nullptr;
  }
  started_ = false;
}

void GateChannel::move_to(std::shared_ptr<const GateInbox::Source> source) {
  discard();
  source_ = std::move(source);
  verified_hash_ = taken_hash_;
  status_ = Status();
}

void GateChannel::discard() {
  if (started_) drop_current();
  for (const Buffer& dropped : queue_.take_all()) note_gone(dropped);
  parsed_ = false;
  assembling_ = false;
  assembled_ = false;
  heap_.clear();
}

void GateChannel::count(ElementKind kind, EpochMillis timestamp, std::string_view payload) {
  if (kind == ElementKind::kBarrier) return;
  ++taken_;
  if (shared_.hash) taken_hash_ = rolling_hash(taken_hash_, kind, timestamp, payload);
  if (kind != ElementKind::kRecord) return;
  ++shared_.records;
}

std::optional<RecordRun> GateChannel::begin_run(uint32_t records_max, const bool* stop) {
  if (!parsed_) return std::nullopt;
  return RecordRun(layout_, current().bytes().substr(at_), records_max, stop);
}

void GateChannel::end_run(const RecordRun& run) {
  if (run.records() == 0) return;
  count_run(run);
  at_ += run.bytes();
  elements_seen_ += run.records();
  parsed_ = false;
  shared_.viewed = this;
  if (at_ == current().size) (void)finish_buffer();  // A failure is seen by the next prepare().
}

void GateChannel::count_run(const RecordRun& run) {
  taken_ += run.records();
  shared_.records += run.records();
  shared_.bytes += run.bytes();
  if (!shared_.hash) return;
  const bool stop = false;
  RecordRun again(layout_, current().bytes().substr(at_, run.bytes()), run.records(), &stop);
  std::string_view payload;
  EpochMillis timestamp = kNoTimestamp;
  while (again.next(&payload, &timestamp))
    taken_hash_ = rolling_hash(taken_hash_, ElementKind::kRecord, timestamp, payload);
}

Element GateChannel::take() {
  if (assembled_) return take_assembled();
  if (!parsed_) return take_event();
  const std::string_view payload =
      current().bytes().substr(at_ + next_.header_bytes, next_.payload_bytes);
  const Element element{ElementKind::kRecord, producer_, next_.timestamp, payload};
  at_ += next_.header_bytes + next_.payload_bytes;
  ++elements_seen_;
  parsed_ = false;
  count(ElementKind::kRecord, next_.timestamp, payload);
  shared_.bytes += next_.header_bytes + next_.payload_bytes;
  shared_.viewed = this;
  if (at_ == current().size) (void)finish_buffer();  // A failure is seen by the next prepare().
  return element;
}

Element GateChannel::take_assembled() {
  shared_.kept_bytes.swap(heap_);
  heap_.clear();
  if (heap_.capacity() > kKeptBytesMax) heap_ = std::string();
  assembling_ = false;
  assembled_ = false;
  const std::string_view payload =
      std::string_view(shared_.kept_bytes).substr(heap_record_.header_bytes);
  count(ElementKind::kRecord, heap_record_.timestamp, payload);
  shared_.bytes += heap_record_.header_bytes + heap_record_.payload_bytes;
  return Element{ElementKind::kRecord, producer_, heap_record_.timestamp, payload};
}

Element GateChannel::take_event() {
  CHECK(started_ && current().event);
  const std::string_view bytes = current().bytes();
  const auto kind = static_cast<ElementKind>(bytes[0]);
  const std::string_view fields = bytes.substr(1);
  count(kind, kNoTimestamp, fields);
  elements_seen_ = current().elements_started;
  shared_.viewed = this;
  (void)finish_buffer();
  return Element{kind, producer_, kNoTimestamp, fields};
}

}  // namespace freshet
