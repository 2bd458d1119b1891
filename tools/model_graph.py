"""Write the embedding model's graph in float32, which comes with the package.
`python -m tools.model_graph --cache .cache/home/cache`

It holds no weights: it says at which bytes of the pinned weights file they lie. A test builds it
anew and compares.
"""

import argparse
from pathlib import Path

from reverie.embedding import bert_graph, model_weights


def main() -> None:
    """Write the file beside `bert_graph`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, required=True, help="where the weights are, or go")
    folder = model_weights.ensure_model_files(parser.parse_args().cache)
    graph = bert_graph.build_bert_graph(folder / "model.safetensors", "float32")
    bert_graph.FLOAT32_FILE.write_bytes(graph)
    print(f"{bert_graph.FLOAT32_FILE.name}: {len(graph):,} bytes")


if __name__ == "__main__":
    main()
