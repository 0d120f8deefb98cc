-- The batch: when it ran, with what, and whether it came to its end.
SELECT started_at, finished_at, status, version, platform, wall_ms, cases, sandbox, options
FROM v_batch
LIMIT 1;
