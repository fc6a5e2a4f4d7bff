//! What agents send, for trying out what is installed.
