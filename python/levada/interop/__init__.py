# SPDX-License-Identifier: Apache-2.0
"""Bridges to other libraries, imported when they are first used."""
