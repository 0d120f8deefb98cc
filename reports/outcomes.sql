-- How many cases ended how; a case without an outcome is not finished yet.
SELECT suite, COALESCE(outcome, 'unfinished') AS outcome, COUNT(*) AS cases
FROM v_case
GROUP BY suite, COALESCE(outcome, 'unfinished')
ORDER BY MIN(position), suite, outcome;
