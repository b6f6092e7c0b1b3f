// SPDX-License-Identifier: Apache-2.0
// The page of `gemm-tune report`: draws the data of DatabaseSummary (tuner/report).
//
// Texts of the database reach the page by textContent and as labels on a canvas, never as HTML.
'use strict';

(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const byId = (id) => document.getElementById(id);
  const chosen = {
    device: 0,
    beside: 'better',
    operands: 'us',
    problem: null,
    axis: 'try',
    parameter: null,
    allWinners: false
  };

  // ---- Text -------------------------------------------------------------------------------------

  const grouped = (value) => Math.round(value).toLocaleString('en-US');

  // Three digits; whole numbers from 100 on.
  function digits(value) {
    if (value >= 99.95) return grouped(value);
    if (value >= 9.995) return value.toFixed(1);
    if (value >= 0.9995) return value.toFixed(2);
    return value === 0 ? '0' : String(Number(value.toPrecision(3)));
  }

  // Of round values.
  const tick = (value) => value.toLocaleString('en-US', {maximumSignificantDigits: 3});

  const count = (value, one, many) => `${grouped(value)} ${value === 1 ? one : many}`;

  // Times of one chart share a unit.
  const unitOf = (us) =>
    us >= 1e4 ? {name: 'ms', us: 1e3} : {name: 'µs', us: 1};
  function timeText(us) {
    const unit = unitOf(us);
    return `${digits(us / unit.us)} ${unit.name}`;
  }

  const tflops = (problem, us) => (problem.flops / us) * 1e-6;

  function percentText(ratio) {
    const percent = 100 * (ratio - 1);
    const size = Math.abs(percent);
    const text = size >= 99.95 ? grouped(size) : size.toFixed(1);
    if (Number(text) === 0) return '0 %';
    return `${percent < 0 ? '−' : '+'}${text} %`;
  }

  const cut = (text, longest) =>
    text.length > longest ? `${text.slice(0, longest - 1)}…` : text;

  function configText(number) {
    const [form, ...values] = data.configs[number];
    const {family, params} = data.forms[form];
    return `${family}/${params.map((name, i) => `${name}=${values[i]}`).join(',')}`;
  }

  // A config's text in lines that a tooltip has room for.
  function inLines(text) {
    const longest = 34;
    const lines = [''];
    for (const part of text.split(/(?<=[,/])/)) {
      for (let at = 0; at < part.length; at += longest) {
        const piece = part.slice(at, at + longest);
        if (lines[lines.length - 1].length + piece.length > longest) lines.push('');
        lines[lines.length - 1] += piece;
      }
    }
    return lines;
  }

  // ---- Elements ---------------------------------------------------------------------------------

  function element(tag, className, text) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function fillSelect(select, options, value) {
    select.replaceChildren(...options.map(([key, text]) => {
      const option = element('option', '', text);
      option.value = key;
      return option;
    }));
    select.value = String(value);
  }

  // A config's text, with places to break a line.
  function configElement(tag, text) {
    const made = element(tag, 'config');
    for (const part of text.split(/(?<=[,/])/)) made.append(part, document.createElement('wbr'));
    return made;
  }

  const say = (id, text) => {
    byId(id).textContent = text;
    byId(id).hidden = text === '';
  };

  // Shows a figure's drawing and caption, or in their place a sentence about the cause.
  function show(id, missing, caption) {
    const figure = byId(id);
    figure.querySelector('.canvas, .map, .bars').hidden = missing !== '';
    figure.querySelector('.missing').textContent = missing;
    figure.querySelector('.missing').hidden = missing === '';
    figure.querySelector('figcaption').textContent = missing === '' ? caption : '';
    if (missing !== '' && figure.querySelector('details') !== null) figure.querySelector('details').hidden = true;
    return missing === '';
  }

  // What a figure draws, as a table below it that is filled once it is opened. rows: a function that gives texts and
  // numbers by column.
  function addTable(id, columns, rows) {
    const figure = byId(id);
    let details = figure.querySelector('details');
    if (details === null) {
      details = element('details');
      details.append(element('summary', '', 'Data as a table'), element('div', 'data'));
      details.addEventListener('toggle', () => details.fill());
      figure.append(details);
    }
    details.hidden = false;
    details.fill = () => {
      if (!details.open) return;
      const table = element('table');
      const line = (cells, tag) => {
        const row = element('tr');
        row.append(...cells.map((cell) => element(tag, typeof cell === 'number' ? 'number' : '', cell === null ? '–' : String(cell))));
        return row;
      };
      const head = element('thead');
      const body = element('tbody');
      head.append(line(columns, 'th'));
      body.append(...rows().map((cells) => line(cells, 'td')));
      table.append(head, body);
      details.querySelector('.data').replaceChildren(table);
    };
    details.fill();
  }

  const exact = (value) => (value === null ? null : Number(value.toPrecision(5)));

  // A tooltip for what is no canvas.
  function addTip(target, text) {
    const tip = byId('tip');
    const place = () => {
      tip.textContent = text;
      tip.hidden = false;
      const at = target.getBoundingClientRect();
      const left = at.left + at.width / 2 - tip.offsetWidth / 2;
      const above = at.top - tip.offsetHeight - 8;
      tip.style.left =
        `${Math.max(8, Math.min(left, document.documentElement.clientWidth - tip.offsetWidth - 8))}px`;
      tip.style.top = `${above >= 4 ? above : at.bottom + 8}px`;
    };
    const leave = () => { tip.hidden = true; };
    target.tabIndex = 0;
    target.setAttribute('aria-label', text);
    for (const event of ['pointerenter', 'focus']) target.addEventListener(event, place);
    for (const event of ['pointerleave', 'blur']) target.addEventListener(event, leave);
  }

  // ---- Charts -----------------------------------------------------------------------------------

  const color = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  // page.css has colours as #rrggbb.
  function faint(name, opacity) {
    const parts = [1, 3, 5].map((at) => parseInt(color(name).slice(at, at + 2), 16));
    return `rgba(${parts.join(', ')}, ${opacity})`;
  }

  const charts = new Map();
  const isPrinting = () => document.documentElement.classList.contains('printing');
  const isNarrow = () => !isPrinting() && document.documentElement.clientWidth <= 760;

  function styleCharts() {
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    Chart.defaults.font.size = 12;
    Chart.defaults.color = color('muted');
    Chart.defaults.borderColor = color('grid');
    Chart.defaults.animation = false;
    Chart.overrides.scatter.interaction.mode = 'nearest';
    Chart.defaults.maintainAspectRatio = false;
    Object.assign(Chart.defaults.plugins.tooltip, {
      backgroundColor: color('tip'),
      titleColor: color('tip-text'),
      bodyColor: color('tip-text'),
      footerColor: color('tip-text'),
      footerFont: {weight: 'normal', family: 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace', size: 11},
      displayColors: false,
      padding: 9,
      cornerRadius: 6,
      caretSize: 5
    });
    Object.assign(Chart.defaults.plugins.legend.labels, {
      usePointStyle: true,
      boxWidth: 7,
      boxHeight: 7,
      padding: 14
    });
    Chart.defaults.plugins.legend.position = 'top';
    Chart.defaults.plugins.legend.align = 'start';
  }

  // Between a legend and its chart.
  const legendGap = {
    id: 'legendGap',
    beforeInit(chart) {
      const {fit} = chart.legend;
      chart.legend.fit = function withGap() {
        fit.call(this);
        this.height += 8;
      };
    }
  };

  function draw(id, label, config) {
    const canvas = byId(id).querySelector('canvas');
    if (charts.has(id)) charts.get(id).destroy();
    canvas.setAttribute('aria-label', label);
    const hasLegend = config.plugins === undefined;
    charts.set(id, new Chart(canvas, {...config, plugins: [...(config.plugins || []), ...(hasLegend ? [legendGap] : [])]}));
  }

  function undraw(id) {
    if (!charts.has(id)) return;
    charts.get(id).destroy();
    charts.delete(id);
  }

  const axisTitle = (text) => ({display: true, text, padding: {top: 6, bottom: 2}});

  // Four to ten ticks of a logarithmic axis, at round values.
  function logTicks(axis) {
    const sets = [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 5, 7], [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8]];
    let ticks = [];
    for (const set of sets) {
      ticks = [];
      const last = Math.ceil(Math.log10(axis.max));
      for (let power = Math.floor(Math.log10(axis.min)); power <= last; ++power) {
        for (const digit of set) {
          const value = Number((digit * 10 ** power).toPrecision(3));
          if (value >= axis.min && value <= axis.max) ticks.push({value});
        }
      }
      if (ticks.length >= 4) break;
    }
    axis.ticks = ticks;
  }

  // leastRange: of the greatest value over the least.
  function logAxis(title, values, leastRange) {
    const low = Math.min(...values);
    const high = Math.max(...values);
    const room = Math.max(1.12, Math.sqrt(leastRange / (high / low)));
    return {
      type: 'logarithmic',
      min: low / room,
      max: high * room,
      title: axisTitle(title),
      afterBuildTicks: logTicks,
      ticks: {callback: tick, autoSkip: true, maxRotation: 0}
    };
  }

  // ---- The problems of a device -----------------------------------------------------------------

  const problems = () => data.problems.filter((problem) => problem.device === chosen.device);
  const isTimed = (problem) => problem.winner !== null && problem.winner.source === 'measured';

  const placeOf = (device, problem) => `${device} ${problem}`;
  const byPlace = new Map(data.problems.map((one) => [placeOf(one.device, one.problem), one]));

  // The same problem's winner on another device of the database, as a baseline; null where it has none.
  function elsewhere(problem, device) {
    const other = byPlace.get(placeOf(device, problem.problem));
    if (other === undefined || !isTimed(other)) return null;
    return {name: data.devices[device].name, us: other.winner.us, cold_us: other.winner.cold_us};
  }

  // beside: 'better', 'cublas', or the number of a device.
  function baselineOf(problem, beside, operands) {
    if (beside !== 'better' && beside !== 'cublas') {
      const other = elsewhere(problem, Number(beside));
      return other === null || other[operands] === null ? null : other;
    }
    const timed = problem.winner.baselines.filter(
      (one) => one[operands] !== null && (beside === 'better' || one.kind === 'cublas'));
    if (timed.length === 0) return null;
    return timed.reduce((a, b) => (b[operands] < a[operands] ? b : a));
  }

  // Null where one of the two times is not stored.
  function ratioOf(problem, beside = chosen.beside, operands = chosen.operands) {
    if (!isTimed(problem) || problem.winner[operands] === null) return null;
    const baseline = baselineOf(problem, beside, operands);
    return baseline === null ? null : baseline[operands] / problem.winner[operands];
  }

  const isBesideDevice = () => chosen.beside !== 'better' && chosen.beside !== 'cublas';
  const besideText = () => {
    if (isBesideDevice()) return data.devices[Number(chosen.beside)].name;
    return chosen.beside === 'better' ? 'the better baseline' : "cuBLAS's own choice";
  };
  // The label of its points and lines.
  const besideLabel = () => (isBesideDevice() ? cut(besideText(), 30) : chosen.beside === 'better' ? 'The better baseline' : 'cuBLAS');

  // The baselines, and the devices that the chosen one can be compared with.
  function fillBeside() {
    const others = data.devices.map((device, i) => [String(i), `${device.name}, its winners`]).filter(([i]) => Number(i) !== chosen.device);
    if (chosen.beside === String(chosen.device)) chosen.beside = 'better';
    fillSelect(byId('beside'), [['better', 'the better baseline'], ['cublas', "cuBLAS's own choice"], ...others], chosen.beside);
  }
  const operandsText = () => (chosen.operands === 'us' ? 'in L2 (hot)' : 'outside L2 (cold)');

  // Why no problem can be drawn beside a baseline, or whose times are missing.
  function whyNothingTimed() {
    const all = problems();
    if (!all.some(isTimed)) {
      return all.some((problem) => problem.winner !== null)
        ? 'Nothing was timed: the database holds predictions of the static model only. Run gemm-tune on a machine with this GPU.'
        : 'No candidate passed verification, so there is no time to show.';
    }
    if (!all.some((problem) => isTimed(problem) && problem.winner[chosen.operands] !== null)) {
      return 'No time with operands outside L2 is stored.';
    }
    return '';
  }

  // ---- Speed-up ---------------------------------------------------------------------------------

  // Each bar's percentage at its end.
  const barLabels = {
    id: 'barLabels',
    afterDatasetsDraw(chart, args, options) {
      const {ctx} = chart;
      ctx.save();
      ctx.font = `12px ${Chart.defaults.font.family}`;
      ctx.textBaseline = 'middle';
      chart.getDatasetMeta(0).data.forEach((bar, i) => {
        const toLeft = bar.x < bar.base;
        ctx.textAlign = toLeft ? 'right' : 'left';
        ctx.fillStyle = options.colors ? options.colors[i] : color('text');
        ctx.fillText(options.texts[i], bar.x + (toLeft ? -6 : 6), bar.y);
      });
      ctx.restore();
    }
  };

  // As many problems have a bar with a name; more are columns side by side.
  const kMostNamedBars = 40;

  function showFigures(rows) {
    const figures = byId('speedup-figures');
    const make = (value, text, className) => {
      const figure = element('div');
      figure.append(element('b', className, value), element('span', '', text));
      return figure;
    };
    figures.replaceChildren();
    if (rows.length === 0) return;
    const mean = Math.exp(rows.reduce((sum, row) => sum + Math.log(row.ratio), 0) / rows.length);
    const slower = rows.filter((row) => row.ratio < 1).length;
    figures.append(make(`${mean.toFixed(3)}×`, 'geometric mean'),
                   make(grouped(rows.length - slower), 'as fast or faster'),
                   make(grouped(slower), 'slower', slower > 0 ? 'loss' : ''));
  }

  function showSpeedup() {
    const rows = problems()
      .map((problem) => ({problem, ratio: ratioOf(problem)}))
      .filter((row) => row.ratio !== null);
    const drawn = [...rows].sort((a, b) => b.ratio - a.ratio);
    const without = problems().length - rows.length;
    showFigures(rows);
    byId('speedup-lead').textContent =
      rows.length === 0 ? '' : `Time of ${besideText()} over ours, operands ${operandsText()}.`;
    let caption = isBesideDevice() ? 'Logarithmic. Times are medians, each of its device\'s run.' : 'Logarithmic. Both times are medians of the same run.';
    if (drawn.length > kMostNamedBars) caption += ' A column for each problem, sorted.';
    if (without > 0) {
      caption += ` ${count(without, 'problem has', 'problems have')} no such pair of times.`;
    }
    const missing = whyNothingTimed() ||
      (rows.length > 0 ? '' : isBesideDevice() ? `No problem has a winner that was timed on ${besideText()}, too.`
        : 'No winner has a baseline that was timed in the same run.');
    if (!show('speedup', missing, caption)) return undraw('speedup');
    addTable('speedup', ['problem', 'ours, µs', `${besideText()}, µs`, 'ratio', 'config'], () => drawn.map(({problem, ratio}) =>
      [problem.problem, problem.winner[chosen.operands], baselineOf(problem, chosen.beside, chosen.operands)[chosen.operands], exact(ratio), problem.winner.config]));
    if (drawn.length > kMostNamedBars) return drawColumns(drawn);

    const logs = drawn.map((row) => Math.log2(row.ratio));
    const low = Math.min(0, ...logs);
    const high = Math.max(0, ...logs);
    const labels = drawn.map((row) => barName(row.problem.problem));
    const canvasBox = byId('speedup').querySelector('.canvas');
    const room = labelRoom(canvasBox, labels, low < 0) * Math.max(high - low, 0.05);
    const colors = drawn.map((row) => color(row.ratio < 1 ? 'loss' : 'gain'));
    canvasBox.style.height = `${drawn.length * (labels.some(Array.isArray) ? 30 : isPrinting() ? 18 : 23) + 58}px`;
    draw('speedup', `Speed-up of ${drawn.length} problems over ${besideText()}`, {
      type: 'bar',
      data: {
        labels,
        datasets: [{data: logs, backgroundColor: colors, barThickness: isPrinting() ? 11 : 13, borderRadius: 2, minBarLength: 2}]
      },
      options: {
        indexAxis: 'y',
        scales: {
          x: {
            min: low < 0 ? low - room : 0,
            max: high + room,
            afterBuildTicks: (axis) => { axis.ticks = ratioTicks(axis); },
            ticks: {callback: (value) => tickText(2 ** value), maxRotation: 0, autoSkip: true},
            grid: {
              color: (context) => color(context.tick && context.tick.value === 0 ? 'muted' : 'grid'),
              drawBorder: false
            }
          },
          y: {grid: {display: false, drawBorder: false}, ticks: {color: color('text'), autoSkip: false, font: {lineHeight: 1.05}}}
        },
        plugins: {
          legend: {display: false},
          barLabels: {texts: drawn.map((row) => percentText(row.ratio)), colors},
          tooltip: speedupTips(drawn)
        }
      },
      plugins: [barLabels]
    });
  }

  const speedupTips = (drawn) => ({
    callbacks: {
      title: ([item]) => drawn[item.dataIndex].problem.problem,
      label: (item) => speedupTip(drawn[item.dataIndex].problem),
      footer: ([item]) => inLines(drawn[item.dataIndex].problem.winner.config)
    }
  });

  // Of many problems: a column each, without names.
  function drawColumns(drawn) {
    const logs = drawn.map((row) => Math.log2(row.ratio));
    const canvasBox = byId('speedup').querySelector('.canvas');
    canvasBox.style.height = '340px';
    draw('speedup', `Speed-up of ${drawn.length} problems over ${besideText()}, sorted`, {
      type: 'bar',
      data: {
        labels: drawn.map((row) => row.problem.problem),
        datasets: [{data: logs, backgroundColor: drawn.map((row) => color(row.ratio < 1 ? 'loss' : 'gain')), barPercentage: 1, categoryPercentage: drawn.length > 200 ? 1 : 0.86}]
      },
      options: {
        interaction: {mode: 'index', intersect: false},
        scales: {
          x: {grid: {display: false, drawBorder: false}, title: axisTitle(`${grouped(drawn.length)} problems`), ticks: {display: false}},
          y: {
            afterBuildTicks: (axis) => { axis.ticks = ratioTicks(axis, axis.height || axis.chart.height, 28); },
            ticks: {callback: (value) => tickText(2 ** value), autoSkip: true},
            grid: {color: (context) => color(context.tick && context.tick.value === 0 ? 'muted' : 'grid'), drawBorder: false}
          }
        },
        plugins: {legend: {display: false}, tooltip: speedupTips(drawn)}
      }
    });
  }

  // In a narrow window in two lines.
  function barName(name) {
    const colon = name.indexOf(':');
    if (!isNarrow()) return cut(name, 34);
    return colon < 0 ? cut(name, 18) : [cut(name.slice(0, colon), 18), cut(name.slice(colon + 1), 18)];
  }

  // What a percentage beside a bar takes, as a share of the bars' range.
  function labelRoom(box, labels, onBothSides) {
    const characterPixels = 7;
    const textPixels = 60;
    const longest = Math.max(...labels.flat().map((text) => text.length));
    const plot = Math.max(box.clientWidth - characterPixels * longest - 20, 3 * textPixels);
    return textPixels / (plot - textPixels * (onBothSides ? 2 : 1));
  }

  // Round percentages, dense enough for the range, at least so many pixels apart.
  function ratioTicks(axis, pixels = axis.width || axis.chart.width, least = 62) {
    const ratios = [0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 1.01, 1.02, 1.03, 1.04, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50];
    const perPixel = (axis.max - axis.min) / Math.max(pixels, 1);
    const kept = [0];
    const far = (value) => kept.every((other) => Math.abs(other - value) >= least * perPixel);
    for (const ratio of [2, 0.5, 1.5, 3, 5, 1.2, 0.8, 0.9, 1.1, 1.05, 0.95, ...ratios]) {
      const value = Math.log2(ratio);
      if (value >= axis.min && value <= axis.max && far(value)) kept.push(value);
    }
    return kept.sort((a, b) => a - b).map((value) => ({value}));
  }

  const tickText = (ratio) => {
    const percent = Math.round(100 * (ratio - 1));
    return percent === 0 ? 'equal' : `${percent < 0 ? '−' : '+'}${Math.abs(percent)} %`;
  };

  // Without what stands in brackets: "cublasLt 13.1.0".
  const shortName = (name) => cut(name.replace(/ \(.*$/, ''), 24);

  function speedupTip(problem) {
    const operands = chosen.operands;
    const lines = [`ours  ${timeText(problem.winner[operands])}, ${digits(tflops(problem, problem.winner[operands]))} TFLOP/s`];
    const other = isBesideDevice() ? baselineOf(problem, chosen.beside, operands) : null;
    for (const one of other === null ? problem.winner.baselines : [other]) {
      if (one[operands] === null) continue;
      lines.push(`${shortName(one.name)}  ${timeText(one[operands])}, ${percentText(one[operands] / problem.winner[operands])}`);
    }
    return lines;
  }

  // ---- Roofline ---------------------------------------------------------------------------------

  function showRoofline() {
    const operands = chosen.operands;
    const arePredicted = !problems().some(isTimed);
    const timed = problems().filter((problem) => problem.winner !== null && problem.flops > 0 &&
      (arePredicted ? problem.winner.us !== null : isTimed(problem) && problem.winner[operands] !== null));
    const {rates, name} = data.devices[chosen.device];
    const points = (timeOf) => timed
      .map((problem) => ({problem, us: timeOf(problem)}))
      .filter((one) => one.us !== null)
      .map(({problem, us}) => ({problem, us, x: problem.flops / problem.bytes, y: tflops(problem, us)}));
    const ours = points((problem) => problem.winner[arePredicted ? 'us' : operands]);
    const theirs = arePredicted ? [] : points((problem) => {
      const baseline = baselineOf(problem, chosen.beside, operands);
      return baseline === null ? null : baseline[operands];
    });
    const missing = (timed.length > 0 ? '' : whyNothingTimed() || 'No timed problem has any operations.');
    if (!show('roofline', missing, '')) return undraw('roofline');
    addTable('roofline', ['problem', 'operations for each byte', 'of', 'µs', 'TFLOP/s'], () => [['winner', ours], [besideText(), theirs]].flatMap(
      ([of, points]) => points.map((point) => [point.problem.problem, exact(point.x), of, point.us, exact(point.y)])));

    const xs = [...ours, ...theirs].map((point) => point.x);
    const ys = [...ours, ...theirs].map((point) => point.y);
    const roofs = [];
    const peaks = [];
    for (const pipe of ['fp32', 'tensor']) {
      if (rates === null || rates[pipe] === null || !timed.some((one) => one.pipe === pipe)) continue;
      const peak = rates[pipe];
      const ridge = (peak * 1e3) / rates.dram_gb_per_s;  // operations for each byte
      xs.push(ridge);
      ys.push(peak);
      roofs.push({pipe, peak, ridge});
      peaks.push(`${digits(peak)} TFLOP/s ${pipe === 'fp32' ? 'of fp32' : 'of the tensor cores'}`);
    }
    const x = logAxis('Operations for each byte', xs, 30);
    const y = logAxis('TFLOP/s', ys, 5);
    const lines = roofs.map(({pipe, peak, ridge}) => ({
      label: pipe === 'fp32' ? 'Peak of fp32 and of DRAM' : 'Peak of tensor cores and of DRAM',
      type: 'line',
      data: [{x: x.min, y: (x.min * rates.dram_gb_per_s) / 1e3}, {x: ridge, y: peak}, {x: Math.max(x.max, ridge), y: peak}],
      borderColor: color(pipe === 'fp32' ? 'muted' : 'series-4'),
      borderDash: pipe === 'fp32' ? [] : [5, 4],
      borderWidth: 1.5,
      pointRadius: 0,
      pointHitRadius: 0,
      pointStyle: 'line'
    }));
    byId('roofline').querySelector('figcaption').textContent = (roofs.length === 0
      ? `The peak rates of ${name} are unknown, so there is no roof: the program's table of devices lacks them.`
      : `Roof: ${grouped(rates.dram_gb_per_s)} GB/s of DRAM, ${peaks.join(' and ')} if no cycle at ${grouped(rates.clock_mhz)} MHz is lost.` +
        (arePredicted ? " Times are the static model's: predicted, not timed." : operands === 'us' ? ' Hot operands come from L2, so that points may lie above the slope.' : ''));
    draw('roofline', `Roofline of ${ours.length} winners`, {
      type: 'scatter',
      data: {
        datasets: [
          {label: arePredicted ? 'Winners, predicted' : 'Winners', data: ours, backgroundColor: arePredicted ? 'transparent' : color('gain'),
           borderColor: color('gain'), borderWidth: arePredicted ? 1.5 : 0, pointRadius: 4.5, pointHoverRadius: 6},
          ...arePredicted ? [] : [{label: besideLabel(), data: theirs,
           backgroundColor: 'transparent', borderColor: color('series-2'), borderWidth: 1.5, pointRadius: 4.5, pointHoverRadius: 6}],
          ...lines
        ]
      },
      options: {
        scales: {x: {...x, grid: {drawBorder: false}}, y: {...y, grid: {drawBorder: false}}},
        plugins: {
          tooltip: {
            filter: (item) => item.raw.problem !== undefined,
            callbacks: {
              title: (items) => (items.length > 0 ? items[0].raw.problem.problem : ''),
              label: (item) => [`${item.dataset.label}: ${digits(item.raw.y)} TFLOP/s, ${timeText(item.raw.us)}`, `${digits(item.raw.x)} operations for each byte`]
            }
          }
        }
      }
    });
  }

  // ---- One problem ------------------------------------------------------------------------------

  const timeWord = (problem) => (problem.source === 'measured' ? 'time' : "static model's time, not timed");

  function showWinner(problem) {
    const list = byId('winner');
    list.replaceChildren();
    const add = (name, value, className) => {
      const cell = element('dd');
      cell.append(typeof value === 'string' ? element('span', className, value) : value);
      list.append(element('dt', '', name), cell);
    };
    const {winner} = problem;
    if (winner === null) {
      add('Winner', problem.tried > 0 ? 'none: no candidate passed' : 'none');
      return;
    }
    add('Winner', configElement('code', winner.config));
    const rate = problem.flops > 0 ? `, ${digits(tflops(problem, winner.us))} TFLOP/s` : '';
    if (!isTimed(problem)) {
      add('Time', `${timeText(winner.us)}${rate} (predicted, not timed)`);
      return;
    }
    add('Time', `${timeText(winner.us)}${rate}` +
      (winner.cold_us === null ? '' : `; cold ${timeText(winner.cold_us)}`));
    for (const one of winner.baselines) {
      const ratio = one.us / winner.us;
      add(cut(one.name, 60), `${timeText(one.us)}: ours ${percentText(ratio)}`, ratio < 1 ? 'loss' : '');
    }
  }

  function showSearch(problem) {
    const {steps, points, seconds} = problem.detail;
    const overTries = chosen.axis === 'try';
    const hasClock = seconds > 0 && steps.every((step) => step[1] !== null);
    let missing = '';
    if (steps.length === 0) missing = 'No candidate of this problem was timed.';
    else if (problem.flops === 0) missing = 'The problem has no operations, so there is no rate.';
    else if (!overTries && !hasClock) missing = 'The rows were not stored at different times: only their order is known.';
    const tried = `${count(problem.tried, 'config was', 'configs were')} tried`;
    const caption = problem.source !== 'measured' ? `${tried}. Times are the static model's: predicted, not timed.` : overTries
      ? `${tried}; failures count as tries. Dots: single configs. Times are those of the search, before the finals.`
      : `${tried}. Seconds from the first stored result to the last, finals included; pauses between runs are left out.`;
    if (!show('search', missing, caption)) return undraw('search');
    addTable('search', ['try', 'seconds', 'best so far, µs', 'TFLOP/s'], () => steps.map(([attempt, second, us]) => [attempt, second, us, exact(tflops(problem, us))]));

    const end = overTries ? problem.tried : seconds;
    const line = steps.map(([attempt, second, us]) => ({x: overTries ? attempt : second, y: tflops(problem, us), us, attempt, second}));
    line.push({...line[line.length - 1], x: end});
    const datasets = [{
      label: 'Best so far', type: 'line', clip: 8, stepped: true, data: line, borderColor: color('gain'), backgroundColor: color('gain'),
      borderWidth: 2, pointBorderWidth: 1, pointRadius: line.map((point, i) => (i < line.length - 1 ? 3 : 0)), pointHoverRadius: 5, pointHitRadius: 8, order: 1
    }];
    const baseline = isTimed(problem) ? baselineOf(problem, chosen.beside, 'us') : null;
    if (baseline !== null) {
      const y = tflops(problem, baseline.us);
      datasets.push({
        label: besideLabel(), type: 'line', data: [{x: 0, y}, {x: end, y}],
        borderColor: color('series-2'), borderDash: [6, 4], borderWidth: 1.5, pointRadius: 0, pointHitRadius: 0, pointStyle: 'line', order: 2
      });
    }
    if (overTries) {
      datasets.push({
        label: 'One config', clip: 8, data: points.try.map((attempt, i) => ({x: attempt, y: tflops(problem, points.us[i]), config: points.config[i], us: points.us[i]})),
        backgroundColor: faint('muted', 0.55), borderWidth: 0, pointRadius: 1.7, pointHoverRadius: 4, order: 3
      });
    }
    draw('search', `Best rate so far over ${overTries ? 'tries' : 'seconds'}`, {
      type: 'scatter',
      data: {datasets},
      options: {
        scales: {
          x: {min: 0, max: Math.max(end, 1e-3), title: axisTitle(overTries ? 'Tries' : 'Seconds'), grid: {display: false, drawBorder: false}, ticks: {maxRotation: 0, maxTicksLimit: 8, includeBounds: false, precision: overTries ? 0 : undefined}},
          y: {beginAtZero: true, title: axisTitle('TFLOP/s'), grid: {drawBorder: false}}
        },
        plugins: {
          tooltip: {
            callbacks: {
              label: ({dataset, raw}) => {
                if (raw.us === undefined) return `${dataset.label}: ${digits(raw.y)} TFLOP/s`;
                const where = overTries ? `try ${grouped(raw.attempt || raw.x)}` : `${digits(raw.second)} s`;
                return `${dataset.label}, ${where}: ${digits(raw.y)} TFLOP/s, ${timeText(raw.us)}`;
              },
              footer: ([item]) => (item && item.raw.config !== undefined ? inLines(configText(item.raw.config)) : [])
            }
          }
        }
      }
    });
  }

  // What a point may be drawn over: parameters, and what the compiler reported.
  const kReported = {
    registers: 'registers per thread',
    smem_bytes: 'shared memory per CTA, bytes',
    ctas_per_sm: 'CTAs per SM',
    try: 'try'
  };

  function parametersOf(problem) {
    const {points} = problem.detail;
    const names = new Map();
    for (const number of points.config) {
      const [form, ...values] = data.configs[number];
      data.forms[form].params.forEach((name, i) => {
        if (!names.has(name)) names.set(name, new Set());
        names.get(name).add(values[i]);
      });
    }
    // A parameter with one value shows nothing.
    const varying = [...names].filter(([, values]) => values.size > 1).map(([name]) => [`p:${name}`, name]);
    const reported = Object.entries(kReported)
      .filter(([key]) => points[key].some((value) => value !== null))
      .map(([key, text]) => [`r:${key}`, text]);
    return [...varying, ...reported];
  }

  function valueOf(points, i, parameter) {
    const name = parameter.slice(2);
    if (parameter.startsWith('r:')) return points[name][i];
    const [form, ...values] = data.configs[points.config[i]];
    const at = data.forms[form].params.indexOf(name);
    return at < 0 ? null : values[at];
  }

  // Apart by the config's number, the same at each visit.
  const apart = (i) => (((i * 0.6180339887) % 1) - 0.5) * 0.56;

  function showScatter(problem) {
    const {points} = problem.detail;
    const parameters = parametersOf(problem);
    const select = byId('parameter');
    if (!parameters.some(([key]) => key === chosen.parameter)) {
      const preferred = ['p:BM', 'p:BK', 'p:BN'].find((key) => parameters.some(([one]) => one === key));
      chosen.parameter = preferred || (parameters.length > 0 ? parameters[0][0] : null);
    }
    fillSelect(select, parameters.map(([key, text]) => [key, cut(text, 40)]), chosen.parameter);
    select.parentElement.hidden = parameters.length === 0 || points.us.length < 2;
    const shown = points.us.map((us, i) => ({us, i, value: chosen.parameter === null ? null : valueOf(points, i, chosen.parameter)}))
      .filter((point) => point.value !== null);
    let missing = '';
    if (points.us.length === 0) missing = 'No config of this problem has a time.';
    else if (points.us.length === 1) missing = `Only one config has a time: ${timeText(points.us[0])}.`;
    else if (shown.length === 0) missing = 'The configs with a time differ in no parameter.';
    let caption = shown.length < points.us.length
      ? `${count(shown.length, 'config has', 'configs have')} this parameter.` : '';
    if (points.us.length < problem.timed) {
      caption += ` ${grouped(points.us.length)} of ${count(problem.timed, 'config', 'configs')} are drawn: the fastest half of these, and an even choice of the others by time.`;
    }
    if (problem.source !== 'measured') caption += " Times are the static model's: predicted, not timed.";
    if (!show('scatter', missing, caption.trim())) return undraw('scatter');

    const values = [...new Set(shown.map((point) => point.value))].sort((a, b) => a - b);
    const inColumns = values.length <= 16;
    const unit = unitOf(Math.max(...shown.map((point) => point.us)));
    const families = [...new Set(shown.map((point) => data.forms[data.configs[points.config[point.i]][0]].family))].sort();
    const datasets = families.map((family, place) => ({
      label: cut(family, 24),
      backgroundColor: faint(`series-${Math.min(place, 5) + 1}`, 0.62),
      borderWidth: 0,
      pointRadius: shown.length > 1500 ? 1.8 : 2.6,
      pointHoverRadius: 5,
      data: []
    }));
    for (const point of shown) {
      const {family} = data.forms[data.configs[points.config[point.i]][0]];
      datasets[families.indexOf(family)].data.push({
        x: inColumns ? values.indexOf(point.value) + apart(point.i) : point.value,
        y: point.us / unit.us,
        us: point.us,
        value: point.value,
        config: points.config[point.i]
      });
    }
    const name = parameters.find(([key]) => key === chosen.parameter)[1];
    addTable('scatter', [name, 'µs', 'config'], () => shown.map((point) => [point.value, point.us, configText(points.config[point.i])]));
    draw('scatter', `Times by ${name}`, {
      type: 'scatter',
      data: {datasets},
      options: {
        scales: {
          x: inColumns
            ? {min: -0.5, max: values.length - 0.5, title: axisTitle(cut(name, 40)), grid: {display: false, drawBorder: false},
               afterBuildTicks: (axis) => { axis.ticks = values.map((value, i) => ({value: i})); },
               ticks: {callback: (at) => String(values[at]), autoSkip: true, maxRotation: 0}}
            : {title: axisTitle(cut(name, 40)), grid: {display: false, drawBorder: false}, ticks: {maxRotation: 0, maxTicksLimit: 8, includeBounds: false}},
          y: {...logAxis(`Time, ${unit.name}`, shown.map((point) => point.us / unit.us), 1.6), grid: {drawBorder: false}}
        },
        plugins: {
          legend: {display: families.length > 1},
          tooltip: {
            callbacks: {
              label: ({raw}) => `${cut(name, 30)} ${grouped(raw.value)}: ${timeText(raw.us)}` +
                (problem.flops > 0 ? `, ${digits(tflops(problem, raw.us))} TFLOP/s` : ''),
              footer: ([item]) => inLines(configText(item.raw.config))
            }
          }
        }
      }
    });
  }

  function showMap(problem, id, [down, across]) {
    const cells = problem.detail[id];
    const figure = byId(id);
    const map = figure.querySelector('.map');
    map.replaceChildren();
    let missing = '';
    if (problem.timed === 0) missing = 'No config of this problem has a time.';
    else if (cells.length === 0) missing = `No config with a time has the parameters ${down} and ${across}.`;
    const times = cells.map((cell) => cell[2]);
    const best = Math.min(...times);
    const worst = Math.max(...times);
    const unit = unitOf(best);
    const caption = `${unit.name}, rows ${down}, columns ${across}. Colour: logarithm of the time; framed: the best.` +
      (problem.source === 'measured' ? '' : " The static model's times: predicted, not timed.");
    if (!show(id, missing, caption)) return;
    addTable(id, [down, across, 'best, µs', 'configs'], () => cells);

    const rows = [...new Set(cells.map((cell) => cell[0]))].sort((a, b) => a - b);
    const columns = [...new Set(cells.map((cell) => cell[1]))].sort((a, b) => a - b);
    map.style.gridTemplateColumns = `48px repeat(${columns.length}, minmax(0, 1fr))`;
    map.append(element('div', 'axis', ''), ...columns.map((value) => element('div', 'axis', String(value))));
    for (const row of rows) {
      map.append(element('div', 'axis', String(row)));
      for (const column of columns) {
        const cell = cells.find((one) => one[0] === row && one[1] === column);
        if (cell === undefined) {
          map.append(element('div'));
          continue;
        }
        const [, , us, configs] = cell;
        const share = worst > best ? Math.log(worst / us) / Math.log(worst / best) : 1;
        const box = element('div', 'cell', digits(us / unit.us));
        box.style.setProperty('--share', String(0.06 + 0.94 * share));
        box.classList.toggle('strong', share > 0.85);
        box.classList.toggle('best', us === best);
        addTip(box, `${down} = ${row}, ${across} = ${column}\nbest of ${count(configs, 'config', 'configs')}: ${timeText(us)}` +
          (problem.flops > 0 ? `, ${digits(tflops(problem, us))} TFLOP/s` : '') +
          `\n${us === best ? 'the best of all' : `${digits(us / best)} times the best`}`);
        map.append(box);
      }
    }
  }

  const kOutcomes = [
    ['compile_failed', 'Refused by the compiler'],
    ['rejected', 'Rejected by resources'],
    ['launch_failed', 'Launch failed'],
    ['timed_out', 'Timed out'],
    ['crashed', 'Crashed'],
    ['wrong_result', 'Wrong result']
  ];

  function showOutcomes(problem) {
    const {outcomes, reasons} = problem.detail;
    const bars = byId('outcomes').querySelector('.bars');
    const measured = problem.source === 'measured';
    bars.replaceChildren();
    if (!show('outcomes', problem.tried === 0 ? 'No config was tried.' : '',
              'Configs that were compiled. How many the space has, and how many a rule excluded before, is not stored.')) return;
    const lines = [];
    addTable('outcomes', ['outcome', 'configs'], () => lines);
    const add = (text, value, bad, part) => {
      lines.push([text, value]);
      const bar = element('div', bad ? 'bar bad' : 'bar');
      const fill = element('i');
      bar.append(fill);
      bar.style.setProperty('--share', String(value / problem.tried));
      fill.hidden = value === 0;
      addTip(bar, `${text}: ${grouped(value)} of ${grouped(problem.tried)}, ${digits((100 * value) / problem.tried)} %`);
      bars.append(element('span', part ? 'part' : '', text), bar, element('span', 'count', grouped(value)));
    };
    add('Tried', problem.tried, false);
    for (const [key, text] of kOutcomes) {
      const value = outcomes[key] || 0;
      if (value === 0 && !(measured && key === 'wrong_result')) continue;
      add(text, value, true);
      for (const [disposition, reason, number, differ] of reasons) {
        if (disposition !== key) continue;
        lines.push([`${text}: ${reason}`, number]);
        bars.append(element('span', 'reason', `${grouped(number)}: ${reason}${differ ? ' (and the same with other numbers)' : ''}`));
      }
    }
    add(measured ? 'Verified and timed' : 'Compiled, time predicted', outcomes.ok || 0, false);
    if (!measured) return;
    add('in the finals', outcomes.finalists, false, true);
    add('not shown to be slower', outcomes.tied, false, true);
  }

  function showShares(problem) {
    const fewest = 20;
    const shares = problem.detail.shares.slice(0, 12);
    let missing = '';
    if (problem.timed < fewest) {
      missing = `${count(problem.timed, 'config has', 'configs have')} a time: too few to tell parameters apart (${fewest} are needed).`;
    } else if (shares.length === 0) {
      missing = 'The configs with a time differ in no parameter.';
    }
    const caption = 'η² = Σ nᵥ (ȳᵥ − ȳ)² / Σ (y − ȳ)² with y = log time: the share of the variance that a parameter alone explains, ' +
      'among the configs that have it. Shares overlap and need not add up to 100 %. A search tries promising configs more often, which this does not correct.';
    if (!show('shares', missing, caption)) return undraw('shares');
    addTable('shares', ['parameter', 'η²', 'values', 'configs'], () => shares);
    byId('shares').querySelector('.canvas').style.height = `${Math.max(shares.length * 24 + 50, 120)}px`;
    draw('shares', 'Share of the variance of log time that each parameter explains', {
      type: 'bar',
      data: {
        labels: shares.map(([name]) => cut(name, 20)),
        datasets: [{data: shares.map((share) => 100 * share[1]), backgroundColor: color('gain'), barThickness: 13, borderRadius: 2, minBarLength: 2}]
      },
      options: {
        indexAxis: 'y',
        layout: {padding: {right: 44}},
        scales: {
          x: {min: 0, suggestedMax: 20, grid: {drawBorder: false}, ticks: {callback: (value) => `${value} %`, maxRotation: 0, maxTicksLimit: 6}},
          y: {grid: {display: false, drawBorder: false}, ticks: {color: color('text'), autoSkip: false}}
        },
        plugins: {
          legend: {display: false},
          barLabels: {texts: shares.map((share) => `${(100 * share[1]).toFixed(1)} %`)},
          tooltip: {
            callbacks: {
              label: ({dataIndex}) => {
                const [, share, values, configs] = shares[dataIndex];
                return [`η² = ${digits(share)}`, `${count(values, 'value', 'values')}, ${count(configs, 'config', 'configs')}`];
              }
            }
          }
        }
      },
      plugins: [barLabels]
    });
  }

  function showProblem() {
    const detailed = problems().filter((problem) => problem.detail !== null);
    if (!detailed.some((problem) => problem.problem === chosen.problem)) {
      const largest = detailed.reduce((a, b) => (a === null || b.timed > a.timed ? b : a), null);
      chosen.problem = largest === null ? null : largest.problem;
    }
    fillSelect(byId('problem'), detailed.map((one) => [one.problem, one.problem]), chosen.problem);
    byId('problem').parentElement.hidden = detailed.length === 0;
    byId('problem-parts').hidden = detailed.length === 0;
    say('problem-missing', detailed.length === 0 ? 'There is no problem to show.' : '');
    if (detailed.length === 0) return;
    const problem = detailed.find((one) => one.problem === chosen.problem);
    byId('printed-problem').textContent = `: ${problem.problem}`;
    showWinner(problem);
    showSearch(problem);
    showScatter(problem);
    showMap(problem, 'tiles', ['BM', 'BN']);
    showMap(problem, 'thread_tiles', ['TM', 'TN']);
    showOutcomes(problem);
    showShares(problem);
  }

  // ---- The table, the head, the choices ---------------------------------------------------------

  function showWinners() {
    const operands = chosen.operands;
    const won = problems().filter((problem) => problem.winner !== null);
    byId('winners').hidden = won.length === 0;
    say('winners-missing', won.length === 0 ? 'No problem has a winner.' : '');
    const shown = chosen.allWinners ? won : won.slice(0, 100);
    byId('all-winners').hidden = shown.length === won.length;
    byId('all-winners').textContent = `Show all ${grouped(won.length)}`;
    byId('winners').querySelector('tbody').replaceChildren(...shown.map((problem) => {
      const row = element('tr');
      const first = element('td', '', problem.problem);
      first.append(configElement('span', problem.winner.config));
      row.append(first);
      const us = isTimed(problem) ? problem.winner[operands] : problem.winner.us;
      const add = (name, text, className) => {
        const cell = element('td', `number ${className || ''}`, text);
        cell.dataset.name = name;
        row.append(cell);
      };
      add('Time', us === null ? '–' : `${timeText(us)}${isTimed(problem) ? '' : ' predicted'}`);
      add('TFLOP/s', us === null ? '–' : digits(tflops(problem, us)));
      for (const [name, beside] of [['Over cuBLAS', 'cublas'], ['Over better', 'better']]) {
        const ratio = ratioOf(problem, beside);
        add(name, ratio === null ? '–' : percentText(ratio), ratio !== null && ratio < 1 ? 'loss' : '');
      }
      return row;
    }));
  }

  function showHead() {
    const deviceText = (device) => `${device.name} (${device.arch}, ${grouped(device.sm_count)} SMs)`;
    byId('program').textContent = `${data.program} report`;
    byId('database').textContent = data.database;
    document.title = `${data.database} – gemm-tune report`;
    const [first] = data.devices;
    byId('facts').textContent = data.rows === 0
      ? "The database holds no results of this program's kernels, so there is nothing to draw."
      : `${count(data.rows, 'result', 'results')} for ${count(data.problem_count, 'problem', 'problems')} on ` +
        (data.devices.length === 1 ? deviceText(first) : `${data.devices.length} devices`) +
        ` · ${data.environments.join('; ')}`;
    const notes = [];
    if (data.rows_of_other_revisions > 0) {
      notes.push(`${count(data.rows_of_other_revisions, 'further result is', 'further results are')} of other kernel texts than this program's, and left out.`);
    }
    if (data.problems.length < data.problem_count) {
      notes.push(`${grouped(data.problems.length)} of ${grouped(data.problem_count)} problems are shown, those with the most results: --arch and --type narrow the choice.`);
    }
    const detailed = data.problems.filter((problem) => problem.detail !== null).length;
    if (detailed < data.problems.length) {
      notes.push(`One problem can be chosen among the ${grouped(detailed)} with the most results.`);
    }
    if (data.rows > 0 && data.problems.every((problem) => problem.source === 'predicted')) {
      notes.push('Every time here is predicted by the static model: nothing was timed.');
    }
    byId('notes').replaceChildren(...notes.map((text) => element('li', '', text)));
    fillSelect(byId('device'), data.devices.map((device, i) => [i, deviceText(device)]), chosen.device);
    byId('device-label').hidden = data.devices.length < 2;
    const anyTimed = data.problems.some(isTimed);
    for (const id of ['beside', 'operands']) byId(id).parentElement.hidden = !anyTimed;
    byId('controls').hidden = !anyTimed && data.devices.length < 2;
    document.querySelector('main').hidden = data.rows === 0;
  }

  function showAll() {
    styleCharts();
    if (data.problems.length === 0) return;
    fillBeside();
    showSpeedup();
    showRoofline();
    showProblem();
    showWinners();
  }

  function onChoice(id, name, parse, act) {
    byId(id).addEventListener('change', (event) => {
      chosen[name] = parse(event.target.value);
      act();
    });
  }

  const same = (value) => value;
  const current = () => problems().find((problem) => problem.problem === chosen.problem);
  onChoice('device', 'device', Number, showAll);
  onChoice('beside', 'beside', same, showAll);
  onChoice('operands', 'operands', same, showAll);
  onChoice('problem', 'problem', same, showProblem);
  onChoice('search-axis', 'axis', same, () => showSearch(current()));
  onChoice('parameter', 'parameter', same, () => showScatter(current()));

  byId('all-winners').addEventListener('click', () => {
    chosen.allWinners = true;
    showWinners();
  });

  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', showAll);
  matchMedia('(max-width: 760px)').addEventListener('change', showAll);
  // Paper is light, and finer than a screen.
  const print = (begins) => {
    document.documentElement.classList.toggle('printing', begins);
    Chart.defaults.devicePixelRatio = begins ? 3 : undefined;
    showAll();
  };
  addEventListener('beforeprint', () => print(true));
  addEventListener('afterprint', () => print(false));

  showHead();
  showAll();
})();
