"""zenoh: hops and missed-samples recovery."""
