-- What the run cost against what its passing results cost, per provider and price table. Each call is in exactly one part:
-- `passing` (answered, in the last attempt of a passed case), `unpassed` (answered, in the last attempt of any other case),
-- `retried` (failed, in a last attempt), `superseded` (in an attempt that a later one replaced).
WITH spend AS (
    SELECT s.suite, s.provider, s.price_table, s.as_of, s.table_position, s.cost_usd, s.reported, s.failure,
           CASE WHEN s.last_attempt = 0 THEN 'superseded'
                WHEN s.failure IS NOT NULL THEN 'retried'
                WHEN c.outcome = 'passed' THEN 'passing'
                ELSE 'unpassed' END AS part
    FROM v_spend s
    LEFT JOIN v_case c ON c.case_id = s.case_id
), passes AS (
    SELECT suite, provider, MIN(position) AS first, COUNT(*) FILTER (WHERE outcome = 'passed') AS passed
    FROM v_case
    GROUP BY provider, suite
)
SELECT suite, provider, price_table, MIN(as_of) AS as_of, MAX(passed) AS passed,
       COUNT(*) AS calls,
       money_sum(cost_usd) AS cost_usd,
       money_sum(CASE WHEN part = 'passing' THEN cost_usd END) AS passing_usd,
       money_sum(CASE WHEN part = 'unpassed' THEN cost_usd END) AS unpassed_usd,
       money_sum(CASE WHEN part = 'retried' THEN cost_usd END) AS retried_usd,
       money_sum(CASE WHEN part = 'superseded' THEN cost_usd END) AS superseded_usd,
       COUNT(*) FILTER (WHERE part = 'retried') AS retried_calls,
       COUNT(*) FILTER (WHERE part = 'superseded') AS superseded_calls,
       COUNT(*) FILTER (WHERE cost_usd IS NULL AND reported = 1) AS unpriced,
       COUNT(*) FILTER (WHERE reported = 0 AND failure IS NULL) AS unreported_answers
FROM spend
LEFT JOIN passes USING (suite, provider)
GROUP BY provider, price_table, suite
ORDER BY MIN(table_position), price_table, MIN(first), suite, provider;
