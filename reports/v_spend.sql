-- What each call cost under each price table in use: one row for a call and a table. A call is priced by the model that
-- served it, or where the vendor does not say by the model asked for; `cost_usd` is NULL where the table has no price
-- for it or the vendor reported no usage.
CREATE TEMP VIEW IF NOT EXISTS v_spend AS
SELECT c.suite, c.case_id, c.task, c.provider, c.attempt, c.last_attempt, c.run_id, c.step, c.call,
       c.provider_name, c.requested_model, c.served_model, c.reported, c.failure,
       t.price_table, t.table_position, t.as_of,
       call_cost(c.prompt_tokens, c.cache_read_tokens, c.cache_write_tokens, c.completion_tokens, c.server_tool_requests,
                 p.input, p.output, p.cache_read, p.cache_write, p.per_server_tool_request) AS cost_usd
FROM v_call c
CROSS JOIN (SELECT price_table, MIN(as_of) AS as_of, MIN(position) AS table_position FROM v_price GROUP BY price_table) t
LEFT JOIN v_price p ON p.price_table = t.price_table AND p.model = COALESCE(c.served_model, c.requested_model);
