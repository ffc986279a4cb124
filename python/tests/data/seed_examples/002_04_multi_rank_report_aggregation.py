from inferix.profiling.aggregate_reports import aggregate_reports

# Aggregate reports from all ranks
aggregate_reports(
    reports_dir="./distributed_profiling_reports",
    output_path="./aggregated_report.json"
)
