// Two maps of the samples: before, and from before to after by the slider.

const CHANGES = ["not tested", "right before and after", "put right", "spoiled", "wrong before and after"];
const chosen = [data.start[0], data.start[1]];
const chooseListeners = [];
const plots = [byId("plot-before"), byId("plot-after")];
const hidden = new Set();
let share = 1;
let hovered = -1;

function groupColour(group) {
  if (byId("colour").value === "class") return classColour(group);
  return [colourOf("--line"), isDark() ? "#5d6a76" : "#c3ccd4", "#0072b2", "#d55e00", "#cc79a7"][group];
}

function groups() {
  const isClass = byId("colour").value === "class";
  const names = isClass ? data.classes : CHANGES;
  const members = names.map(() => []);
  const of = isClass ? codes : changes;
  for (let i = 0; i < data.n; i++) members[of[i]].push(i);
  return names.map((name, group) => ({ name, group, members: members[group] })).filter((g) => g.members.length);
}

let shownGroups = groups();

function hasWebGL() {
  const canvas = document.createElement("canvas");
  return Boolean(canvas.getContext("webgl2") || canvas.getContext("webgl"));
}

// Points beyond some thousand are drawn by WebGL, where the browser has it.
const kind = data.n > 3000 && hasWebGL() ? "scattergl" : "scatter";
const size = Math.max(3.2, Math.min(9, 220 / Math.sqrt(data.n)));

function place(axis, t, members) {
  const [from, to] = [planes[0][axis], planes[1][axis]];
  return Array.from(members, (i) => (1 - t) * from[i] + t * to[i]);
}

function traces(t) {
  return shownGroups.map((g) => ({
    type: kind,
    mode: "markers",
    x: place(0, t, g.members),
    y: place(1, t, g.members),
    customdata: g.members,
    hoverinfo: "none",
    showlegend: false,
    visible: !hidden.has(g.group),
    marker: { size: size, color: groupColour(g.group), opacity: data.n > 2000 ? 0.65 : 0.85, line: { width: 0 } },
  }));
}

function extent(axis) {
  let largest = 0;
  for (const plane of planes) for (const value of plane[axis]) largest = Math.max(largest, Math.abs(value));
  return 1.08 * (largest || 1);
}

const ranges = [extent(0), extent(1)];

function layout(plot) {
  const axis = (text, reach) => ({
    title: { text: text, font: { size: 12 }, standoff: 6 },
    range: [-reach, reach], showticklabels: false, ticks: "", zeroline: false, gridcolor: colourOf("--grid"),
  });
  const touch = window.matchMedia("(pointer: coarse)").matches;
  return {
    ...plotSize(plot),
    margin: { l: 30, r: 8, t: 8, b: 30 },
    xaxis: axis("first direction", ranges[0]),
    yaxis: { ...axis("second direction", ranges[1]), scaleanchor: "x" },
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: colourOf("--muted"), family: getComputedStyle(document.body).fontFamily },
    dragmode: touch ? false : "zoom", hovermode: "closest", uirevision: "keep",
  };
}

const config = { displayModeBar: false, responsive: true, doubleClick: "reset" };

function drawMaps() {
  shownGroups = groups();
  return Promise.all(plots.map((plot, side) => Plotly.react(plot, traces(side ? share : 0), layout(plot), config))).then(drawMarks);
}

// Rings around A, B and the sample under the mouse. They lie above the plots, because a plot that is
// drawn again while the mouse is over it would lose the next click.
const rings = plots.map((plot) =>
  ["A", "B", ""].map((letter) => {
    const ring = element("div", letter ? "ring" : "ring hover", letter);
    plot.parentNode.append(ring);
    return ring;
  }),
);

function drawMarks() {
  plots.forEach((plot, side) => {
    const { xaxis, yaxis } = plot._fullLayout;
    [...chosen, hovered].forEach((i, which) => {
      const ring = rings[side][which];
      const t = side ? share : 0;
      const [x, y] = i < 0 ? [-1, -1] : [xaxis.l2p(place(0, t, [i])[0]), yaxis.l2p(place(1, t, [i])[0])];
      const inside = x >= 0 && y >= 0 && x <= xaxis._length && y <= yaxis._length;
      ring.style.display = inside ? "block" : "none";
      ring.style.left = `${xaxis._offset + x}px`;
      ring.style.top = `${yaxis._offset + y}px`;
    });
    const [a, b] = rings[side]; // their letters are on the sides that face away from each other
    const isRight = parseFloat(a.style.left) > parseFloat(b.style.left);
    a.classList.toggle("left", !isRight);
    b.classList.toggle("left", isRight);
  });
}

