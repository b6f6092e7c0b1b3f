-- SPDX-License-Identifier: Apache-2.0
-- The database of gemm-tune: every candidate that was tried, with its outcome each time.
--
-- A person reads the two views at the end, `winners` and `outcomes`. The tables are the program's
-- own. A row of `measurements` or `baselines` is a fact and never changes, but for `counts`: a
-- later measurement is a row of its own. Times are microseconds of one launch. NULL means "not
-- known" or "not measured", never zero. This file is executed once, to make a new database.

PRAGMA application_id = 1735681122;  -- "gtdb" in ASCII: `file` and gemm-tune know the file by it
PRAGMA user_version = 1;             -- of this schema; a file of another version is refused

-- A GPU model with a number of SMs: half of the key under which results are kept.
CREATE TABLE devices (
  id       INTEGER PRIMARY KEY,
  arch     TEXT NOT NULL                       -- compute capability, as in 'sm_86'
           CHECK (arch GLOB 'sm_[0-9]*' AND arch NOT GLOB '*[^a-z0-9_]*'),
  name     TEXT NOT NULL CHECK (name <> ''),   -- as the driver reports it, or a typical card's
  sm_count INTEGER NOT NULL CHECK (sm_count >= 1),  -- streaming multiprocessors
  UNIQUE (arch, name, sm_count)
);

-- A GEMM problem, D = epilogue(alpha * op(A)[M,K] * op(B)[K,N] + beta * C): the other half of the
-- key. The columns say what the text says. The program passes over rows with values that it does
-- not know, which are of a later program.
CREATE TABLE problems (
  id         INTEGER PRIMARY KEY,
  text       TEXT NOT NULL UNIQUE,  -- canonical: '1024x512x256', '1024x512x256:layout=nt:batch=8'
  M          INTEGER NOT NULL CHECK (M >= 1),  -- rows of C and D
  N          INTEGER NOT NULL CHECK (N >= 1),  -- columns of C and D
  K          INTEGER NOT NULL CHECK (K >= 0),  -- length of the sums
  batch_kind TEXT NOT NULL CHECK (batch_kind <> ''),  -- 'strided': each operand's matrices are
                                                      -- equally far apart; 'pointers': an array
                                                      -- on the device has their addresses;
                                                      -- 'groups': also sizes of their own
  batch      INTEGER NOT NULL CHECK (batch >= 1),     -- independent products of one call
  type_a     TEXT NOT NULL CHECK (type_a <> ''),      -- element type of A: 'f32', 'bf16' and the
                                                      -- like, as in core/types/element_type.h
  type_b     TEXT NOT NULL CHECK (type_b <> ''),      -- element type of B
  type_c     TEXT NOT NULL CHECK (type_c <> ''),      -- element type of C
  type_d     TEXT NOT NULL CHECK (type_d <> ''),      -- element type of D
  accuracy   TEXT NOT NULL CHECK (accuracy <> ''),    -- class of products and sums: 'fp32',
                                                      -- 'sums_fp32' and the like, as in
                                                      -- core/types/accuracy.h
  layout     TEXT NOT NULL CHECK (layout <> ''),  -- which operands are stored transposed, A's letter
                                                  -- first: 'nn', 'nt', 'tn', 'tt'
  align_a    INTEGER NOT NULL CHECK (align_a >= 1),  -- bytes, at most 16, that divide A's address,
                                                     -- leading dimension and batch stride
  align_b    INTEGER NOT NULL CHECK (align_b >= 1),  -- the same of B
  align_c    INTEGER NOT NULL CHECK (align_c >= 1),  -- the same of C
  align_d    INTEGER NOT NULL CHECK (align_d >= 1),  -- the same of D
  epilogue   TEXT NOT NULL CHECK (epilogue <> '')    -- applied to the sums: 'none', or
                                                     -- functors as 'bias_column+relu'
);

-- A configuration of a kernel family, or an algorithm of a library ('cublas/...', 'cublaslt/...'):
-- what is tried. Many measurements share one.
CREATE TABLE candidates (
  id       INTEGER PRIMARY KEY,
  family   TEXT NOT NULL CHECK (family <> ''),    -- the part of the config before its '/'
  revision TEXT NOT NULL CHECK (revision <> ''),  -- of the family's kernel: '3', or
                                                  -- 'user:<hash>' of a text that a user gave; of a
                                                  -- library: its version, '13.1.0'
  config   TEXT NOT NULL CHECK (config LIKE '_%/_%=_%'),  -- canonical: 'family/NAME=VALUE,...'
  UNIQUE (config, revision)
);

