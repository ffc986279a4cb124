#include "harness/table.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace bench {
namespace {

std::string quote(const std::string& s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace

void Table::add(const Row& row) {
  if (rows_.empty()) {
    std::printf("%-52s %14s %-12s %8s  %-22s %s\n", "what", "value", "unit", "ratio", "bar", "");
  }
  rows_.push_back(row);
  char ratio[32] = "";
  if (!row.ratio_to.empty()) std::snprintf(ratio, sizeof ratio, "%.2f x", row.ratio);
  std::printf("%-52s %14.2f %-12s %8s  %-22s %s%s%s\n", row.name.c_str(), row.value,
              row.unit.c_str(), ratio, row.bar.c_str(),
              row.bar.empty() ? ""
              : row.kept      ? "ok"
                              : "MISSED",
              row.note.empty() ? "" : "  ", row.note.c_str());
  std::fflush(stdout);
}

int Table::finish(const std::string& json_path) const {
  int missed = 0;
  for (const Row& row : rows_) missed += row.bar.empty() || row.kept ? 0 : 1;
  if (!json_path.empty()) {
    std::ofstream out(json_path);
    out << "[\n";
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row& r = rows_[i];
      out << "  {\"name\": " << quote(r.name) << ", \"value\": " << r.value
          << ", \"unit\": " << quote(r.unit);
      if (!r.ratio_to.empty()) {
        out << ", \"ratio_to\": " << quote(r.ratio_to) << ", \"ratio\": " << r.ratio;
      } else {
        out << ", \"ratio_to\": null, \"ratio\": null";
      }
      if (!r.bar.empty()) {
        out << ", \"bar\": " << quote(r.bar) << ", \"kept\": " << (r.kept ? "true" : "false");
      }
      out << "}" << (i + 1 < rows_.size() ? "," : "") << "\n";
    }
    out << "]\n";
  }
  if (missed > 0) std::printf("%d of the bars above were missed in this run\n", missed);
  return missed;
}

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    if (a == "--json" && i + 1 < argc) {
      o.json = argv[++i];
    } else if (a == "--only" && i + 1 < argc) {
      o.only = argv[++i];
    } else if (a == "--quick") {
      o.quick = true;
    } else if (a == "--help") {
      std::printf("usage: %s [--json FILE] [--only TEXT] [--quick]\n", argv[0]);
      std::exit(0);
    } else {
      o.rest.push_back(a);
    }
  }
  return o;
}

}  // namespace bench
