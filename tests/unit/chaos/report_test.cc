#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "runtime/base/file_system.h"
#include "runtime/chaos/html_report.h"
#include "runtime/chaos/json_report.h"
#include "runtime/chaos/report_text.h"
#include "runtime/chaos/run_plot.h"

// The expected reports are in testdata; `chaos_test --rewrite` writes them anew.

namespace freshet::chaos {

bool g_rewrite = false;

namespace {

using ::testing::HasSubstr;
using ::testing::Not;

FaultRecord recovered() {
  FaultRecord fault;
  fault.number = 1;
  fault.kind = "kill";
  fault.target = "taskmanager-2";
  fault.text = "kill taskmanager-2";
  fault.planned = 2000;
  fault.fired = 2003;
  fault.job_state = "RUNNING";
  fault.end = FaultEnd::kRecovered;
  fault.times = {4, 9, 40, 95, 150, 700};
  fault.tasks_restarted = 3;
  fault.records_reprocessed = 12'345;
  fault.restarted = {"1/0#1", "1/1#1", "2/0#1"};
  return fault;
}

RunRecord region_run() {
  RunRecord run;
  run.strategy = "region";
  run.job_state = "FINISHED";
  run.length = 5000;
  run.reference_length = 4000;
  run.tasks = 5;
  run.restarts = 1;
  run.scheduled = true;
  for (int64_t at = 500; at <= 5000; at += 500) {
    SeriesPoint point;
    point.at = at;
    point.source_per_second = at == 2500 ? 0 : 1000;
    point.sink_per_second = at == 2500 ? 0 : 900;
    point.source_records = static_cast<uint64_t>(at);
    point.sink_records = static_cast<uint64_t>(at) / 2;
    point.tasks_running = 5;
    if (at != 2500) point.latency = SeriesPoint::Latency{2, 5.5, 9};
    run.series.push_back(point);
  }
  FaultRecord pause = recovered();
  pause.number = 2;
  pause.kind = "pause";
  pause.text = "pause taskmanager-1 for 200 ms";
  pause.fired = 4000;
  pause.lifted = 4200;
  pause.end = FaultEnd::kHarmless;
  pause.times = {};
  pause.tasks_restarted = 0;
  pause.restarted.clear();
  run.faults = {recovered(), pause};
  run.restarted = {{2007, 2098, 3, "unavailable: its process ended: signal 9 (Killed)"}};
  run.verdict = {true, true, 4500, 4500, 0, 0, 0, 0, "compared with an undisturbed run", "", {}};
  return run;
}

ChaosRecord record_of(std::vector<RunRecord> runs) {
  ChaosRecord record;
  record.command = "freshet chaos --seed 1 --kill taskmanager wordcount.so -- --input 'a<b>.txt'";
  record.seed = 1;
  record.plan = "faults:\n  - kill: taskmanager\n    at: 2s\n";
  record.job = "word count";
  record.module = "wordcount.so";
  record.mode = "streaming";
  record.arguments = {"--input", "a<b>.txt"};
  record.parallelism = 2;
  record.task_managers = 2;
  record.slots = 1;
  record.settings = {"heartbeat.interval: 100 ms"};
  record.version = "1.0";
  record.started = "2026-11-30 23:40:12";
  for (const RunRecord& run : runs) record.exit_code = std::max(record.exit_code, run.exit_code);
  record.runs = std::move(runs);
  return record;
}

RunRecord wrong_run() {
  RunRecord run = region_run();
  run.strategy = "full";
  run.exit_code = 1;
  run.scheduled = false;
  run.verdict = {true, false, 4500, 4499, 2, 1, 0, 0, "compared with an undisturbed run", "", {}};
  run.verdict.examples = {{"lost", "<script>\t1", ""}, {"doubled", "b\xff\t2", ""}};
  run.problem = "2 records are lost.";
  FaultRecord& unfired = run.faults[1];
  unfired.fired.reset();
  unfired.lifted.reset();
  unfired.end = FaultEnd::kNotFired;
  unfired.why = "the job had ended";
  return run;
}

void compare(const std::string& name, const std::string& now) {
  const auto files = make_local_file_system();
  const std::string path = std::string(FRESHET_TEST_DATA) + "/" + name;
  if (g_rewrite) {
    ASSERT_TRUE(files->write_atomically(path, now).ok());
    return;
  }
  const auto recorded = files->read_all(path, 10 << 20);
  ASSERT_TRUE(recorded.ok()) << recorded.status().to_string();
  EXPECT_EQ(now, *recorded) << "run chaos_test --rewrite and review the difference";
}

TEST(ReportTest, IsWrittenAsRecorded) {
  compare("exact.html", html_report(record_of({region_run()})));
  compare("exact.json", json_report(record_of({region_run()})));
  compare("compared.html", html_report(record_of({region_run(), wrong_run()})));
  compare("compared.json", json_report(record_of({region_run(), wrong_run()})));
}

TEST(ReportTest, SaysWhatCameOfIt) {
  EXPECT_THAT(html_report(record_of({region_run()})), HasSubstr("<h1>EXACTLY ONCE</h1>"));
  EXPECT_THAT(html_report(record_of({region_run(), wrong_run()})),
              HasSubstr("<h1>2 RECORDS LOST, 1 DOUBLED</h1>"));
  RunRecord early = region_run();
  early.exit_code = 2;
  early.problem = "The job ended too early.";
  EXPECT_THAT(html_report(record_of({early})), HasSubstr("<h1>NOT PROVEN</h1>"));
  early.exit_code = 1;
  EXPECT_THAT(html_report(record_of({early})), HasSubstr("<h1>FAILED</h1>"));
  ChaosRecord stopped = record_of({early});
  stopped.interrupted = true;
  EXPECT_THAT(html_report(stopped), HasSubstr("<h1>INTERRUPTED</h1>"));
  EXPECT_THAT(html_report(record_of({})), HasSubstr("<h1>NOTHING RUN</h1>"));
  RunRecord unknown = region_run();
  unknown.verdict = {};
  EXPECT_THAT(html_report(record_of({unknown})), Not(HasSubstr("EXACTLY ONCE")));
}

TEST(ReportTest, NothingOfTheJobIsObeyed) {
  const std::string page = html_report(record_of({wrong_run()}));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;"));
  EXPECT_THAT(page, HasSubstr("b\xEF\xBF\xBD\t2"));
}

TEST(ReportTest, NeedsNothingElse) {
  const std::string page = html_report(record_of({region_run(), wrong_run()}));
  for (const char* other : {"http", "src=", "url(", "@import", "<link"})
    EXPECT_THAT(page, Not(HasSubstr(other)));
}

TEST(ReportTest, JsonIsJson) {
  const auto json = nlohmann::json::parse(json_report(record_of({region_run(), wrong_run()})));
  EXPECT_EQ(json["runs"][0]["faults"][0]["phases_ms"]["caught_up"], 700);
  EXPECT_TRUE(json["runs"][0]["faults"][1]["phases_ms"]["detect"].is_null());
  EXPECT_EQ(json["runs"][1]["verdict"]["lost"], 2);
}

TEST(ReportTest, ManyFaultsHaveRoom) {
  RunRecord run = region_run();
  run.length = 200'000;
  run.faults.clear();
  for (uint32_t i = 1; i <= 400; i++) {
    FaultRecord fault = recovered();
    fault.number = i;
    fault.fired = i * 450;
    run.faults.push_back(fault);
  }
  EXPECT_THAT(recovery_plot(run), HasSubstr("and 250 more faults"));
  const std::string plot = run_plot(run);
  EXPECT_THAT(plot, HasSubstr(">1</text>"));
  EXPECT_THAT(plot, Not(HasSubstr(">2</text>")));  // Its mark is there, and no room for the number.
}

TEST(ReportTextTest, NumbersAreReadable) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1'234'567), "1,234,567");
  EXPECT_EQ(short_number(950), "950");
  EXPECT_EQ(short_number(999.6), "1k");
  EXPECT_EQ(short_number(12'345), "12.3k");
  EXPECT_EQ(short_number(4'500'000), "4.5M");
  EXPECT_EQ(readable_millis(4), "4 ms");
  EXPECT_EQ(readable_millis(5.5), "5.5 ms");
  EXPECT_EQ(readable_millis(1240), "1.24 s");
  EXPECT_EQ(readable_millis(10'000), "10 s");
  EXPECT_EQ(readable_millis(123'000), "2 min 3 s");
  EXPECT_EQ(counted(1, "fault"), "1 fault");
  EXPECT_EQ(counted(0, "fault"), "0 faults");
}

TEST(ReportTextTest, TicksAreRound) {
  EXPECT_THAT(round_ticks(100, 4), ::testing::ElementsAre(0, 50, 100));
  EXPECT_THAT(round_ticks(0, 4).size(), ::testing::Ge(2u));
  EXPECT_GE(round_ticks(173'000, 4).back(), 173'000);
  EXPECT_LE(round_ticks(173'000, 4).size(), 6u);
}

TEST(ReportTextTest, WhatIsNoTextIsReplaced) {
  EXPECT_EQ(escaped("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(escaped("ü…"), "ü…");
  EXPECT_EQ(escaped("\x01\xC3"), "\xEF\xBF\xBD\xEF\xBF\xBD");
}

}  // namespace
}  // namespace freshet::chaos

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; i++) {
    if (std::strcmp(argv[i], "--rewrite") == 0) freshet::chaos::g_rewrite = true;
  }
  return RUN_ALL_TESTS();
}
