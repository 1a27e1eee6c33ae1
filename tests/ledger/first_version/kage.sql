PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE caps (
    dataset TEXT NOT NULL, policy TEXT NOT NULL,
    epsilon TEXT NOT NULL, delta TEXT NOT NULL, adjacency TEXT NOT NULL, changed_at TEXT NOT NULL,
    PRIMARY KEY (dataset, policy)
);
INSERT INTO caps VALUES('/home/custodian/people.csv','default','1.0','1e-09','add-remove','2026-11-17T02:11:48+00:00');
CREATE TABLE cap_changes (
    dataset TEXT NOT NULL, policy TEXT NOT NULL,
    epsilon TEXT NOT NULL, delta TEXT NOT NULL, adjacency TEXT NOT NULL, changed_at TEXT NOT NULL
);
INSERT INTO cap_changes VALUES('/home/custodian/people.csv','default','1.0','1e-09','add-remove','2026-11-17T02:11:48+00:00');
CREATE TABLE releases (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, dataset TEXT NOT NULL, policy TEXT NOT NULL,
    method TEXT NOT NULL, accounting TEXT NOT NULL, adjacency TEXT NOT NULL,
    epsilon TEXT NOT NULL, delta TEXT NOT NULL,
    reserved INTEGER NOT NULL, charged INTEGER NOT NULL DEFAULT 0 CHECK (charged <= reserved),
    closed INTEGER NOT NULL DEFAULT 0, opened_at TEXT NOT NULL, certificate TEXT
);
INSERT INTO releases VALUES(1,'9b59ddb7e3fe3436','/home/custodian/people.csv','default','kage','gdp','add-remove','1.0','1e-09',16557415241775,16557415241760,1,'2026-11-17T02:11:48+00:00','1e0eaf19ce3e49db3ab9684fc21580524496db1aa96992b5700aeb715d9b84a4');
CREATE TABLE steps (
    number INTEGER PRIMARY KEY, release TEXT NOT NULL REFERENCES releases(id), key TEXT NOT NULL,
    event TEXT NOT NULL, units INTEGER NOT NULL, answer BLOB,
    UNIQUE (release, key)
);
INSERT INTO steps VALUES(1,'9b59ddb7e3fe3436','f24fdcbc2bf9ddd2a34961cb','{"kind": "gaussian", "what": "counts of sex", "sigma": 26.184702436398673, "l2_squared": 1, "noise": "rounded"}',729247112988,X'b300000000000000df000000000000003100000000000000');
INSERT INTO steps VALUES(2,'9b59ddb7e3fe3436','284dfe1d69d850103fa3b7fa','{"kind": "gaussian", "what": "counts of age", "sigma": 22.08503336606057, "l2_squared": 1, "noise": "rounded"}',1025118060286,X'5b0000000000000047000000000000003b0000000000000041000000000000004700000000000000');
INSERT INTO steps VALUES(3,'9b59ddb7e3fe3436','44ffe596e5c8225bfa22f6ee','{"kind": "gaussian", "what": "counts of smokes", "sigma": 26.184702436398673, "l2_squared": 1, "noise": "rounded"}',729247112988,X'020000000000000031010000000000000f00000000000000');
INSERT INTO steps VALUES(4,'9b59ddb7e3fe3436','b7c67b2575ef60397996fdae','{"kind": "gaussian", "what": "grouped L1 error of 3 candidates", "sigma": 798434435.9639661, "l2_squared": 844424930131968, "noise": "rounded"}',662296609670,X'e4aa58b900000000a3f830f9000000001151963500000000');
INSERT INTO steps VALUES(5,'9b59ddb7e3fe3436','8f13ce74ab146280883de653','{"kind": "gaussian", "what": "counts of sex", "sigma": 17.816433343264464, "l2_squared": 1, "noise": "rounded"}',1575173764056,X'cc00000000000000c8000000000000000300000000000000');
INSERT INTO steps VALUES(6,'9b59ddb7e3fe3436','3059beeb6e1573f99b4bcf00','{"kind": "gaussian", "what": "counts of age", "sigma": 15.026961860879128, "l2_squared": 1, "noise": "rounded"}',2214255010219,X'39000000000000004e0000000000000063000000000000005d000000000000003300000000000000');
INSERT INTO steps VALUES(7,'9b59ddb7e3fe3436','4667256d000fbb19330ca72e','{"kind": "gaussian", "what": "counts of smokes", "sigma": 17.816433343264464, "l2_squared": 1, "noise": "rounded"}',1575173764056,X'4e000000000000005e010000000000001700000000000000');
INSERT INTO steps VALUES(8,'9b59ddb7e3fe3436','23298d664cbbbb76278bbaa8','{"kind": "gaussian", "what": "interaction of sex \u00d7 smokes in 3 \u00d7 3 groups", "sigma": 74.68833805059394, "l2_squared": 36, "noise": "rounded"}',3226761850253,X'64feffffffffffff63020000000000002affffffffffffffa100000000000000130000000000000036fffffffffffffff60000000000000064fdffffffffffff8301000000000000');
INSERT INTO steps VALUES(9,'9b59ddb7e3fe3436','1033edef48eab004d2a8af74','{"kind": "gaussian", "what": "interaction of sex \u00d7 age in 3 \u00d7 5 groups", "sigma": 111.56955755079355, "l2_squared": 120, "noise": "rounded"}',4820141957244,X'7cffffffffffffffb8ffffffffffffff440000000000000052000000000000007affffffffffffffd5ffffffffffffffa4ffffffffffffff190000000000000028ffffffffffffff34000000000000002600000000000000c80000000000000023000000000000005f00000000000000cbffffffffffffff');
CREATE TABLE fingerprints (release TEXT PRIMARY KEY, fingerprint TEXT NOT NULL);
INSERT INTO fingerprints VALUES('9b59ddb7e3fe3436','aabb0a1b67578bfd1ac6d6fa0d429775752d51a8dde55598b2a168f994361d59');
COMMIT;
