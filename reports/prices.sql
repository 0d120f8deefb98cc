-- The price tables in use; the first is the one that budgets are kept under.
SELECT price_table, MIN(as_of) AS as_of, COUNT(*) AS models
FROM v_price
GROUP BY price_table
ORDER BY MIN(position), price_table;
