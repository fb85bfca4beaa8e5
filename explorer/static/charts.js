"use strict";
// The chart of a page, from the data that stands in it: medians and quartiles of a metric by group, or the series of a cell.
(() => {
  const canvas = document.querySelector("canvas[data-chart]");
  if (!canvas || !window.Chart) return;
  const given = JSON.parse(document.getElementById(canvas.dataset.chart).textContent);
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colours = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#5D3A9B", "#7A7A7A"];
  const shapes = ["circle", "rect", "triangle", "rectRot", "star", "crossRot"];
  const colour = (i) => colours[i % colours.length];
  const dash = (i) => [[], [6, 3], [2, 3], [8, 3, 2, 3]][Math.floor(i / colours.length) % 4]; // the ninth line repeats a colour, not its look
  const plain = (value) => {
    const rounded = Number(Number(value).toPrecision(6));
    const size = Math.abs(rounded);
    return size !== 0 && (size >= 1e6 || size < 1e-3) ? rounded.toExponential().replace("e+", "e") : String(rounded);
  };
  const short = (text, most = 24) => (text.length > most ? `${text.slice(0, most / 3)}…${text.slice(1 - (2 * most) / 3)}` : text); // names of one family differ at their end
  const ROOM = 12; // arms that have room side by side
  const SPREAD = 30; // groups that lie further apart than this stand on a logarithmic axis
  const isNumber = (text) => text.trim() !== "" && Number.isFinite(Number(text));
  const many = (numbers, factor = 100) => numbers.length > 1 && Math.min(...numbers) > 0 && Math.max(...numbers) / Math.min(...numbers) > factor;

  // An axis of numbers; one that spans more than two orders of magnitude has a logarithmic scale.
  const axis = (title) => ({ grid: { color: style("--line") }, ticks: { color: style("--ink") }, title: { display: Boolean(title), text: title, color: style("--ink") } });
  const scale = (numbers, title, factor) => {
    const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
    const base = axis(title);
    if (!many(numbers, factor)) return { ...base, type: "linear", grace: "4%", suggestedMin: least, suggestedMax: most, beginAtZero: false, ticks: { ...base.ticks, callback: plain } };
    const powers = Math.log10(most / least) > 3;
    const callback = (value) => (!powers || Number.isInteger(Math.log10(value)) ? plain(value) : "");
    return { ...base, type: "logarithmic", title: { ...base.title, text: `${title}, logarithmic` }, min: least / 1.3, max: most * 1.3, ticks: { ...base.ticks, callback } };
  };

  const exact = (numbers, title) => ({ ...scale(numbers, title), type: "linear", grace: 0, min: Math.min(...numbers), max: Math.max(...numbers), title: axis(title).title });

  // Quartiles: whiskers beside the points of a line, or bars with the median drawn over them.
  const quartiles = (lines, lying) => ({
    id: "quartiles",
    afterDatasetsDraw(chart) {
      const { ctx, chartArea, scales: { x, y } } = chart;
      ctx.save();
      ctx.beginPath();
      ctx.rect(chartArea.left, chartArea.top, chartArea.width, chartArea.height);
      ctx.clip();
      chart.data.datasets.forEach((set, index) => {
        if (!chart.isDatasetVisible(index)) return;
        chart.getDatasetMeta(index).data.forEach((shape, i) => {
          const point = set.given[i];
          if (!point) return;
          const half = lines ? 0 : Math.max((lying ? shape.height : shape.width) / 2, 4);
          ctx.beginPath();
          ctx.strokeStyle = lines ? set.borderColor : style("--ink");
          ctx.lineWidth = lines ? 1 : 2;
          if (lying) {
            ctx.moveTo(x.getPixelForValue(point[0]), shape.y - half);
            ctx.lineTo(x.getPixelForValue(point[0]), shape.y + half);
          } else {
            ctx.moveTo(shape.x - half, y.getPixelForValue(lines ? point[1] : point[0]));
            ctx.lineTo(shape.x + half, y.getPixelForValue(lines ? point[2] : point[0]));
          }
          ctx.stroke();
        });
      });
      ctx.restore();
    },
  });
  const told = (item) => {
    const point = item.dataset.given?.[item.dataIndex];
    if (!point) return `${item.dataset.label}: ${plain(item.parsed.y)}`;
    const [median, low, high, n] = point.map(plain);
    return `${item.dataset.label ? `${item.dataset.label}: ` : ""}median ${median}, quartiles ${low} to ${high}, n ${n}`;
  };

  const courses = () => ({
    type: "line",
    data: { datasets: given.lines.map((l, i) => ({ label: l.name, data: l.points.map(([x, y]) => ({ x, y })), borderColor: colour(i), backgroundColor: colour(i), borderDash: dash(i), borderWidth: 1.5, pointRadius: l.points.length > 60 ? 0 : 3, pointStyle: shapes[i % shapes.length] })) },
    scales: { x: exact(given.lines.flatMap((l) => l.points.map((p) => p[0])), given.group), y: scale(given.lines.flatMap((l) => l.points.map((p) => p[1])), given.title) },
    plugins: [],
  });
  const groups = () => {
    const alone = given.labels.length <= 1; // then the arms stand side by side along the axis
    const lines = !alone && given.labels.every(isNumber);
    const numbered = lines && !(given.labels.some((l) => Number(l) === 0) && many(given.labels.map(Number).filter((v) => v > 0), SPREAD)); // zero has no place among powers
    const lying = alone && given.series.length > ROOM; // many arms stand below each other, the smallest median first
    const arms = lying ? [...given.series].sort((a, b) => (a.points[0]?.[0] ?? 0) - (b.points[0]?.[0] ?? 0)) : given.series;
    const labels = alone ? arms.map((s) => s.name) : given.labels;
    const series = alone ? [{ name: "", points: arms.map((s) => s.points[0] ?? null) }] : given.series;
    const paint = (i, suffix) => (alone ? labels.map((_, k) => colour(k) + suffix) : colour(i) + suffix);
    const datasets = series.map((s, i) => ({
      label: s.name,
      given: lines ? s.points.filter(Boolean) : s.points,
      data: lines ? s.points.flatMap((p, k) => (p ? [{ x: numbered ? Number(labels[k]) : labels[k], y: p[0] }] : [])) : s.points.map((p) => (p ? [p[1], p[2]] : null)),
      borderColor: paint(i, ""),
      backgroundColor: paint(i, lines ? "" : "99"),
      borderDash: lines ? dash(i) : [],
      borderWidth: 1.5,
      pointStyle: lines ? shapes[i % shapes.length] : "rect",
      pointRadius: 4,
      minBarLength: 2,
    }));
    const numbers = given.series.flatMap((s) => s.points.filter(Boolean).flatMap((p) => p.slice(0, 3)));
    const named = axis(alone ? "" : given.group);
    if (lying) {
      const longest = canvas.parentElement.clientWidth < 600 ? 24 : 80;
      canvas.parentElement.style.height = `${6 + 1.4 * labels.length}rem`;
      const y = { ...named, ticks: { ...named.ticks, autoSkip: false, callback: (_, k) => short(labels[k], longest) } };
      return { type: "bar", data: { labels, datasets }, scales: { x: scale(numbers, given.title), y }, plugins: [quartiles(false, true)], lying };
    }
    const x = numbered ? scale(labels.map(Number), given.group, SPREAD) : { ...named, ticks: { ...named.ticks, callback: (_, k) => short(labels[k]) } };
    return { type: lines ? "line" : "bar", data: { labels: numbered ? undefined : labels, datasets }, scales: { x, y: scale(numbers, given.title) }, plugins: [quartiles(lines)] };
  };

  let chart;
  const draw = () => {
    chart?.destroy();
    const { type, data, scales, plugins, lying } = given.lines ? courses() : groups();
    const legend = { display: data.datasets.length > 1, labels: { color: style("--ink"), usePointStyle: true, pointStyleWidth: 14, boxHeight: 7 } };
    const tooltip = { callbacks: { title: (items) => `${given.group ? `${given.group} ` : ""}${items[0].label || items[0].parsed.x}`, label: told } };
    const interaction = { mode: given.lines ? "index" : "nearest", intersect: false };
    chart = new Chart(canvas, { type, data, plugins, options: { animation: false, maintainAspectRatio: false, indexAxis: lying ? "y" : "x", interaction: lying ? { ...interaction, axis: "y" } : interaction, scales, plugins: { legend, tooltip } } });
  };
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
