PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE caps (
    dataset TEXT NOT NULL, policy TEXT NOT NULL,
    epsilon TEXT NOT NULL, delta TEXT NOT NULL, adjacency TEXT NOT NULL, changed_at TEXT NOT NULL,
    PRIMARY KEY (dataset, policy)
);
INSERT INTO caps VALUES('/home/custodian/people.csv','default','1.0','0.0','add-remove','2026-11-17T02:11:33+00:00');
CREATE TABLE cap_changes (
    dataset TEXT NOT NULL, policy TEXT NOT NULL,
    epsilon TEXT NOT NULL, delta TEXT NOT NULL, adjacency TEXT NOT NULL, changed_at TEXT NOT NULL
);
INSERT INTO cap_changes VALUES('/home/custodian/people.csv','default','1.0','0.0','add-remove','2026-11-17T02:11:33+00:00');
CREATE TABLE releases (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, dataset TEXT NOT NULL, policy TEXT NOT NULL,
    method TEXT NOT NULL, accounting TEXT NOT NULL, adjacency TEXT NOT NULL,
    epsilon TEXT NOT NULL, delta TEXT NOT NULL,
    reserved INTEGER NOT NULL, charged INTEGER NOT NULL DEFAULT 0 CHECK (charged <= reserved),
    closed INTEGER NOT NULL DEFAULT 0, opened_at TEXT NOT NULL, certificate TEXT
);
INSERT INTO releases VALUES(1,'78c77c90c4f079d1','/home/custodian/people.csv','default','privbayes','pure','add-remove','1.0','0.0',500000000001000,132691666666437,1,'2026-11-17T02:11:33+00:00','0d17c8d757bee161c72c60208587a389378597da7b2d86d0e9d5ecb4f83148d1');
CREATE TABLE steps (
    number INTEGER PRIMARY KEY, release TEXT NOT NULL REFERENCES releases(id), key TEXT NOT NULL,
    event TEXT NOT NULL, units INTEGER NOT NULL, answer BLOB,
    UNIQUE (release, key)
);
INSERT INTO steps VALUES(1,'78c77c90c4f079d1','2abbbe298adfb4d7a557cae5','{"kind": "laplace", "what": "counts of number of rows", "scale": 100.00000000010998, "l1": 1}',50000000000,X'5c01000000000000');
INSERT INTO steps VALUES(2,'78c77c90c4f079d1','e7ecea6c5fb2791e2ff0a0f4','{"kind": "exponential", "what": "best of 2 candidates by dependence (R)", "epsilon": 0.049999999999949, "candidates": 2}',312500000000,X'0100000000000000');
INSERT INTO steps VALUES(3,'78c77c90c4f079d1','57f1cb2ed09099662957147a','{"kind": "exponential", "what": "best of 2 candidates by dependence (R)", "epsilon": 0.049999999999949, "candidates": 2}',312500000000,X'0000000000000000');
INSERT INTO steps VALUES(4,'78c77c90c4f079d1','6f155899d5f48af3351d23c5','{"kind": "laplace", "what": "counts of sex", "scale": 3.370786516856898, "l1": 1}',44005555555479,X'c900000000000000c600000000000000fcffffffffffffff');
INSERT INTO steps VALUES(5,'78c77c90c4f079d1','d24437bc712b5396ae15efd3','{"kind": "laplace", "what": "counts of sex \u00d7 smokes", "scale": 3.370786516856898, "l1": 1}',44005555555479,X'ffffffffffffffffd000000000000000ffffffffffffffff3f0000000000000089000000000000000400000000000000000000000000000001000000000000000000000000000000');
INSERT INTO steps VALUES(6,'78c77c90c4f079d1','923bee48c3c87e05e9339a77','{"kind": "laplace", "what": "counts of sex \u00d7 age", "scale": 3.370786516856898, "l1": 1}',44005555555479,X'250000000000000028000000000000001800000000000000340000000000000022000000000000002d000000000000002000000000000000270000000000000026000000000000002a000000000000000300000000000000fbffffffffffffff0400000000000000fcffffffffffffff0200000000000000');
CREATE TABLE fingerprints (release TEXT PRIMARY KEY, fingerprint TEXT NOT NULL);
INSERT INTO fingerprints VALUES('78c77c90c4f079d1','aabb0a1b67578bfd1ac6d6fa0d429775752d51a8dde55598b2a168f994361d59');
COMMIT;
