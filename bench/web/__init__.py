"""What the pages and the screens cost, in empty, small and large homes. `python -m bench.web`"""
