-- The suites with their totals. A case is judged where the gates, a budget or a refusal decided it.
SELECT s.suite, s.description, s.file, s.thresholds, s.warnings,
       COUNT(c.case_id) AS cases,
       COUNT(*) FILTER (WHERE c.outcome IN ('passed', 'failed', 'exhausted', 'refused')) AS judged,
       COUNT(*) FILTER (WHERE c.outcome = 'passed') AS passed,
       COUNT(*) FILTER (WHERE c.outcome = 'errored') AS errored,
       COUNT(*) FILTER (WHERE c.outcome = 'interrupted') AS interrupted,
       COUNT(*) FILTER (WHERE c.outcome = 'skipped') AS skipped,
       COUNT(*) FILTER (WHERE c.case_id IS NOT NULL AND c.outcome IS NULL) AS unfinished,
       COUNT(*) FILTER (WHERE c.outcome = 'passed' AND c.gates = 0) AS unchecked,
       percentile(CASE WHEN c.outcome IN ('passed', 'failed', 'exhausted', 'refused') THEN c.wall_ms END, 95) AS wall_p95
FROM v_suite s
LEFT JOIN v_case c ON c.suite = s.suite
GROUP BY s.suite
ORDER BY MIN(s.position), s.suite;
