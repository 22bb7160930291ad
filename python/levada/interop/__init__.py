# SPDX-License-Identifier: Apache-2.0
"""Bridges to other libraries, which are imported here only and only when asked for."""
