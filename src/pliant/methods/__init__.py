"""Inference methods: options in their fields, everything else in a state.

In comes a problem; out comes, round by round, a state that holds a posterior, and a row of the
history. Nothing here touches a file or a screen: ``run`` does.

Read ``base`` (what every method does), ``status`` (how a run can end), ``pli`` (Algorithm 1 of the
paper) with ``pli_checks`` (its options), ``choice`` (which discrepancy suits a problem),
``pli_state`` and ``pli_report`` (its rows and its endings), ``apt``, and the samplers in ``abc``.
"""
