"""What keeps the repository true to itself. Never imported by the package."""
