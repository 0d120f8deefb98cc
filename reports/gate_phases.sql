-- Gate phases as a funnel, per provider, in the order in which they run. A case counts once in each phase: it failed there
-- where a gate said no, errored where a gate could not be run and none said no, was skipped where no gate of the phase ran.
WITH case_phases AS (
    SELECT suite, provider, case_id, phase,
           MIN(phase_position) AS phase_position,
           MAX(status = 'failed') AS failed,
           MAX(status = 'errored') AS errored,
           MIN(status = 'skipped') AS skipped,
           SUM(duration_ms) AS duration_ms
    FROM v_gate
    WHERE last_attempt = 1
    GROUP BY suite, provider, case_id, phase
), firsts AS (
    SELECT suite, provider, MIN(position) AS first FROM v_case GROUP BY suite, provider
)
SELECT suite, provider, phase,
       COUNT(*) FILTER (WHERE skipped = 0) AS entered,
       COUNT(*) FILTER (WHERE skipped = 0 AND failed = 0 AND errored = 0) AS passed,
       COUNT(*) FILTER (WHERE failed = 1) AS failed,
       COUNT(*) FILTER (WHERE skipped = 1) AS skipped,
       COUNT(*) FILTER (WHERE errored = 1 AND failed = 0) AS errored,
       COALESCE(SUM(duration_ms), 0) AS duration_ms
FROM case_phases
LEFT JOIN firsts USING (suite, provider)
GROUP BY suite, provider, phase
ORDER BY MIN(first), suite, provider, MIN(phase_position), phase;
