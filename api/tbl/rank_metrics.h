/* The metrics that /metrics has for each rank of a training that is under way: name, type, the key in the rank's status
 * (docs/run-directory.md), help. There is no include guard: define RANK_METRIC before including it. */
RANK_METRIC("stretto_training_samples_received_total", "counter", "received",
            "Samples taken in whole, duplicates included.")
RANK_METRIC("stretto_training_samples_unique_total", "counter", "unique", "Samples received that were not duplicates.")
RANK_METRIC("stretto_training_samples_duplicate_total", "counter", "duplicates",
            "Samples received that were there already.")
RANK_METRIC("stretto_training_samples_skipped_total", "counter", "skipped",
            "Samples that members which ran again did not send, since the rank held them.")
RANK_METRIC("stretto_training_samples_drawn_total", "counter", "drawn",
            "Unique samples drawn into a batch at least once.")
RANK_METRIC("stretto_training_repeated_draws_total", "counter", "repeats",
            "Draws of samples that had been drawn before.")
RANK_METRIC("stretto_training_batches_total", "counter", "batches", "Batches drawn.")
RANK_METRIC("stretto_training_received_bytes_total", "counter", "bytes", "Bytes of the fields of received samples.")
RANK_METRIC("stretto_training_shared_memory_bytes_total", "counter", "memory_bytes",
            "Bytes read in memory that members on the rank's host share.")
RANK_METRIC("stretto_training_frames_rejected_total", "counter", "rejected", "Frames that were refused.")
RANK_METRIC("stretto_training_room_wait_seconds_total", "counter", "room_wait_seconds",
            "Time for which reception has waited for room in the buffer.")
RANK_METRIC("stretto_training_sample_wait_seconds_total", "counter", "sample_wait_seconds",
            "Time for which the training has waited for samples.")
RANK_METRIC("stretto_training_buffer_samples", "gauge", "population", "Samples in the buffer.")
RANK_METRIC("stretto_training_buffer_unseen_samples", "gauge", "unseen", "Samples in the buffer that were never drawn.")
RANK_METRIC("stretto_training_buffer_capacity_samples", "gauge", "capacity", "Samples for which the buffer has room.")
RANK_METRIC("stretto_training_members_finalized", "gauge", "finalized", "Members that told the rank their end.")
RANK_METRIC("stretto_training_status_timestamp_seconds", "gauge", "time", "When the rank told these figures.")
