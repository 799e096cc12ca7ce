"""Our own controls: statements that decide how a claim of the paper is to be read.

They are declared like the paper's claims, before any run, and judged in the same way; `number` says
which claim of the paper a control bears on.
"""

from bn_memorization.judging import declare

CONTROLS = declare()
