"""Merges changes into a table: the newest row of each key, or all of its versions (docs/adr/0028-upserts.md).

The tasks of a batch write their changes to files (`staging`). The driver decides which rows of the table they replace
(`latest`, `history`: Arrow in, Arrow out), finds these rows through statistics of the files, writes new files in place
of the touched ones (`rewrite`, `merge`), and commits all of it in one transaction. Keys that were deleted are
remembered in files beside the table's (`deleted_keys`), so that a late row does not bring them back.
"""
