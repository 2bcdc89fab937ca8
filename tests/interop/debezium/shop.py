"""The database whose changes are captured, and its history in stages."""

TABLES = ("customers", "everything", "full_identity", "nokey")

CREATE = """
CREATE TABLE customers (id int PRIMARY KEY, name varchar(40) NOT NULL, email text);
CREATE TYPE mood AS ENUM ('happy', 'sad');
CREATE TABLE everything (
    id bigserial PRIMARY KEY, small smallint, big bigint, r real, d double precision, flag boolean,
    price numeric(12, 3), any_number numeric, t text, c char(3), b bytea, u uuid, j jsonb, day date, tm time,
    tmz timetz, ts timestamp, ts3 timestamp(3), tsz timestamptz, span interval, numbers int[], texts text[],
    m mood, place point, bits bit(8), one_bit bit(1), address inet);
CREATE TABLE full_identity (id int PRIMARY KEY, v text);
ALTER TABLE full_identity REPLICA IDENTITY FULL;
CREATE TABLE nokey (a int, b text);
ALTER TABLE nokey REPLICA IDENTITY FULL;
INSERT INTO customers VALUES (1, 'Ann', 'ann@example.org'), (2, 'Bob', NULL), (3, 'Cid', 'cid@example.org');
INSERT INTO everything (small, big, r, d, flag, price, any_number, t, c, b, u, j, day, tm, tmz, ts, ts3, tsz, span,
    numbers, texts, m, place, bits, one_bit, address) VALUES (
    1, 9007199254740993, 1.5, 2.25, true, 1234567.891, 3.14159, 'text é', 'abc', '\\x00ff',
    '3c4db933-1424-45c5-9f0b-e84a3a04ef7f', '{"a": 1}', '2024-02-29', '12:34:56.123456', '12:34:56+02',
    '1969-12-31 23:59:59.999999', '2024-01-01 00:00:00.123', '2024-01-01 00:00:00.123456+02', '1 year 2 days',
    ARRAY[1, NULL, 3], ARRAY['a', 'b'], 'sad', point(1, 2), b'10101010', b'1', '10.0.0.1');
INSERT INTO full_identity VALUES (1, 'one'), (2, 'two');
"""

CHANGE = """
INSERT INTO customers VALUES (4, 'Dee', 'dee@example.org');
UPDATE customers SET email = 'bob@example.org' WHERE id = 2;
DELETE FROM customers WHERE id = 3;
UPDATE customers SET id = 10 WHERE id = 1;
INSERT INTO everything (price) VALUES (-0.001);
UPDATE everything SET tm = '23:59:59', day = '1900-01-01', price = NULL WHERE id = 1;
INSERT INTO nokey VALUES (1, 'x'), (2, 'y');
DELETE FROM full_identity WHERE id = 1;
BEGIN;
INSERT INTO full_identity VALUES (5, 'five');
UPDATE full_identity SET v = 'FIVE' WHERE id = 5;
COMMIT;
"""

ALTER = """
ALTER TABLE customers ADD COLUMN points bigint;
UPDATE customers SET points = 7 WHERE id = 2;
INSERT INTO customers VALUES (5, 'Eve', NULL, 9);
CREATE TABLE late (id int PRIMARY KEY, what text);
INSERT INTO late VALUES (1, 'a table that came later');
"""

TRUNCATE = """
TRUNCATE full_identity;
INSERT INTO full_identity VALUES (8, 'after');
"""

STAGES = (CHANGE, ALTER, TRUNCATE)
