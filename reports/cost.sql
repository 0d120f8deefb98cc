-- Tokens as the vendors reported them, and what they cost under each price table, per provider and task.
-- `unpriced` counts calls with usage whose model the table does not know; `unreported` counts calls without any usage,
-- `unreported_answers` those of them that were answered and so are missing from the cost.
WITH tokens AS (
    SELECT suite, provider, task,
           COUNT(*) AS calls,
           SUM(prompt_tokens) AS prompt_tokens,
           SUM(cache_read_tokens) AS cache_read_tokens,
           SUM(cache_write_tokens) AS cache_write_tokens,
           SUM(completion_tokens) AS completion_tokens,
           SUM(reasoning_tokens) AS reasoning_tokens,
           SUM(server_tool_requests) AS server_tool_requests,
           COUNT(*) FILTER (WHERE reported = 0) AS unreported,
           COUNT(*) FILTER (WHERE reported = 0 AND failure IS NULL) AS unreported_answers
    FROM v_call
    GROUP BY task, provider, suite
), spend AS (
    SELECT suite, provider, task, price_table,
           MIN(as_of) AS as_of,
           MIN(table_position) AS table_position,
           money_sum(cost_usd) AS cost_usd,
           COUNT(*) FILTER (WHERE cost_usd IS NULL AND reported = 1) AS unpriced
    FROM v_spend
    GROUP BY task, provider, price_table, suite
), passes AS (
    SELECT suite, provider, task, MIN(position) AS first, COUNT(*) FILTER (WHERE outcome = 'passed') AS passed
    FROM v_case
    GROUP BY task, provider, suite
)
SELECT suite, provider, task, price_table, as_of, calls,
       prompt_tokens, cache_read_tokens, cache_write_tokens, completion_tokens, reasoning_tokens, server_tool_requests,
       cost_usd, passed, COALESCE(unpriced, calls - unreported) AS unpriced, unreported, unreported_answers
FROM tokens
LEFT JOIN spend USING (suite, provider, task)
LEFT JOIN passes USING (suite, provider, task)
ORDER BY first, suite, provider, task, table_position, price_table;