function moveTo(value) {
  share = value;
  const all = traces(share);
  Plotly.restyle(plots[1], { x: all.map((t) => t.x), y: all.map((t) => t.y) });
  drawMarks();
  const percent = Math.round(100 * share);
  byId("title-after").textContent = percent === 100 ? "After" : percent === 0 ? "Before" : `${percent} % of the way to after`;
}

function choose(which, i) {
  chosen[which] = i;
  if (which === 0 && chosen[1] === i) chosen[1] = neighbours[1][i * nearCount];
  drawMarks();
  chooseListeners.forEach((listener) => listener());
}

// Hover: the same sample is marked in both maps.
function describe(i, x, y) {
  const tip = byId("tip");
  tip.replaceChildren(element("div", "", `${nameOf(i)}: ${data.classes[codes[i]]}`));
  if (changes[i]) tip.append(element("div", "", `held-out votes: ${CHANGES[changes[i]]}`));
  if (data.image && table) tip.append(pictureOf(i));
  tip.style.display = "block";
  tip.style.left = `${Math.min(x + 14, window.innerWidth - tip.offsetWidth - 8)}px`;
  tip.style.top = `${Math.min(y + 14, window.innerHeight - tip.offsetHeight - 8)}px`;
}

function listen(plot) {
  plot.on("plotly_afterplot", drawMarks); // zoomed or resized
  plot.on("plotly_hover", (event) => {
    const i = event.points[0].customdata;
    if (i === undefined) return;
    hovered = i;
    drawMarks();
    describe(i, event.event.clientX, event.event.clientY);
  });
  plot.on("plotly_unhover", () => {
    hovered = -1;
    drawMarks();
    byId("tip").style.display = "none";
  });
  plot.on("plotly_click", (event) => {
    const i = event.points[0].customdata;
    if (i !== undefined) choose(Number(byId("clicks").value), i);
  });
}

function drawLegend() {
  const legend = byId("legend");
  legend.replaceChildren();
  if (shownGroups.length > 24) {
    legend.append(element("span", "muted", `${shownGroups.length} classes; hover over a sample to see its class`));
    return;
  }
  for (const g of shownGroups) {
    const chip = element("button", "chip");
    const dot = element("i", "dot");
    dot.style.background = groupColour(g.group);
    chip.type = "button";
    chip.title = g.name;
    chip.setAttribute("aria-pressed", String(!hidden.has(g.group)));
    chip.append(dot, element("span", "", g.name), element("span", "muted", g.members.length.toLocaleString("en")));
    chip.addEventListener("click", () => {
      if (!hidden.delete(g.group)) hidden.add(g.group);
      chip.setAttribute("aria-pressed", String(!hidden.has(g.group)));
      drawMaps();
    });
    legend.append(chip);
  }
}

// Play: the slider goes to the other end, or to Euclid and back.
function play() {
  const slider = byId("slider");
  const button = byId("play");
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const target = share > 0.5 ? 0 : 1;
  const began = performance.now();
  const start = share;
  button.disabled = true;
  function step(now) {
    const passed = still ? 1 : Math.min(1, Math.max(0, now - began) / 1600);
    const eased = passed * passed * (3 - 2 * passed);
    slider.value = String(Math.round(100 * (start + (target - start) * eased)));
    moveTo(start + (target - start) * eased);
    if (passed < 1) requestAnimationFrame(step);
    else button.disabled = false;
  }
  requestAnimationFrame(step);
}

byId("slider").addEventListener("input", (event) => moveTo(Number(event.target.value) / 100));
byId("play").addEventListener("click", play);
byId("colour").addEventListener("change", () => {
  hidden.clear();
  drawMaps().then(drawLegend);
});
const percents = data.shares.map((value) => Math.round(100 * value));
byId("share-before").textContent = `${percents[0]} % of the variance before is in this plane.`;
byId("share-after").textContent = `${percents[1]} % of the variance after is in this plane.`;
const mapsReady = drawMaps().then(() => {
  plots.forEach(listen);
  drawLegend();
});
onTheme(() => drawMaps().then(drawLegend));
