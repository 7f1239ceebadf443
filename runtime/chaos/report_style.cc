#include "runtime/chaos/report_style.h"

namespace freshet::chaos {

namespace {

constexpr std::string_view kStyle = R"css(
:root { color-scheme: light dark;
  --back: #f5f6f8; --card: #ffffff; --ink: #1b1f24; --soft: #5b6470; --rule: #dfe3e8;
  --grid: #e9ecf0; --down: #d9dde3; --area: #cfe8f7; --source: #56b4e9; --sink: #0072b2;
  --p50: #0072b2; --p95: #e69f00; --lmax: #b9bfc7; --good: #00664b; --bad: #b3400a;
  --open: #755800; --badtext: #b3400a;
  --ph0: #d55e00; --ph1: #e69f00; --ph2: #cc79a7; --ph3: #0072b2; --ph4: #56b4e9; --ph5: #8fd3bd; }
@media (prefers-color-scheme: dark) { :root {
  --back: #14171b; --card: #1d2126; --ink: #e8ebee; --soft: #9aa4b0; --rule: #343a42;
  --grid: #2b3138; --down: #3a414a; --area: #1c3a4d; --source: #56b4e9; --sink: #8ecbf2;
  --p50: #56b4e9; --p95: #e69f00; --lmax: #6b747f; --good: #00664b; --bad: #a83b08;
  --open: #6b5100; --badtext: #ff9a5c;
  --ph3: #2f8fd0; --ph5: #1f9d78; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial,
  sans-serif; }
main { max-width: 1160px; margin: 0 auto; padding: 24px 20px 48px; }
section, header { background: var(--card); border: 1px solid var(--rule); border-radius: 10px;
  padding: 18px 22px; margin: 0 0 18px; }
h1 { font-size: 40px; line-height: 1.1; margin: 0; letter-spacing: .01em; }
h2 { font-size: 19px; margin: 0 0 4px; }
h3 { font-size: 15px; margin: 18px 0 6px; }
p { margin: 6px 0; }
.soft { color: var(--soft); }
header { display: flex; gap: 22px; align-items: center; color: #fff; border: 0;
  padding: 24px 28px; }
header p { margin: 8px 0 0; font-size: 17px; }
header .sign { flex: none; width: 76px; height: 76px; border: 4px solid #fff; border-radius: 50%;
  display: grid; place-items: center; font-size: 44px; line-height: 1; font-weight: 700; }
.good { background: var(--good); } .bad { background: var(--bad);
  } .open { background: var(--open); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(160px, 1fr)); gap: 12px;
  margin: 0 0 18px; }
.card { background: var(--card); border: 1px solid var(--rule); border-radius: 10px;
  padding: 12px 16px; }
.card b { display: block; font-size: 25px; line-height: 1.25; font-variant-numeric: tabular-nums; }
.card span { color: var(--soft); font-size: 13px; display: block; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; font-size: 13px; margin: 8px 0 4px; }
.legend i { display: inline-block; width: 22px; height: 11px; border-radius: 2px;
  margin-right: 6px; }
.legend .lead { color: var(--soft); }
svg.plot { display: block; width: 100%; height: auto; margin: 6px 0 0; }
svg text { font-family: inherit; fill: var(--ink); font-size: 12px; }
svg .tick { fill: var(--soft); } svg .title { font-size: 13.5px; font-weight: 600; }
svg .row, svg .num { font-size: 12px; } svg .num { fill: var(--soft); }
svg .small { font-size: 9.5px; }
svg .label { font-size: 11px; font-weight: 600; } svg .badlabel { font-size: 11px;
  font-weight: 700; }
svg .badlabel, svg .badrow { fill: var(--badtext); } svg .badrow { font-weight: 600; }
svg .grid { stroke: var(--grid); } svg .axis { stroke: var(--soft); }
svg .faultline { stroke: var(--soft); stroke-opacity: .45; stroke-width: .8;
  stroke-dasharray: 2 3; }
svg .down { fill: var(--down); fill-opacity: .75; }
svg .area { fill: var(--area); } svg path.source, svg path.sink, svg path.p50, svg path.p95,
svg path.lmax { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
svg .source { stroke: var(--source); } svg .sink { stroke: var(--sink); }
svg line.source, svg line.sink, svg line.p50, svg line.p95, svg line.lmax { stroke-width: 3; }
svg .p50 { stroke: var(--p50); } svg .p95 { stroke: var(--p95); } svg .lmax { stroke: var(--lmax); }
svg .mark { fill: var(--ink); } svg .badmark { fill: var(--badtext); }
.ph0 { fill: var(--ph0); background: var(--ph0); } .ph1 { fill: var(--ph1);
  background: var(--ph1); }
.ph2 { fill: var(--ph2); background: var(--ph2); } .ph3 { fill: var(--ph3);
  background: var(--ph3); }
.ph4 { fill: var(--ph4); background: var(--ph4); } .ph5 { fill: var(--ph5);
  background: var(--ph5); }
.legend .down { background: var(--down); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 12.5px;
  font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 4px 7px; border-bottom: 1px solid var(--rule);
  vertical-align: top; }
th { color: var(--soft); font-weight: 600; vertical-align: bottom; }
td.text, th.text { text-align: left; }
td.text { min-width: 104px; overflow-wrap: anywhere; }
td.record { white-space: pre-wrap; font-family: ui-monospace, "DejaVu Sans Mono", monospace; }
 td.whole { white-space: nowrap; }
td.failed { color: var(--badtext); font-weight: 600; }
.bar { height: 7px; border-radius: 2px; background: var(--sink); min-width: 1px; margin-top: 3px; }
pre { background: var(--back); border: 1px solid var(--rule); border-radius: 6px;
  padding: 10px 12px;
  font: 12.5px/1.45 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; margin: 6px 0;
  white-space: pre-wrap; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 3px 18px; margin: 8px 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 640px) { h1 { font-size: 28px; } header .sign { width: 52px; height: 52px;
  font-size: 30px; } }
@media print { :root { color-scheme: light; --back: #fff; --card: #fff; --ink: #000; --soft: #444;
    --rule: #ccc; --grid: #e4e4e4; --down: #d9dde3; --area: #cfe8f7; --sink: #0072b2;
  --p50: #0072b2;
    --lmax: #b9bfc7; --badtext: #b3400a; --ph3: #0072b2; --ph5: #8fd3bd; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  main { max-width: none; padding: 0; } section, header, tr { break-inside: avoid; }
  section.long { break-inside: auto; } .wide { overflow: visible; } }
)css";

}  // namespace

std::string_view report_style() { return kStyle; }

}  // namespace freshet::chaos
