"use strict";
// The questions of a session. The server is told each click, and sends what to show next.

let serial = null;
let busy = false;

function showMessage(text) {
  byId("message").hidden = !text;
  byId("message").textContent = text || "";
}

function showItem(id, item) {
  const node = byId(id);
  node.replaceChildren();
  if (item.picture) {
    const picture = element("img");
    picture.src = item.picture;
    picture.alt = item.name;
    node.append(picture);
  } else {
    const box = element("div", "values");
    const table = element("table");
    for (const [name, value] of item.values) {
      const row = element("tr");
      row.append(element("th", "", name), element("td", "", value));
      table.append(row);
    }
    box.append(table);
    node.append(box);
  }
  node.append(element("span", "name", item.name));
}

const percent = (value) => (100 * value).toFixed(0) + " %";

function drawing(tag, values, text) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(values)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

function showCurve(history, euclid) {
  const curve = byId("curve");
  curve.toggleAttribute("hidden", history.length < 2);
  if (history.length < 2) return;
  const width = curve.clientWidth || 600, height = 110;
  const values = history.map((point) => point[1]).concat([euclid, 0.5, 1]);
  const low = Math.min(...values), last = history[history.length - 1][0], first = history[0][0];
  const x = (n) => 40 + ((width - 50) * (n - first)) / (last - first);
  const y = (value) => 10 + ((height - 30) * (1 - value)) / (1 - low);
  const path = history.map(([n, value], i) => `${i ? "L" : "M"}${x(n)} ${y(value)}`).join("");
  curve.setAttribute("viewBox", `0 0 ${width} ${height}`);
  curve.replaceChildren(
    drawing("line", { x1: 40, x2: width - 10, y1: y(euclid), y2: y(euclid) }),
    drawing("path", { d: path }),
    drawing("circle", { cx: x(last), cy: y(history[history.length - 1][1]), r: 4 }),
    drawing("text", { x: 0, y: y(1) + 4 }, "100 %"),
    drawing("text", { x: 0, y: y(low) + 4 }, percent(low)),
    drawing("text", { x: 40, y: height - 3 }, `${first} answers`),
    drawing("text", { x: width - 10, y: height - 3, "text-anchor": "end" }, String(last)),
  );
}

function showProgress(state) {
  const { agreement, changed } = state;
  byId("answers").textContent = state.n_answers;
  byId("agreement").textContent = agreement ? percent(agreement.value) : "–";
  byId("euclid").textContent = agreement ? percent(state.euclid) : "–";
  byId("interval").textContent = agreement
    ? `On ${agreement.n} of your answers to questions drawn at random, each predicted without it. ` +
      `95 % interval: ${percent(agreement.low)} to ${percent(agreement.high)}.`
    : "";
  const left = state.n_first - state.n_answers;
  byId("until").textContent = left > 0
    ? `The agreement is shown from ${state.n_first} answers on: ${left} more.`
    : "";
  byId("settled").className = state.has_settled ? "small settled" : "small muted";
  byId("settled").textContent = changed === null ? "" :
    `The last ${state.n_last} answers changed ${percent(changed)} of the predictions. ` +
    (state.has_settled ? "More answers are unlikely to help much." : "More answers still help.");
  showCurve(state.history, state.euclid);
}

function show(state) {
  serial = state.serial;
  const isOver = state.question.length === 0;
  byId("asked").textContent = isOver
    ? "All questions about these items were asked."
    : "Which of these two is more like this one?";
  for (const id of ["anchor", "left", "right", "skip"]) byId(id).hidden = isOver;
  if (!isOver) ["anchor", "left", "right"].forEach((id, i) => showItem(id, state.question[i]));
  byId("undo").disabled = !state.can_undo;
  showProgress(state);
  document.documentElement.dataset.serial = serial;
  document.documentElement.dataset.ready = "yes";
}

async function request(name, content) {
  if (busy) return;
  busy = true;
  byId("ask").classList.add("busy");
  try {
    const options = content && { method: "POST", body: JSON.stringify(content) };
    const reply = await fetch(name, options).catch(() => null);
    if (!reply) {
      showMessage("The command no longer runs. Your answers are saved: start it again with --resume.");
    } else if (!reply.ok) {
      showMessage(`This did not work: ${await reply.text()}`);
    } else {
      show(await reply.json());
      showMessage("");
    }
  } finally {
    busy = false;
    byId("ask").classList.remove("busy");
  }
}

const act = (action) => byId(action).hidden || byId(action).disabled || request("act", { serial, action });

for (const action of ["left", "right", "skip", "undo"]) {
  byId(action).addEventListener("click", () => act(action));
}

const KEYS = { ArrowLeft: "left", ArrowRight: "right", " ": "skip", Backspace: "undo" };
document.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.altKey || event.metaKey || !(event.key in KEYS)) return;
  if (event.key === " " && event.target.tagName === "BUTTON") return;  // presses that button
  event.preventDefault();
  act(KEYS[event.key]);
});

request("state");
