"""Words and defaults of upserts. Read without Arrow, as pipeline files are."""

NO_HISTORY, SCD2 = "none", "scd2"
HISTORIES = (NO_HISTORY, SCD2)
DELETE_RETENTION_MS = 7 * 24 * 3_600_000
MERGED_FILE_SIZE_BYTES = 32 << 20  # a changed row rewrites its file
