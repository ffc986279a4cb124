// The style sheet of the page of a result. Colours are those of the report's page
// (web/src/styles/base.css); text on its ground is 4.5:1 or more in both themes.
#pragma once

#include <string_view>

namespace genscope::bench::page {

inline constexpr std::string_view kStyle = R"css(
:root{color-scheme:light;--back:#f4f6f8;--card:#fff;--line:#dfe4ea;--text:#18202b;--soft:#56616f;
--a:#4584ca;--b:#d9772b;--good:#1d7251;--bad:#b3261e;--warn:#8a5300;--accent:#1f5fae;
font:14px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;font-variant-numeric:tabular-nums}
@media(prefers-color-scheme:dark){:root{color-scheme:dark;--back:#10141a;--card:#171c24;--line:#2a323d;--text:#e4e9f0;
--soft:#9aa6b5;--a:#649cf1;--b:#e8954e;--good:#58c49a;--bad:#ff8a80;--warn:#f0b95a;--accent:#7ab0f0}}
*{box-sizing:border-box}
html{background:var(--back);color:var(--text)}
body{margin:0 auto;max-width:1200px;padding:24px 16px 48px;overflow-wrap:anywhere}
h1,h2,h3,p,ul,figure,dl,dd{margin:0;padding:0}
h1{font-size:22px;font-weight:650;letter-spacing:-.01em;line-height:1.25}
h2{font-size:16px;font-weight:650;margin:0 0 12px}
h3{font-size:14px;font-weight:600}
.soft,.facts{color:var(--soft)}
.facts{display:flex;flex-wrap:wrap;gap:2px 16px;margin-top:6px;font-size:13px}
.sides{margin-top:14px;display:grid;grid-template-columns:auto minmax(0,1fr);gap:4px 10px;align-items:baseline}
code{font:13px/1.4 ui-monospace,"SF Mono",Menlo,Consolas,"Liberation Mono",monospace}
.key{font-weight:650}.key.a{color:var(--a)}.key.b{color:var(--b)}
.counts{display:flex;flex-wrap:wrap;gap:8px;margin-top:16px}
.counts span{padding:6px 12px;border:1px solid var(--line);border-radius:8px;background:var(--card)}
.counts b{font-size:18px;font-weight:650;margin-right:4px}
section{margin-top:20px;padding:16px;border:1px solid var(--line);border-radius:8px;background:var(--card)}
.regressed{color:var(--bad)}.improved{color:var(--good)}.unchanged{color:var(--soft)}
.inconclusive,.insufficient,.incomparable,.clock_shift,.slower_machine{color:var(--warn)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%}
th{text-align:left;font-size:12px;font-weight:500;color:var(--soft);white-space:nowrap}
th,td{padding:6px 12px 6px 0;border-bottom:1px solid var(--line);vertical-align:middle}
tbody tr:last-child td{border-bottom:0}
td{overflow-wrap:break-word}td.cell{min-width:11em}
td.n,th.n{text-align:right;white-space:nowrap}
td.v{white-space:nowrap;font-weight:600}
td.v::before{content:"";display:inline-block;width:8px;height:8px;border-radius:50%;background:currentColor;margin-right:7px}
td.why{color:var(--soft);font-size:13px;padding-top:0;min-width:260px}
tr.has-why td{border-bottom:0;padding-bottom:2px}
svg{display:block;width:100%;height:auto}
svg.bar{width:160px;height:18px}
svg text{font-size:11px;fill:var(--soft)}
.tick{text-anchor:middle}.tick.left{text-anchor:end}
text.side{font-size:13px;font-weight:650}
text.side.a{fill:var(--a)}text.side.b{fill:var(--b)}
.grid{stroke:var(--line)}
.dot{fill-opacity:.75}.dot.a{fill:var(--a)}.dot.b{fill:var(--b)}
.ci.a{fill:var(--a)}.ci.b{fill:var(--b)}.ci{fill-opacity:.16}
.median{stroke-width:2}.median.a{stroke:var(--a)}.median.b{stroke:var(--b)}
.floor{fill:var(--line);fill-opacity:.6}.zero{stroke:var(--soft);stroke-opacity:.6}
.range{fill:currentColor}
.trend{fill:none;stroke:var(--a);stroke-width:1;stroke-opacity:.35}
.whisker{stroke:var(--a);stroke-width:1.5;stroke-opacity:.3}.level{stroke:var(--text);stroke-width:2;stroke-opacity:.75}
.spike{fill:var(--card);stroke:var(--a);stroke-width:1.5}.accepted-mark{fill:var(--card);stroke:var(--accent);stroke-width:1.5}
.change{stroke-width:1.5;stroke-dasharray:4 3}.change.open{stroke-dasharray:1.5 3}svg text.change-label{text-anchor:middle;font-weight:650}
.change.worse{stroke:var(--bad)}.change.better{stroke:var(--good)}.change.open{stroke:var(--warn)}.change.accepted{stroke:var(--soft)}
svg text.change-label.worse{fill:var(--bad)}svg text.change-label.better{fill:var(--good)}svg text.change-label.open{fill:var(--warn)}
.limit{stroke:var(--warn);stroke-dasharray:7 4}svg text.limit-label{fill:var(--warn)}
.remarks{margin:8px 0 0;padding-left:18px;font-size:13px;color:var(--soft)}
.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,480px),1fr));gap:20px 28px}
.plot header{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 12px;margin-bottom:4px}
.plot header span{font-size:13px}
.legend{margin:-6px 0 14px;font-size:13px;color:var(--soft)}th.b{width:172px;text-align:center}
.wide{overflow-x:auto}figure+figure{margin-top:16px}
figcaption{margin-bottom:6px;font-size:13px;color:var(--soft)}
table.heat{width:auto;border-collapse:separate;border-spacing:3px}
table.heat th{padding:4px 10px 4px 0;border:0}
table.heat thead th{text-align:center;padding:4px 6px}table.heat thead th:first-child{text-align:left}
table.heat td{min-width:84px;padding:9px 10px;border:0;border-radius:5px;text-align:center;background:var(--back)}
td.worse{background:color-mix(in srgb,var(--bad) var(--s),var(--back))!important}
td.better{background:color-mix(in srgb,var(--good) var(--s),var(--back))!important}
td.size{background:color-mix(in srgb,var(--a) var(--s),var(--back))!important}
td.failed{color:var(--bad);background:var(--back)}
details{margin-top:12px}summary{cursor:pointer;color:var(--accent)}
details[open] summary{margin-bottom:8px}
h3+.stage{margin-top:8px}.stage+h3{margin-top:18px}
.stage{display:grid;grid-template-columns:minmax(90px,150px) minmax(0,1fr) auto;gap:4px 12px;align-items:center;margin-top:6px}
.track{position:relative;height:12px;border-radius:3px;background:var(--back)}
.track i{position:absolute;top:0;bottom:0;border-radius:3px}
.track i.slower{background:var(--bad)}.track i.faster{background:var(--good)}
.list{display:grid;grid-template-columns:minmax(110px,max-content) minmax(0,1fr);gap:4px 16px}
.list dt{color:var(--soft)}
.bad{color:var(--bad)}.warn{color:var(--warn)}.good{color:var(--good)}
@media(max-width:640px){body{padding:16px 10px 32px}section{padding:12px}th,td{padding-right:10px}.plots{gap:16px}}
@media print{body{max-width:none}section{break-inside:avoid}}
)css";

}  // namespace genscope::bench::page
