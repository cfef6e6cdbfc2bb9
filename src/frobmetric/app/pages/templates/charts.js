// Charts of the dimensions: shares of the variance, and errors.

function line(name, x, y, colour, dash) {
  return { name, x, y, type: "scatter", mode: "lines+markers", marker: { size: 6, color: colour }, line: { color: colour, width: 2, dash } };
}

function chart(id, curves, xTitle, yTitle) {
  const axis = (text) => ({
    title: { text: text, font: { size: 13 }, standoff: 8 }, gridcolor: colourOf("--grid"), linecolor: colourOf("--line"),
    zeroline: false, fixedrange: true, automargin: true,
  });
  const widest = Math.max(...curves.flatMap((curve) => curve.x));
  const layout = {
    ...plotSize(byId(id)),
    margin: { l: 56, r: 10, t: 10, b: 46 },
    xaxis: { ...axis(xTitle), type: widest > 20 ? "log" : "linear", dtick: widest > 20 ? undefined : widest > 10 ? 2 : 1 },
    yaxis: { ...axis(yTitle), ticksuffix: " %", rangemode: "tozero" },
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: colourOf("--muted"), family: getComputedStyle(document.body).fontFamily, size: 12 },
    legend: { x: 0.98, xanchor: "right", y: id === "chart-spectrum" ? 0.05 : 0.98, yanchor: id === "chart-spectrum" ? "bottom" : "top", bgcolor: "rgba(0,0,0,0)" },
    hovermode: "x", dragmode: false,
  };
  if (widest > 20) {
    const ticks = [1, 2, 5, 10, 20, 50, 100, 200].filter((tick) => tick <= widest);
    layout.xaxis.tickvals = ticks;
    layout.xaxis.ticktext = ticks.map(String);
  }
  return Plotly.react(byId(id), curves, layout, { displayModeBar: false, responsive: true });
}

function drawCharts() {
  const [before, after] = [colourOf("--before-fill"), colourOf("--after-fill")];
  const numbers = (values) => values.map((_, i) => i + 1);
  const percent = (values) => values.map((value) => 100 * value);
  const [first, second] = data.spectra;
  const drawn = [
    chart(
      "chart-spectrum",
      [line("before", numbers(first), percent(first), before, "dot"), line("after", numbers(second), percent(second), after)],
      "number of directions", "share of the variance",
    ),
  ];
  if (byId("chart-dimensions")) {
    const curves = data.dimensions;
    drawn.push(
      chart(
        "chart-dimensions",
        [
          line("before", curves.before.sizes, percent(curves.before.errors), before, "dot"),
          line("after", curves.after.sizes, percent(curves.after.errors), after),
        ],
        "number of dimensions", "errors",
      ),
    );
  }
  return Promise.all(drawn);
}

onTheme(drawCharts);
Promise.all([mapsReady, drawCharts()]).then(() => {
  document.documentElement.dataset.ready = "yes";
});
