INSERT INTO orders (id, total) VALUES (1, 10);
INSERT INTO orders (id, totl) VALUES (2, 10);
SELEC 1;
