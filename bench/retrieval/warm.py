"""Embed every development corpus once, so that later runs start at once. `python -m
bench.retrieval.warm`
"""

import argparse
import time
from pathlib import Path

from bench.retrieval import data, stores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--cache", type=Path, default=Path(".cache/home"))
    args = parser.parse_args()
    embedder = stores.model(args.cache.absolute())
    for name in data.SETS:
        dataset = data.load(name, args.data)
        for corpus in dataset.corpora:
            start = time.perf_counter()
            mind, ids = stores.opened(dataset, corpus, embedder, args.cache.absolute())
            mind.store.close()
            print(
                f"{name} {corpus}: {len(ids)} memories, {time.perf_counter() - start:.1f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
