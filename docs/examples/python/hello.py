#!/usr/bin/env python3
"""A plugin that greets every container."""
import sys

import nri_stub

nri_stub.run(sys.argv[1], "10", "hello", lambda request: nri_stub.variable("HELLO", "world"))
