-- Tasks that both passed and did not pass under one provider and one assignment of variables.
SELECT suite, task, provider, vars,
       COUNT(*) FILTER (WHERE outcome = 'passed') AS passed,
       COUNT(*) AS judged
FROM v_case
WHERE outcome IN ('passed', 'failed', 'exhausted', 'refused')
GROUP BY suite, task, provider, vars
HAVING passed > 0 AND passed < judged
ORDER BY MIN(position), suite, task, provider, vars;
