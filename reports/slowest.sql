-- The ten cases with the longest wall time.
SELECT suite, case_id, outcome, wall_ms, provider_ms, waiting_ms, tool_ms, gate_ms, setup_ms, steps
FROM v_case
WHERE wall_ms IS NOT NULL AND outcome IS NOT NULL AND outcome <> 'skipped'
ORDER BY wall_ms DESC, case_id
LIMIT 10;
