"""What is kept on disk between processes, and the keys it is kept under."""
