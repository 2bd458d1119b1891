"""What follows when the reason for something falls: see `bench.cascade.__main__`."""