-- The revisions of the program that wrote last: candidates of other revisions do not win.
CREATE TABLE families (
  name     TEXT PRIMARY KEY CHECK (name <> ''),   -- as in candidates
  revision TEXT NOT NULL CHECK (revision <> '')  -- the program's own
) WITHOUT ROWID;

-- One run of the program: what its rows rest on.
CREATE TABLE runs (
  id             INTEGER PRIMARY KEY,
  uuid           TEXT NOT NULL UNIQUE CHECK (uuid <> ''),  -- the same in every copy of the run
  host           TEXT,           -- name of the machine
  tool_version   TEXT NOT NULL,  -- of gemm-tune
  cuda_version   TEXT NOT NULL,  -- of the compiler, NVRTC
  driver_version TEXT,           -- NULL where no GPU was used
  power_limit_w  REAL,           -- of the GPU, watts, where NVML tells it, as the next two
  memory_mhz     INTEGER,        -- greatest clock of the GPU's memory
  mig_slice      TEXT,           -- of a GPU with MIG, as in '1g.10gb'; NULL: the whole GPU
  command        TEXT NOT NULL,  -- the command line
  seed           TEXT NOT NULL CHECK (seed <> ''),  -- of the search: unsigned 64-bit, in decimal
  started_at     TEXT NOT NULL   -- UTC, ISO 8601
);

-- A function of NVIDIA's libraries that a user would call instead, timed in turn with the
-- finalists.
CREATE TABLE baselines (
  id                  INTEGER PRIMARY KEY,
  device_id           INTEGER NOT NULL REFERENCES devices (id),   -- timed on this device
  problem_id          INTEGER NOT NULL REFERENCES problems (id),  -- for this problem
  run_id              INTEGER NOT NULL REFERENCES runs (id),      -- in this run
  name                TEXT NOT NULL CHECK (name <> ''),  -- the function: 'cublasSgemm', 'cublasLt';
                                                         -- with '-autotuned': cuBLAS timed its own
                                                         -- algorithms first
  library_version     TEXT NOT NULL CHECK (library_version <> ''),  -- as in '13.1.0'
  algorithms          INTEGER CHECK (algorithms >= 1),  -- of cublasLt: so many were timed, and this
                                                        -- was the fastest
  median_us           REAL NOT NULL CHECK (median_us > 0),   -- median of the samples
  samples             TEXT NOT NULL CHECK (json_valid(samples)),  -- JSON array, microseconds
  launches_per_sample INTEGER NOT NULL CHECK (launches_per_sample >= 1),  -- launches in one sample
  cold_us             REAL CHECK (cold_us > 0),    -- median with operands rotated beyond L2
  error               REAL CHECK (error >= 0),     -- as of measurements
  sm_mhz              INTEGER,  -- clock of the SMs under load, where NVML tells it, as the next two
  power_w             REAL,     -- watts
  temperature_c       INTEGER,  -- degrees Celsius
  disturbance         TEXT,     -- why the samples may be off though re-taken
  recorded_at         TEXT NOT NULL,  -- UTC, ISO 8601, in milliseconds
  UNIQUE (run_id, problem_id, device_id, name)
);

