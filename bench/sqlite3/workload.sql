-- @n orders of @n/20 customers, in memory.
PRAGMA journal_mode = OFF;

CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT, city TEXT);
CREATE TABLE purchase(id INTEGER PRIMARY KEY, customer INTEGER, article TEXT, cents INTEGER, note TEXT);

BEGIN;
WITH RECURSIVE step(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM step WHERE i < @n / 20)
INSERT INTO customer
SELECT i, printf('customer %06d', i * 7919 % 1000003), 'city ' || (i * 31 % 97) FROM step;
WITH RECURSIVE step(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM step WHERE i < @n)
INSERT INTO purchase
SELECT i, 1 + i * 7907 % (@n / 20), 'article ' || (i * 13 % 499), i * 104729 % 100000,
       substr('a note that nobody will ever read to its end', 1, i % 40)
FROM step;
COMMIT;

CREATE INDEX purchase_customer ON purchase(customer);
CREATE INDEX purchase_article ON purchase(article, cents);

SELECT city, count(*), sum(cents), max(note)
FROM purchase JOIN customer ON customer.id = purchase.customer
GROUP BY city ORDER BY 3 DESC LIMIT 10;

SELECT article, count(DISTINCT customer), round(avg(cents), 2), group_concat(DISTINCT length(note))
FROM purchase GROUP BY article ORDER BY article LIMIT 10;

SELECT name, upper(replace(note, 'nobody', 'everybody')), rank
FROM (SELECT customer, note, row_number() OVER (PARTITION BY customer ORDER BY cents DESC, id) AS rank FROM purchase)
JOIN customer ON customer.id = customer
WHERE rank = 3 ORDER BY name, note LIMIT 10;

UPDATE purchase SET note = note || ' and ' || article WHERE id % 3 = 0;
DELETE FROM purchase WHERE cents < 20000;

SELECT count(*), sum(length(note)), sum(cents) FROM purchase
WHERE article IN (SELECT article FROM purchase WHERE note LIKE '%read%7%');
