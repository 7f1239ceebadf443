#include "tests/models/restart_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "runtime/graph/pipelined_regions.h"

namespace freshet {

namespace {

/// The value of ` key=`; empty without one.
std::string value_of(std::string_view line, std::string_view key) {
  const std::string before = fmt::format(" {}=", key);
  const size_t at = line.find(before);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = line.substr(at + before.size());
  return std::string(rest.substr(0, rest.find(' ')));
}

bool is_event(std::string_view line, std::string_view event) {
  return line.find(fmt::format(" {} ", event)) != std::string_view::npos;
}

struct Attempt {
  SubtaskId subtask;
  uint32_t number = 0;
};

/// As `1/3#0`.
std::optional<Attempt> attempt_of(std::string_view line) {
  Attempt attempt;
  const int read =
      std::sscanf(value_of(line, "attempt").c_str(), "%u/%u#%u", &attempt.subtask.vertex.value,
                  &attempt.subtask.index, &attempt.number);
  return read == 3 ? std::optional(attempt) : std::nullopt;
}

uint32_t number_of(std::string_view line, std::string_view key) {
  return static_cast<uint32_t>(std::stoul(value_of(line, key)));
}

std::set<DatasetId> datasets_of(std::string_view line) {
  std::set<DatasetId> datasets;
  std::istringstream numbers(value_of(line, "datasets"));
  for (std::string number; std::getline(numbers, number, ',');)
    datasets.insert(DatasetId{static_cast<uint32_t>(std::stoul(number))});
  return datasets;
}

}  // namespace

RestartModel::RestartModel(std::string job, const JobGraph& graph)
    : job_(std::move(job)), edges_(graph.edges) {
  const PipelinedRegions regions(graph);
  members_.resize(regions.count());
  for (const JobVertex& vertex : graph.vertices) {
    first_of_vertex_.push_back(static_cast<uint32_t>(tasks_.size()));
    for (uint32_t i = 0; i < vertex.parallelism; i++) {
      Task task;
      task.name = {VertexId{static_cast<uint32_t>(first_of_vertex_.size() - 1)}, i};
      task.region = regions.region_of(static_cast<uint32_t>(tasks_.size()));
      members_[task.region].push_back(static_cast<uint32_t>(tasks_.size()));
      tasks_.push_back(std::move(task));
    }
  }
  for (const JobEdge& edge : edges_) {
    if (edge.exchange == Exchange::kPipelined || edge.feedback) continue;
    const uint32_t producers = graph.vertices[edge.producer.value].parallelism;
    const uint32_t consumers = graph.vertices[edge.consumer.value].parallelism;
    for (uint32_t c = 0; c < consumers; c++) {
      const IndexRange read =
          is_all_to_all(edge.partitioning)
              ? IndexRange{0, producers}
              : producers_of_consumer(edge.partitioning, c, producers, consumers);
      for (uint32_t p = read.begin; p < read.end; p++) {
        const uint32_t producer = first_of_vertex_[edge.producer.value] + p;
        const uint32_t consumer = first_of_vertex_[edge.consumer.value] + c;
        tasks_[producer].consumers.push_back({edge.id, consumer});
        tasks_[consumer].producers.push_back({edge.id, producer});
      }
    }
  }
}

void RestartModel::read(std::string_view line) {
  if (stops_) return;
  if (is_event(line, "task_manager_lost"))
    return on_task_manager_lost(value_of(line, "task_manager"));
  if (value_of(line, "job") != job_) return;
  if (is_event(line, "job_state_changed")) {
    read_job_state(value_of(line, "to"));
  } else if (is_event(line, "partitions_released")) {
    const uint32_t first = number_of(line, "first_producer");
    on_released(DatasetId{number_of(line, "dataset")},
                {first, first + number_of(line, "producers")});
  } else if (is_event(line, "job_restarts") && !expected_) {
    expect_restart(failed_, lost_);
  } else if (const std::optional<Attempt> attempt = attempt_of(line)) {
    const SubtaskId subtask = attempt->subtask;
    read_attempt(line, first_of_vertex_[subtask.vertex.value] + subtask.index, attempt->number);
  }
}

void RestartModel::read_job_state(const std::string& state) {
  publishes_ = publishes_ || state == "COMMITTING";
  if (state != "FAILING" && state != "CANCELLING" && state != "FINISHED") return;
  if (state == "FINISHED") compare();
  stops_ = true;
}

void RestartModel::read_attempt(std::string_view line, uint32_t index, uint32_t attempt) {
  if (is_event(line, "execution_state")) {
    on_state(index, attempt, value_of(line, "state"));
  } else if (is_event(line, "execution_deployed")) {
    on_deployed(tasks_[index], attempt, value_of(line, "task_manager"));
  } else if (is_event(line, "execution_failed")) {
    if (!seen_.empty()) compare();  // Another failure.
    failed_.insert(index);
  } else if (is_event(line, "output_lost")) {
    if (!seen_.empty()) compare();
    lost_.push_back(index);
  } else if (is_event(line, "input_read")) {
    tasks_[index].read.insert(DatasetId{number_of(line, "dataset")});
  } else if (is_event(line, "output_differs")) {
    on_output_differs(index, datasets_of(line));
  } else if (is_event(line, "execution_restarts")) {
    seen_.insert(tasks_[index].region);
  }
}

void RestartModel::on_state(uint32_t index, uint32_t attempt, const std::string& state) {
  Task& task = tasks_[index];
  if (state == "CREATED") {  // The next attempt.
    compare();
    if (!task.restarts || attempt != task.attempt + 1)
      problems_.push_back(to_string(task.name) + " gets a new attempt, and nothing asked for it");
    task.attempt = attempt;
    task.begun = task.ended = task.lost = task.restarts = false;
    task.released.clear();
    task.read.clear();
  } else if (state == "END_OF_DATA") {
    compare();
    task.ended = true;
  }
}

void RestartModel::on_deployed(Task& task, uint32_t attempt, const std::string& place) {
  compare();
  if (task.begun || attempt != task.attempt)
    problems_.push_back(fmt::format("{} is deployed as attempt {}, and has {}{}",
                                    to_string(task.name), attempt, task.attempt,
                                    task.begun ? " already" : ""));
  for (const Pair& pair : task.producers) {
    const Task& producer = tasks_[pair.other];
    if (producer.region == task.region) continue;
    const bool gone =
        producer.lost || producer.restarts || producer.released.contains(pair.dataset);
    if (!producer.ended || gone)
      problems_.push_back(to_string(task.name) + " runs before its inputs are complete");
  }
  task.begun = true;
  task.place = place;
}

void RestartModel::on_released(DatasetId dataset, IndexRange producers) {
  compare();
  const uint32_t first = first_of_vertex_[edges_.at(dataset.value).producer.value];
  for (uint32_t p = producers.begin; p < producers.end; p++) {
    Task& producer = tasks_[first + p];
    for (const Pair& pair : producer.consumers) {
      const Task& consumer = tasks_[pair.other];
      if (pair.dataset == dataset && (!consumer.ended || consumer.restarts))
        problems_.push_back(fmt::format("what {} made is released, and {} wants it",
                                        to_string(producer.name), to_string(consumer.name)));
    }
    producer.released.insert(dataset);
  }
}

void RestartModel::on_task_manager_lost(const std::string& place) {
  if (publishes_) return;  // All have their results in the ledger.
  compare();
  std::set<uint32_t> failed;
  std::vector<uint32_t> lost;
  for (uint32_t i = 0; i < tasks_.size(); i++) {
    const Task& task = tasks_[i];
    if (!task.begun || task.restarts || task.place != place) continue;
    if (has_ended(task.region)) {
      lost.push_back(i);
    } else {
      failed.insert(i);
    }
  }
  expect_restart(failed, lost);
}

/// All that have read what the attempt before made run again.
void RestartModel::on_output_differs(uint32_t index, const std::set<DatasetId>& differ) {
  compare();
  std::set<uint32_t> misled;
  for (const Pair& pair : tasks_[index].consumers) {
    const Task& consumer = tasks_[pair.other];
    const bool reads = differ.contains(pair.dataset) && consumer.begun && !consumer.restarts;
    if (reads && consumer.region != tasks_[index].region) misled.insert(pair.other);
  }
  expect_restart(misled, {});
}

bool RestartModel::has_begun(uint32_t region) const {
  return tasks_[members_[region].front()].begun;
}

bool RestartModel::has_ended(uint32_t region) const {
  return std::all_of(members_[region].begin(), members_[region].end(),
                     [&](uint32_t m) { return tasks_[m].ended && !tasks_[m].restarts; });
}

bool RestartModel::is_wanted(const Task& task) const {
  return std::any_of(task.consumers.begin(), task.consumers.end(),
                     [&](const Pair& pair) { return !has_read(pair); });
}

/// The consumer of a pair.
bool RestartModel::has_read(const Pair& pair) const {
  const Task& consumer = tasks_[pair.other];
  return !consumer.restarts && (consumer.ended || consumer.read.contains(pair.dataset));
}

void RestartModel::expect_restart(const std::set<uint32_t>& failed,
                                  const std::vector<uint32_t>& lost) {
  for (const uint32_t i : lost) tasks_[i].lost = true;
  std::set<uint32_t> regions;
  for (const uint32_t i : failed) regions.insert(tasks_[i].region);
  for (const uint32_t i : lost) {
    if (is_wanted(tasks_[i])) regions.insert(tasks_[i].region);
  }
  close(&regions);
  if (regions.empty()) return;
  expected_ = std::move(regions);
}

void RestartModel::close(std::set<uint32_t>* regions) const {
  for (size_t before = ~size_t{0}; before != regions->size();) {
    before = regions->size();
    for (const uint32_t region : std::set<uint32_t>(*regions)) {
      for (const uint32_t m : members_[region]) {
        for (const Pair& pair : tasks_[m].producers) {
          const Task& producer = tasks_[pair.other];
          if (producer.lost || producer.released.contains(pair.dataset))
            regions->insert(producer.region);
        }
        for (const Pair& pair : tasks_[m].consumers) {
          const uint32_t reader = tasks_[pair.other].region;
          if (has_begun(reader) && !has_read(pair)) regions->insert(reader);
        }
      }
    }
  }
}

/// When the lines of a round are over. What is to restart anyway may be named again.
void RestartModel::compare() {
  std::set<uint32_t> expected =
      std::exchange(expected_, std::nullopt).value_or(std::set<uint32_t>());
  const auto restarts = [&](uint32_t region) { return tasks_[members_[region].front()].restarts; };
  std::erase_if(expected, restarts);
  std::erase_if(seen_, restarts);
  if (seen_ != expected)
    problems_.push_back(fmt::format("run again: {}; must: {}", text_of(seen_), text_of(expected)));
  rounds_ += !seen_.empty();
  for (Task& task : tasks_) {
    const bool again = seen_.contains(task.region);
    const bool spared = !seen_.empty() && task.begun && !task.restarts && !again;
    spared_ += spared;
    readers_spared_ +=
        spared && !task.ended &&
        std::any_of(task.producers.begin(), task.producers.end(),
                    [&](const Pair& p) { return seen_.contains(tasks_[p.other].region); });
    if (!again) continue;
    restarted_++;
    task.restarts = true;
    task.lost = task.lost || task.ended;
  }
  seen_.clear();
  failed_.clear();
  lost_.clear();
}

std::string RestartModel::text_of(const std::set<uint32_t>& regions) const {
  std::vector<std::string> names;
  for (const uint32_t region : regions) {
    for (const uint32_t m : members_[region]) names.push_back(to_string(tasks_[m].name));
  }
  return fmt::format("{{{}}}", fmt::join(names, " "));
}

void RestartModel::end() {
  if (!stops_) compare();
}

bool RestartModel::finished() const {
  return std::all_of(tasks_.begin(), tasks_.end(),
                     [](const Task& task) { return task.ended && !task.restarts; });
}

}  // namespace freshet
