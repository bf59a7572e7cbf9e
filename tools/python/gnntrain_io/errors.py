# SPDX-License-Identifier: Apache-2.0
"""The one exception for bad input: its text names the file and what is wrong. Exit code 3 on the command line."""


class FormatError(Exception):
    pass
