-- SPDX-License-Identifier: Apache-2.0
-- The database of gemm-tune: every candidate ever tried, with its outcome each time.
--
-- A person reads the two views at the end, `winners` and `outcomes`: their columns are stable. The
-- tables are the program's own; later versions add values to them (layouts, types, batches,
-- parameters), not columns. A row of `measurements` is a fact: a later measurement is a row of its
-- own. Times are microseconds of one launch. NULL means "not known" or "not measured", never zero.
-- This file is executed once, in one transaction, to make a new database.

PRAGMA application_id = 1734700397;  -- "gemm" in ASCII: `file` and gemm-tune know the file by it
PRAGMA user_version = 3;             -- of this schema; a newer one than the program's is refused

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

-- A configuration of a kernel, as a text. Many measurements share one.
CREATE TABLE configs (
  id   INTEGER PRIMARY KEY,
  text TEXT NOT NULL UNIQUE  -- canonical: 'family/NAME=VALUE,...'
       CHECK (text LIKE '_%/_%=_%')
);

-- A kernel family as it reached the compiler.
CREATE TABLE kernels (
  id         INTEGER PRIMARY KEY,
  family     TEXT NOT NULL CHECK (family <> ''),  -- the part of a config before its '/'
  hash       TEXT NOT NULL CHECK (hash <> ''),    -- over tokens and compile options; of a row from
                                                  -- version 1 whose text is not known any more: over
                                                  -- that text
  tokens     TEXT,  -- the family's text without comments and white space: compiles by itself
  is_current INTEGER NOT NULL CHECK (is_current IN (0, 1)),  -- 1: built into the program that wrote
                                                             -- last
  UNIQUE (family, hash)
);

-- One run of the program: what its rows rest on.
CREATE TABLE runs (
  id             INTEGER PRIMARY KEY,
  uuid           TEXT NOT NULL UNIQUE CHECK (uuid <> ''),  -- the same in every copy of the run
  host           TEXT,           -- name of the machine; NULL in rows from version 1
  tool_version   TEXT NOT NULL,  -- of gemm-tune
  cuda_version   TEXT NOT NULL,  -- of the compiler, NVRTC
  driver_version TEXT,           -- NULL where no GPU was used
  cublas_version TEXT,           -- NULL where no baseline was timed
  power_limit_w  REAL,           -- of the GPU, watts, where NVML tells it, as the next two
  memory_mhz     INTEGER,        -- greatest clock of the GPU's memory
  mig_slice      TEXT,           -- of a GPU with MIG, as in '1g.10gb'; NULL: the whole GPU
  command        TEXT NOT NULL,  -- the command line
  seed           TEXT NOT NULL CHECK (seed <> ''),  -- of the search: unsigned 64-bit, in decimal
  started_at     TEXT NOT NULL   -- UTC, ISO 8601
);

-- The function that a user would call instead (cuBLAS), timed by the same rule in the same run.
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
  recorded_at         TEXT NOT NULL,  -- UTC, ISO 8601, in milliseconds
  error               REAL CHECK (error >= 0),  -- as of measurements
  UNIQUE (run_id, problem_id, device_id, name)
);

-- One configuration of one kernel, tried once for one problem on one device. Failures are rows too.
CREATE TABLE measurements (
  id           INTEGER PRIMARY KEY,
  device_id    INTEGER NOT NULL REFERENCES devices (id),   -- for this device
  problem_id   INTEGER NOT NULL REFERENCES problems (id),  -- for this problem
  config_id    INTEGER NOT NULL REFERENCES configs (id),   -- this configuration
  kernel_id    INTEGER NOT NULL REFERENCES kernels (id),   -- of this kernel
  measured_kernel_id INTEGER REFERENCES kernels (id),  -- the kernel that was tried, where another
                                                       -- one; its machine code proved to be equal
  run_id       INTEGER NOT NULL REFERENCES runs (id),  -- in this run
  counts       INTEGER NOT NULL CHECK (counts IN (0, 1)),  -- 1: of the rows with the same device,
                                                           -- problem, config, kernel and source, the
                                                           -- one that counts
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
                 'tied')),   -- timed again, and the best or not shown to be slower; a later final
                             -- that the config is not part of makes it 'finals'
  cold_us      REAL CHECK (cold_us > 0),  -- median with the operands rotated through more than L2
  sm_mhz       INTEGER,  -- clock of the SMs under load, where NVML tells it, as the next two
  power_w      REAL,     -- watts
  temperature_c INTEGER, -- degrees Celsius
  disturbance  TEXT,     -- why the samples may be off though re-taken
  predicted_us REAL CHECK (predicted_us > 0),  -- the static model's time, where it was asked
  compile_s    REAL CHECK (compile_s >= 0),    -- seconds in the compiler
  gpu_s        REAL CHECK (gpu_s >= 0),        -- seconds that a worker held the GPU
  recorded_at  TEXT NOT NULL,                  -- UTC, ISO 8601, in milliseconds
  error        REAL CHECK (error >= 0),        -- of D on random operands: the Frobenius norm of its
                                               -- difference from fp64, over that of fp64; NULL in
                                               -- rows from versions 1 and 2
  CHECK (disposition = 'ok' OR coalesce(reason, '') <> ''),
  CHECK ((registers IS NULL) = (ctas_per_sm IS NULL)),
  CHECK ((median_us IS NULL) = (samples IS NULL)),
  CHECK ((median_us IS NULL) = (launches_per_sample IS NULL)),
  CHECK ((median_us IS NULL) = (standing IS NULL)),
  CHECK (source = 'measured' OR median_us IS NULL),
  CHECK (disposition <> 'ok' OR coalesce(median_us, predicted_us) IS NOT NULL),
  CHECK (disposition <> 'ok' OR source = 'predicted' OR median_us IS NOT NULL)
);

