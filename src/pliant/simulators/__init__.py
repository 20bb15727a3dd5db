"""Sources of draws x ~ p(x | theta): JAX functions, Python functions and external programs.

In: random keys, parameters in the prior's structure, and the number of draws for each. Out: the
draws and a mask of usable ones; the same bits for any batch, number of workers and executor.

Read ``base`` first (the contract) and ``layout`` (the structure of a draw), then ``jax``.
The others share ``external`` (a table of draws,
some of which may fail) and ``dispatch`` (pieces of work for an executor, dead workers replaced).
``pickling`` makes bytes of a simulator, and ``worker`` runs one piece. ``python`` with
``function_call`` calls functions; ``command`` with ``process`` runs programs, and ``reaper`` cleans
up after a process that was killed.
"""
