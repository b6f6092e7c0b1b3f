# SPDX-License-Identifier: Apache-2.0
"""The compiled module, and the drop-in's libraries."""