-- One candidate, tried once for one problem on one device. Failures are rows too.
CREATE TABLE measurements (
  id           INTEGER PRIMARY KEY,
  device_id    INTEGER NOT NULL REFERENCES devices (id),     -- for this device
  problem_id   INTEGER NOT NULL REFERENCES problems (id),    -- for this problem
  candidate_id INTEGER NOT NULL REFERENCES candidates (id),  -- this candidate
  run_id       INTEGER NOT NULL REFERENCES runs (id),        -- in this run
  counts       INTEGER NOT NULL CHECK (counts IN (0, 1)),  -- 1: of the rows with the same device,
                                                           -- problem, candidate and source, the one
                                                           -- that counts: the latest if that is a
                                                           -- failure, else the latest of finals,
                                                           -- else the latest
  disposition  TEXT NOT NULL CHECK (disposition IN (
                 'ok',              -- verified and timed, or predicted
                 'rejected',        -- by its resources, once it was compiled
                 'compile_failed',  -- the compiler refused it
                 'launch_failed',   -- the driver refused it, or it faulted
                 'wrong_result',    -- verification found a wrong or unwritten element
                 'timed_out',       -- its compiler or its kernel had not ended at the limit
                 'crashed')),       -- its process died
  reason       TEXT,  -- why, in words; demanded of every row that is not ok
  source       TEXT NOT NULL CHECK (source IN (
                 'measured',     -- tried on the device
                 'predicted')),  -- compiled only; its time is the static model's
  registers    INTEGER CHECK (registers >= 0),     -- per thread
  spill_bytes  INTEGER CHECK (spill_bytes >= 0),   -- spill stores + loads, per thread
  stack_bytes  INTEGER CHECK (stack_bytes >= 0),   -- per thread
  smem_bytes   INTEGER CHECK (smem_bytes >= 0),    -- shared memory per CTA, dynamic + static
  ctas_per_sm  INTEGER CHECK (ctas_per_sm >= 0),   -- CTAs that fit one SM
  median_us    REAL CHECK (median_us > 0),         -- measured: median of the samples
  samples      TEXT CHECK (samples IS NULL OR json_valid(samples)),   -- JSON array, microseconds
  launches_per_sample INTEGER CHECK (launches_per_sample >= 1),  -- launches in one sample
  cold_us      REAL CHECK (cold_us > 0),  -- median with the operands rotated through more than L2
  error        REAL CHECK (error >= 0),   -- of D on random operands: the Frobenius norm of its
                                          -- difference from fp64, over that of fp64
  rank         INTEGER CHECK (rank >= 1),  -- among those that the run's finals timed in turn for
                                           -- the problem; 1: the winner. The rule stands in
                                           -- core/candidate/winner_rule.h, and nowhere else. NULL: not in
                                           -- finals
  cold_rank    INTEGER CHECK (cold_rank >= 1),  -- the same by cold_us alone
  tied         INTEGER CHECK (tied IN (0, 1)),  -- 1: finals did not show it to be slower than the
                                                -- fastest
  verified     INTEGER CHECK (verified IN (0, 1)),  -- 1: finals also verified the specialisations
                                                    -- that serve other layouts, edges, alignments
  sm_mhz       INTEGER,  -- clock of the SMs under load, where NVML tells it, as the next two
  power_w      REAL,     -- watts
  temperature_c INTEGER, -- degrees Celsius
  disturbance  TEXT,     -- why the samples may be off though re-taken
  predicted_us REAL CHECK (predicted_us > 0),  -- the static model's time, where it was asked
  compile_s    REAL CHECK (compile_s >= 0),    -- seconds in the compiler
  gpu_s        REAL CHECK (gpu_s >= 0),        -- seconds that a worker held the GPU
  recorded_at  TEXT NOT NULL,                  -- UTC, ISO 8601, in milliseconds
  CHECK (disposition = 'ok' OR coalesce(reason, '') <> ''),
  CHECK ((registers IS NULL) = (ctas_per_sm IS NULL)),
  CHECK ((median_us IS NULL) = (samples IS NULL)),
  CHECK ((median_us IS NULL) = (launches_per_sample IS NULL)),
  CHECK (source = 'measured' OR median_us IS NULL),
  CHECK (disposition <> 'ok' OR coalesce(median_us, predicted_us) IS NOT NULL),
  CHECK (disposition <> 'ok' OR source = 'predicted' OR median_us IS NOT NULL),
  CHECK ((rank IS NULL) = (tied IS NULL)),
  CHECK ((rank IS NULL) = (verified IS NULL)),
  CHECK (rank IS NULL OR disposition = 'ok' AND median_us IS NOT NULL),
  CHECK ((cold_rank IS NOT NULL) = (rank IS NOT NULL AND cold_us IS NOT NULL))
);

CREATE INDEX measurements_of_candidate
  ON measurements (device_id, problem_id, candidate_id, source);
CREATE INDEX measurements_by_time
  ON measurements (device_id, problem_id, source, coalesce(median_us, predicted_us))
  WHERE counts = 1 AND disposition = 'ok';
CREATE INDEX measurements_of_finals
  ON measurements (device_id, problem_id, run_id)
  WHERE rank IS NOT NULL;

