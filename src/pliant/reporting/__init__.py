"""The page of a run: one HTML file that shows a run to somebody, also while it goes on.

In comes a result with its problem and its diagnosis, or the folder of a run; out comes a page
without any request to a network. ``pliant.report`` is the function, so the room has another name.

Read ``report`` first (``pliant.report``), then ``subject`` (what a page is about) and ``content``
(every number on the page, as plain data) with ``marginals`` (the posterior), ``rounds`` (the
history), ``checks`` (the diagnosis) and ``reproduce`` (how to repeat it). ``charts`` and
``check_charts`` turn numbers into specifications of Vega-Lite, ``elements``, ``sections`` and
``check_sections`` into HTML. ``page`` puts all together with ``page.css`` and ``page.js``, and is
the only module that knows the charting library. ``saved`` reads a folder whose run has ended,
``progress`` one whose run goes on. ``live`` and ``grid`` are pages of a run and of many runs that
change, and ``server`` shows them.
"""
