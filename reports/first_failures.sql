-- In which phase the cases of a provider failed first.
SELECT suite, provider, first_failed_phase AS phase, COUNT(*) AS cases
FROM v_case
WHERE first_failed_phase IS NOT NULL AND outcome IN ('failed', 'exhausted', 'refused')
GROUP BY suite, provider, first_failed_phase
ORDER BY suite, provider, cases DESC, phase;