-- The best candidate for each device and problem, of those of the program's revisions. Finals
-- decide: their first verified candidate wins; of several finals, the faster one. Finals no longer
-- decide once their winner was tried again. Where none do, the shortest time decides, measured
-- before predicted.
-- This is the only definition: `gemm-tune best`, look-ups and exports read this text, with the
-- program's own revisions in place of `families`.
CREATE VIEW winners AS
SELECT d.arch, d.name AS device, d.sm_count, p.text AS problem, p.M, p.N, p.K,  -- best for these
       c.config,          -- canonical text of the configuration
       m.source,          -- 'measured' or 'predicted' (by the static model: not timed)
       m.median_us,       -- measured time of one launch
       m.predicted_us,    -- the static model's time
       2e-6 * p.M * p.N * p.K * p.batch / coalesce(m.median_us, m.predicted_us) AS tflops,  -- from
                                    -- the measured time, else the predicted
       b.name AS baseline,          -- the fastest baseline of the same run, and its time
       b.median_us AS baseline_us,
       CASE m.source WHEN 'measured' THEN b.median_us / m.median_us END AS speedup,  -- above 1: faster
       c.revision,                  -- of the kernel
       m.rank,                      -- in its finals; NULL: of a search without finals
       m.recorded_at,               -- UTC, ISO 8601
       m.id AS measurement_id,
       m.error,                     -- relative error of the results
       b.error AS baseline_error    -- of the baseline's
FROM (
  SELECT coalesce((
    SELECT id
    FROM (
      SELECT m.id, c.config, m.median_us AS us,
             row_number() OVER (PARTITION BY m.run_id ORDER BY m.rank, m.median_us, c.config) AS place
      FROM measurements m
      CROSS JOIN candidates c ON c.id = m.candidate_id
      CROSS JOIN families f ON f.name = c.family AND f.revision = c.revision
      WHERE m.device_id = d.id AND m.problem_id = p.id AND m.rank IS NOT NULL
        AND m.counts = 1 AND m.verified = 1
        AND EXISTS (
          SELECT 1
          FROM measurements first
          WHERE first.device_id = m.device_id AND first.problem_id = m.problem_id
            AND first.run_id = m.run_id AND first.rank = 1 AND first.counts = 1
        )
    )
    WHERE place = 1
    ORDER BY us, config
    LIMIT 1
  ), (
    SELECT m.id
    FROM measurements m
    CROSS JOIN candidates c ON c.id = m.candidate_id
    CROSS JOIN families f ON f.name = c.family AND f.revision = c.revision
    WHERE m.device_id = d.id AND m.problem_id = p.id AND m.counts = 1 AND m.disposition = 'ok'
      AND coalesce(m.median_us, m.predicted_us) IS NOT NULL
    ORDER BY m.source, coalesce(m.median_us, m.predicted_us), c.config
    LIMIT 1
  )) AS id
  FROM devices d, problems p
) best
CROSS JOIN measurements m ON m.id = best.id  -- not JOIN: the planner would scan m
JOIN devices d ON d.id = m.device_id
JOIN problems p ON p.id = m.problem_id
JOIN candidates c ON c.id = m.candidate_id
LEFT JOIN baselines b ON b.id = (
  SELECT fastest.id
  FROM baselines fastest
  WHERE fastest.run_id = m.run_id AND fastest.problem_id = m.problem_id
    AND fastest.device_id = m.device_id
  ORDER BY fastest.median_us, fastest.name
  LIMIT 1
)
ORDER BY d.arch, d.name, d.sm_count, p.M, p.N, p.K, p.text;

-- Every candidate, one row each, in words.
CREATE VIEW outcomes AS
SELECT d.arch,
       d.name AS device,
       p.text AS problem,
       c.config,
       c.revision,
       m.disposition,
       m.reason,
       m.source,
       m.median_us,
       m.rank,
       (SELECT min(b.median_us) FROM baselines b
        WHERE b.run_id = m.run_id AND b.problem_id = m.problem_id AND b.device_id = m.device_id)
         AS baseline_us
FROM measurements m
JOIN devices d ON d.id = m.device_id
JOIN problems p ON p.id = m.problem_id
JOIN candidates c ON c.id = m.candidate_id
WHERE m.counts = 1
ORDER BY d.arch, d.name, d.sm_count, p.M, p.N, p.K, p.text, c.config, c.revision;