CREATE INDEX measurements_of_candidate
  ON measurements (device_id, problem_id, config_id, kernel_id, source);
CREATE INDEX measurements_by_time
  ON measurements (device_id, problem_id, kernel_id, source, coalesce(median_us, predicted_us))
  WHERE counts = 1 AND disposition = 'ok';

-- Best, for each device and problem: among the rows that count and are ok, those of a current kernel
-- come first, then measured ones, then the shorter time, then the config's text. If that row is
-- tied with others whose times are at most 0.5 % longer, the least cold time decides among them (but
-- not among rows from versions 1 and 2: only the fastest of these was verified at all alignments).
-- This is the only definition: `gemm-tune best`, look-ups and exports read this view, with the
-- program's own kernels in place of is_current.
CREATE VIEW winners AS
SELECT d.arch, d.name AS device, d.sm_count, p.text AS problem, p.M, p.N, p.K,  -- best for these
       c.text AS config,  -- canonical text of the configuration
       m.source,          -- 'measured' or 'predicted' (by the static model: not timed)
       m.median_us,       -- measured time of one launch
       m.predicted_us,    -- the static model's time
       2e-6 * p.M * p.N * p.K * p.batch / coalesce(m.median_us, m.predicted_us) AS tflops,  -- from
                                    -- the measured time, else the predicted
       b.name AS baseline,          -- the fastest baseline of the same run, and its time
       b.median_us AS baseline_us,
       CASE m.source WHEN 'measured' THEN b.median_us / m.median_us END AS speedup,  -- above 1: faster
       k.hash AS kernel_hash,       -- of the kernel
       m.recorded_at,               -- UTC, ISO 8601
       k.is_current AS holds,       -- 0: a result of another kernel text than the program's
       m.id AS measurement_id,
       m.error,                     -- relative error of the results
       b.error AS baseline_error    -- of the baseline's
FROM (
  SELECT coalesce((
    SELECT e.id
    FROM kernels ek
    CROSS JOIN measurements e ON e.kernel_id = ek.id
    JOIN configs c ON c.id = e.config_id
    WHERE f.standing = 'tied' AND f.cold_us IS NOT NULL AND f.error IS NOT NULL
      AND e.device_id = f.device_id AND e.problem_id = f.problem_id AND e.source = 'measured'
      AND coalesce(e.median_us, e.predicted_us) <= 1.005 * f.median_us
      AND e.counts = 1 AND e.disposition = 'ok' AND e.standing = 'tied'
      AND e.cold_us IS NOT NULL AND e.error IS NOT NULL AND ek.is_current = fk.is_current
    ORDER BY e.cold_us, e.median_us, c.text
    LIMIT 1
  ), f.id) AS id
  FROM (
      SELECT m.id, row_number() OVER (
               PARTITION BY m.device_id, m.problem_id
               ORDER BY k.is_current DESC, m.source, coalesce(m.median_us, m.predicted_us), c.text
             ) AS place
      FROM (
        -- The best of each kernel: its rows lie in order in measurements_by_time.
        SELECT (
          SELECT first.id
          FROM measurements first
          JOIN configs c ON c.id = first.config_id
          WHERE first.device_id = d.id AND first.problem_id = p.id AND first.kernel_id = k.id
            AND first.counts = 1 AND first.disposition = 'ok'
          ORDER BY first.source, coalesce(first.median_us, first.predicted_us), c.text
          LIMIT 1
        ) AS id
        FROM devices d, problems p, kernels k
      ) head
      CROSS JOIN measurements m ON m.id = head.id  -- not JOIN: the planner would scan m
      JOIN configs c ON c.id = m.config_id
      JOIN kernels k ON k.id = m.kernel_id
  ) fastest
  CROSS JOIN measurements f ON f.id = fastest.id
  JOIN kernels fk ON fk.id = f.kernel_id
  WHERE fastest.place = 1
) best
CROSS JOIN measurements m ON m.id = best.id
JOIN devices d ON d.id = m.device_id
JOIN problems p ON p.id = m.problem_id
JOIN configs c ON c.id = m.config_id
JOIN kernels k ON k.id = m.kernel_id
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
       c.text AS config,
       m.disposition,
       m.reason,
       m.source,
       m.median_us,
       (SELECT min(b.median_us) FROM baselines b
        WHERE b.run_id = m.run_id AND b.problem_id = m.problem_id AND b.device_id = m.device_id)
         AS baseline_us
FROM measurements m
JOIN devices d ON d.id = m.device_id
JOIN problems p ON p.id = m.problem_id
JOIN configs c ON c.id = m.config_id
WHERE m.counts = 1
ORDER BY d.arch, d.name, d.sm_count, p.M, p.N, p.K, p.text, c.text;
