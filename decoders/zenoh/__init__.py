"""zenoh: batches and messages over UDP and TCP."""
