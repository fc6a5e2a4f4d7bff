"""Fine."""
