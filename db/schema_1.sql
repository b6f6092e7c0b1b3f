-- SPDX-License-Identifier: Apache-2.0
-- The database of gemm-tune: every candidate ever tried, with what became of it.
--
-- A person reads the two views at the end, `winners` and `outcomes`: their columns are stable. The
-- tables are the program's own; later versions add values to them (layouts, types, batches,
-- parameters), not columns. Times are microseconds of one launch. NULL means "not known" or "not
-- measured", never zero. This file is executed once, in one transaction, to make a new database.

PRAGMA application_id = 1734700397;  -- "gemm" in ASCII: `file` and gemm-tune know the file by it
PRAGMA user_version = 1;             -- of this schema; a newer one than the program's is refused

-- A GPU model with a number of SMs: half of the key under which results are kept.
CREATE TABLE devices (
  id       INTEGER PRIMARY KEY,
  arch     TEXT NOT NULL                       -- compute capability, as in 'sm_86'
           CHECK (arch GLOB 'sm_[0-9]*' AND arch NOT GLOB '*[^a-z0-9_]*'),
  name     TEXT NOT NULL CHECK (name <> ''),   -- as the driver reports it, or a typical card's
  sm_count INTEGER NOT NULL CHECK (sm_count >= 1),  -- streaming multiprocessors
  UNIQUE (arch, name, sm_count)
);

-- A GEMM problem, C[M,N] = alpha * op(A)[M,K] * op(B)[K,N] + beta * C: the other half of the key.
CREATE TABLE problems (
  id           INTEGER PRIMARY KEY,
  text         TEXT NOT NULL UNIQUE,  -- canonical: '1024x512x256', '1024x512x256:layout=nt:batch=8'
  M            INTEGER NOT NULL CHECK (M >= 1),  -- rows of C
  N            INTEGER NOT NULL CHECK (N >= 1),  -- columns of C
  K            INTEGER NOT NULL CHECK (K >= 0),  -- length of the sums
  type_a       TEXT NOT NULL CHECK (type_a <> ''),        -- element type of A: 'f32'
  type_b       TEXT NOT NULL CHECK (type_b <> ''),        -- element type of B
  type_c       TEXT NOT NULL CHECK (type_c <> ''),        -- element type of C
  type_compute TEXT NOT NULL CHECK (type_compute <> ''),  -- type of products and sums
  layout       TEXT NOT NULL CHECK (layout <> ''),  -- which operands are stored transposed, A's
                                                    -- letter first: 'nn', 'nt', 'tn', 'tt'
  alignment    INTEGER NOT NULL CHECK (alignment >= 1),  -- elements that divide every leading
                                                         -- dimension, base address and batch stride
  batch        INTEGER NOT NULL CHECK (batch >= 1)  -- independent GEMMs in one launch, the matrices
                                                    -- of each operand equally far apart
);

-- One run of the program: what rows need to be reproduced.
CREATE TABLE runs (
  id             INTEGER PRIMARY KEY,
  tool_version   TEXT NOT NULL,  -- of gemm-tune
  cuda_version   TEXT NOT NULL,  -- of the compiler, NVRTC
  driver_version TEXT,           -- NULL where no GPU was used
  command        TEXT NOT NULL,  -- the command line
  seed           TEXT NOT NULL CHECK (seed <> ''),  -- of the search: unsigned 64-bit, in decimal
  started_at     TEXT NOT NULL   -- UTC, ISO 8601
);

-- What a user would call instead (cuBLAS), timed by the same rule in the same run.
CREATE TABLE baselines (
  id                  INTEGER PRIMARY KEY,
  device_id           INTEGER NOT NULL REFERENCES devices (id),   -- timed on this device
  problem_id          INTEGER NOT NULL REFERENCES problems (id),  -- for this problem
  run_id              INTEGER NOT NULL REFERENCES runs (id),      -- in this run
  name                TEXT NOT NULL CHECK (name <> ''),      -- the function: 'cublasSgemm', or
                                                             -- 'cublasSgemmStridedBatched'
  median_us           REAL NOT NULL CHECK (median_us > 0),   -- median of the samples
  samples             TEXT NOT NULL CHECK (json_valid(samples)),  -- JSON array, microseconds
  launches_per_sample INTEGER NOT NULL CHECK (launches_per_sample >= 1),  -- launches in one sample
  cold_us             REAL CHECK (cold_us > 0),  -- median with operands rotated beyond L2
  sm_mhz              INTEGER,  -- clock of the SMs under load, where NVML tells it, as the next two
  power_w             REAL,     -- watts
  temperature_c       INTEGER,  -- degrees Celsius
  disturbance         TEXT,     -- why the samples may be off though re-taken
  UNIQUE (device_id, problem_id, run_id, name)
);

