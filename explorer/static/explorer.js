"use strict";
// The explorer's own behaviour: a live part that renews itself, figures that load when opened, the chart, and the SQL box.
(() => {
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const live = document.querySelector("[data-live]");
  if (live?.dataset.every) {
    const renew = async () => {
      try {
        const answer = await fetch(live.dataset.live);
        if (answer.ok) {
          const open = new Set([...live.querySelectorAll("details[open] > summary")].map((s) => s.textContent));
          live.innerHTML = await answer.text();
          for (const summary of live.querySelectorAll("details > summary")) if (open.has(summary.textContent)) summary.parentElement.open = true;
          if (!live.querySelector(".s-running")) { location.reload(); return; } // the whole page says that the run is over
        }
      } catch { /* the server is gone or busy: try again */ }
      setTimeout(renew, Number(live.dataset.every));
    };
    setTimeout(renew, Number(live.dataset.every));
  }

  for (const part of document.querySelectorAll("details[data-figure]")) {
    part.addEventListener("toggle", () => {
      const image = part.querySelector("img[data-src]");
      if (part.open && image) { image.src = image.dataset.src; image.removeAttribute("data-src"); }
    });
  }

  const canvas = document.querySelector("canvas[data-chart]");
  if (canvas && window.Chart) {
    const given = JSON.parse(document.getElementById(canvas.dataset.chart).textContent);
    const colours = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#5D3A9B", "#7A7A7A"];
    const shapes = ["circle", "rect", "triangle", "rectRot", "star", "crossRot"];
    // Numbers along the axis: medians joined by a line, quartiles as whiskers. Names: quartiles as floating bars side by side.
    const numeric = given.labels.length > 1 && given.labels.every((l) => l.trim() !== "" && Number.isFinite(Number(l)));
    const marks = {
      id: "marks",
      afterDatasetsDraw(chart) {
        const { ctx, chartArea, scales: { y } } = chart;
        ctx.save();
        ctx.beginPath();
        ctx.rect(chartArea.left, chartArea.top, chartArea.width, chartArea.height);
        ctx.clip();
        chart.data.datasets.forEach((set, index) => {
          if (!chart.isDatasetVisible(index)) return;
          chart.getDatasetMeta(index).data.forEach((shape, i) => {
            const point = set.given[i];
            if (!point) return;
            ctx.beginPath();
            if (numeric) {
              ctx.strokeStyle = set.borderColor;
              ctx.moveTo(shape.x, y.getPixelForValue(point[1]));
              ctx.lineTo(shape.x, y.getPixelForValue(point[2]));
            } else {
              const half = Math.max(shape.width / 2, 4);
              ctx.strokeStyle = style("--ink");
              ctx.lineWidth = 2;
              ctx.moveTo(shape.x - half, y.getPixelForValue(point[0]));
              ctx.lineTo(shape.x + half, y.getPixelForValue(point[0]));
            }
            ctx.stroke();
          });
        });
        ctx.restore();
      },
    };
    const all = given.series.flatMap((s) => s.points.filter(Boolean).flat());
    const least = Math.min(...all);
    const most = Math.max(...all);
    const wide = least > 0 && most / least > 100;
    const axis = { grid: { color: style("--line") }, ticks: { color: style("--ink") } };
    const title = (text) => ({ display: Boolean(text), text, color: style("--ink") });
    new Chart(canvas, {
      type: numeric ? "line" : "bar",
      data: {
        labels: given.labels,
        datasets: given.series.map((s, i) => ({
          label: s.name,
          given: s.points,
          data: s.points.map((p) => (p ? (numeric ? p[0] : [p[1], p[2]]) : null)),
          borderColor: colours[i % colours.length],
          backgroundColor: colours[i % colours.length] + (numeric ? "" : "aa"),
          pointStyle: shapes[i % shapes.length],
          pointRadius: 5,
          borderWidth: 1.5,
          minBarLength: 2,
        })),
      },
      options: {
        animation: false,
        maintainAspectRatio: false,
        scales: { x: { ...axis, title: title(given.group) }, y: { ...axis, title: title(given.title), type: wide ? "logarithmic" : "linear", grace: "3%", suggestedMin: least, suggestedMax: most, beginAtZero: false } },
        plugins: { legend: { labels: { color: style("--ink"), usePointStyle: true } } },
      },
      plugins: [marks],
    });
  }

  const box = document.querySelector("textarea[data-sql]");
  if (box) {
    box.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); box.form.requestSubmit(); }
    });
    const key = "orledger.queries";
    const list = document.querySelector("[data-saved]");
    const load = () => { try { return JSON.parse(localStorage.getItem(key) || "[]"); } catch { return []; } };
    const show = () => {
      list.replaceChildren(...load().map((query) => {
        const item = document.createElement("li");
        const link = document.createElement("a");
        link.href = `/sql?q=${encodeURIComponent(query)}`;
        link.textContent = query.replace(/\s+/g, " ").slice(0, 100);
        const gone = document.createElement("button");
        gone.type = "button";
        gone.textContent = "forget";
        gone.addEventListener("click", () => { localStorage.setItem(key, JSON.stringify(load().filter((q) => q !== query))); show(); });
        item.append(link, " ", gone);
        return item;
      }));
    };
    const save = document.querySelector("[data-save]");
    save.hidden = false;
    save.addEventListener("click", () => {
      if (box.value.trim()) localStorage.setItem(key, JSON.stringify([...new Set([box.value, ...load()])].slice(0, 30)));
      show();
    });
    show();
  }
})();
