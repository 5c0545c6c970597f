"""Programs whose run-time checks are measured, and how."""