-- One configuration of one kernel, tried for one problem on one device. Failures are rows too.
CREATE TABLE candidates (
  id           INTEGER PRIMARY KEY,
  device_id    INTEGER NOT NULL REFERENCES devices (id),   -- for this device
  problem_id   INTEGER NOT NULL REFERENCES problems (id),  -- for this problem
  run_id       INTEGER NOT NULL REFERENCES runs (id),      -- in this run
  config       TEXT NOT NULL CHECK (config LIKE '_%/_%=_%'),  -- canonical: 'family/NAME=VALUE,...'
  kernel_hash  TEXT NOT NULL CHECK (kernel_hash <> ''),  -- of the kernel text that was compiled:
                                                         -- with another than today's, a stale row
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
  standing     TEXT CHECK (standing IN (
                 'search',   -- timed alone, during the search
                 'finals',   -- timed again, in turn with the baseline: slower than the best
                 'tied')),   -- timed again, and the best or not shown to be slower
  cold_us      REAL CHECK (cold_us > 0),  -- median with the operands rotated through more than L2
  sm_mhz       INTEGER,  -- clock of the SMs under load, where NVML tells it, as the next two
  power_w      REAL,     -- watts
  temperature_c INTEGER, -- degrees Celsius
  disturbance  TEXT,     -- why the samples may be off though re-taken
  predicted_us REAL CHECK (predicted_us > 0),      -- the static model's time, where it was asked
  baseline_id  INTEGER REFERENCES baselines (id),  -- the fastest baseline of the same run
  recorded_at  TEXT NOT NULL,                      -- UTC, ISO 8601
  UNIQUE (device_id, problem_id, config, kernel_hash, source),
  CHECK (disposition = 'ok' OR coalesce(reason, '') <> ''),
  CHECK ((registers IS NULL) = (ctas_per_sm IS NULL)),
  CHECK ((median_us IS NULL) = (samples IS NULL)),
  CHECK ((median_us IS NULL) = (launches_per_sample IS NULL)),
  CHECK ((median_us IS NULL) = (standing IS NULL)),
  CHECK (source = 'measured' OR median_us IS NULL),
  CHECK (disposition <> 'ok' OR coalesce(median_us, predicted_us) IS NOT NULL),
  CHECK (disposition <> 'ok' OR source = 'predicted' OR median_us IS NOT NULL)
);

-- The best ok row for each device and problem: a measured row beats a predicted one, then the
-- shorter time wins, then the config text. Rows of older kernel texts count here, since only the
-- program knows which text is today's: `gemm-tune best` leaves them out.
CREATE VIEW winners AS
SELECT arch, device, sm_count, problem, M, N, K,  -- what it is best for
       config,        -- canonical text of the configuration
       source,        -- 'measured' or 'predicted' (by the static model: not timed)
       median_us,     -- measured time of one launch
       predicted_us,  -- the static model's time
       2e-6 * M * N * K * batch / time_us AS tflops,  -- from the measured time, else the predicted
       baseline,      -- what it was compared with, and that one's time in the same run
       baseline_us,
       CASE source WHEN 'measured' THEN baseline_us / time_us END AS speedup,  -- above 1: faster
       kernel_hash,   -- of the kernel text that was compiled
       recorded_at    -- UTC, ISO 8601
FROM (
  SELECT d.arch, d.name AS device, d.sm_count, p.text AS problem, p.M, p.N, p.K, p.batch, c.config,
         c.source, c.median_us, c.predicted_us, coalesce(c.median_us, c.predicted_us) AS time_us,
         b.name AS baseline, b.median_us AS baseline_us, c.kernel_hash, c.recorded_at,
         row_number() OVER (
           PARTITION BY c.device_id, c.problem_id
           ORDER BY c.source = 'predicted', coalesce(c.median_us, c.predicted_us), c.config, c.id
         ) AS place
  FROM candidates c
  JOIN devices d ON d.id = c.device_id
  JOIN problems p ON p.id = c.problem_id
  LEFT JOIN baselines b ON b.id = c.baseline_id
  WHERE c.disposition = 'ok'
)
WHERE place = 1
ORDER BY arch, device, sm_count, M, N, K, problem;

-- Every candidate, one row each, in words.
CREATE VIEW outcomes AS
SELECT d.arch,
       d.name AS device,
       p.text AS problem,
       c.config,
       c.disposition,
       c.reason,
       c.source,
       c.median_us,
       b.median_us AS baseline_us
FROM candidates c
JOIN devices d ON d.id = c.device_id
JOIN problems p ON p.id = c.problem_id
LEFT JOIN baselines b ON b.id = c.baseline_id
ORDER BY d.arch, d.name, d.sm_count, p.M, p.N, p.K, p.text, c.config;
