monitor = EpochPerformanceMonitor(
    enabled=True,
    verbose_batches=5,
    device=0
)

monitor.on_epoch_start()
monitor.on_batch_start(batch_idx)
monitor.on_batch_end(batch_idx, loss=None)
monitor.on_epoch_end()

stats = monitor.get_statistics()
# Returns: {
#     'total_epoch_time': float,
#     'avg_epoch_time': float,
#     'total_batch_time': float,
#     'avg_batch_time': float,
#     'min_batch_time': float,
#     'max_batch_time': float,
#     'num_batches': int,
#     'num_epochs': int
# }
