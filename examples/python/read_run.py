"""Figures of the newest run: what it spent its time on, and what the rules say of it."""
# [snippet main]
import genscope as gs

run = gs.last()                                    # or gs.load("genscope-runs/...")
for stage in run.stages():
    print(f"{stage['kind']:8} {stage['name']:20} {stage['total_ns'] / 1e6:9.1f} ms")
for finding in run.advise()["findings"]:
    print(finding["title"], "-", finding["advice"])
run.report("html")                                 # or gs.report(run, "html", to="report.html")
# [/snippet]
