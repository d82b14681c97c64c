"""What differs between Linux, macOS and Windows: files, locks, processes, signals."""
