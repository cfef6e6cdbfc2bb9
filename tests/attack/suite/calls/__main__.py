"""Make one call of the attack again, in this process: `SEED NUMBER`."""

import contextlib
import sys
import tempfile

from .table import entries
from .worker import attempt, draw

if __name__ == "__main__":
    seed, number = map(int, sys.argv[1:])
    entry, given, mutations = draw(entries(), seed, number)
    values = {name: mutation.value for name, mutation in mutations.items()}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        texts = [str(each) for each in attempt(entries(), seed, number, {})]
        texts += [f"{name} = {value!r:.2000}" for name, value in values.items()]
        sys.stdout.write("\n".join([*texts, ""]))
        sys.stdout.write(f"{entry.call(**given | values)!r:.2000}\n")
