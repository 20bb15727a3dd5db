"""Changes to files of a run that keep their checksums right, as a forger would make them."""

import hashlib
import json

import numpy as np

from pliant._files import read_arrays, read_json, write_arrays


def put(*names, value):
    """A change of one place in nested data."""

    def change(data):
        for name in names[:-1]:
            data = data[name]
        data[names[-1]] = value

    return change


def forge(path, change):
    """Change the JSON of a file, or the tree of a file of arrays, and sign it again."""
    if path.suffix == ".json":
        data = read_json(path)
        change(data)
        digest = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
        path.write_text(json.dumps({"checksum": digest, **data}))
    else:
        arrays = read_arrays(path)
        tree = json.loads(str(arrays["tree"]))
        change(tree)
        write_arrays(path, {**arrays, "tree": np.array(json.dumps(tree))})
