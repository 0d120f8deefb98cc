-- Where the wall time of finished cases went, per provider, in milliseconds; the harness is what nothing else accounts for.
SELECT suite, provider,
       COUNT(*) AS cases,
       SUM(wall_ms) AS wall_ms,
       COALESCE(SUM(provider_ms), 0) AS provider_ms,
       COALESCE(SUM(waiting_ms), 0) AS waiting_ms,
       COALESCE(SUM(tool_ms), 0) AS tool_ms,
       COALESCE(SUM(gate_ms), 0) AS gate_ms,
       COALESCE(SUM(setup_ms), 0) AS setup_ms,
       SUM(MAX(0, wall_ms - COALESCE(provider_ms, 0) - COALESCE(waiting_ms, 0) - COALESCE(tool_ms, 0)
                          - COALESCE(gate_ms, 0) - COALESCE(setup_ms, 0))) AS harness_ms
FROM v_case
WHERE wall_ms IS NOT NULL AND outcome IS NOT NULL AND outcome <> 'skipped'
GROUP BY suite, provider
ORDER BY MIN(position), suite, provider;
