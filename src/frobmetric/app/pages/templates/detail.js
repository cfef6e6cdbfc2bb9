// Neighbours of sample A, and the parts of the distance between the samples A and B.

const N_PARTS = 10;

// Values of the columns that matter most, one line each.
function valuesOf(i) {
  return data.caption.columns.map((j) => {
    const line = element("span", "value-line");
    const [label, text] = [data.columns[j][0], valueText(j, i)];
    line.append(element("span", "label", label), element("b", "", text));
    line.title = `${label}: ${text}`;
    return line;
  });
}

function tile(i, reference, onClick) {
  const node = element(onClick ? "button" : "div", "tile");
  if (data.image && table) node.append(pictureOf(i));
  const name = element("span", "name");
  const dot = element("i", "dot");
  dot.style.background = classColour(codes[i]);
  name.append(dot, element("span", "", data.classes[codes[i]]));
  node.append(name, element("span", "row", nameOf(i)), ...valuesOf(i));
  node.title = `${data.names ? `${nameOf(i)}, ` : ""}row ${rows[i]}: ${data.classes[codes[i]]}`;
  if (reference !== null && codes[i] !== codes[reference]) {
    node.classList.add("other");
    node.append(element("span", "mark", "other class"));
  }
  if (onClick) {
    node.type = "button";
    node.addEventListener("click", onClick);
  }
  return node;
}

function showNeighbours() {
  const a = chosen[0];
  byId("row-a").value = String(rows[a]);
  byId("chosen-a").replaceChildren(tile(a, null, null));
  ["near-before", "near-after"].forEach((id, side) => {
    const strip = byId(id);
    strip.replaceChildren();
    for (let k = 0; k < nearCount; k++) {
      const i = neighbours[side][a * nearCount + k];
      strip.append(tile(i, a, () => choose(1, i)));
    }
  });
  const wrong = [0, 1].map((side) => {
    let count = 0;
    for (let k = 0; k < nearCount; k++) if (codes[neighbours[side][a * nearCount + k]] !== codes[a]) count++;
    return count;
  });
  const [before, after] = votes.map((vote) => data.classes[vote[a]]);
  const name = data.classes[codes[a]];
  let text = `${data.names ? `${nameOf(a)} (row ${rows[a]})` : `Row ${rows[a]}`} is of class ${name}. Of its ${nearCount} neighbours, ${wrong[0]} before and ${wrong[1]} after are of another class.`;
  if (changes[a]) text += ` Held-out vote before: ${before}. Held-out vote after: ${after} (${CHANGES[changes[a]]}).`;
  byId("votes").textContent = text;
}

// Parts of the squared distance of A and B, before and after; names, and what they add up to.
function parts(by) {
  const [a, b] = chosen;
  if (!matrix) {
    const [p, q] = [learned.row(a), learned.row(b)];
    return { names: Array.from(p, (_, j) => `component ${j + 1}`), after: Array.from(p, (x, j) => (x - q[j]) ** 2), before: null };
  }
  const [p, q] = [table.row(a), table.row(b)];
  const difference = Array.from(p, (x, j) => x - q[j]);
  const mapped = [];
  const back = new Float64Array(difference.length);
  for (let k = 0; k < matrix.length; k++) {
    const line = matrix.row(k);
    let sum = 0;
    for (let j = 0; j < line.length; j++) sum += line[j] * difference[j];
    for (let j = 0; j < line.length; j++) back[j] += line[j] * sum;
    mapped.push(sum * sum);
  }
  if (by === "components") return { names: mapped.map((_, k) => `component ${k + 1}`), after: mapped, before: null };
  return {
    names: data.features,
    after: difference.map((x, j) => x * back[j]),
    before: difference.map((x, j) => (x / data.unit[j]) ** 2),
  };
}

function sharesOf(values) {
  const total = values.reduce((sum, x) => sum + x, 0);
  return total > 0 ? values.map((x) => x / total) : values.map(() => 0);
}

// Parts of several features of one column together.
function byColumn(values) {
  return data.columns.map(([, places]) => places.reduce((sum, place) => sum + values[place], 0));
}

function bar(name, before, after, unit, values) {
  const row = element("tr");
  const head = element("th", "", name);
  head.scope = "row";
  if (values) head.append(element("span", "pair-values", `A ${values[0]}, B ${values[1]}`));
  const cell = element("td", "bar");
  const box = element("div");
  const fill = element("span", after < 0 ? "fill after negative" : "fill after");
  fill.style.width = `${unit * Math.abs(after)}%`;
  box.append(fill);
  if (before !== null) {
    const first = element("span", "fill before");
    first.style.width = `${unit * before}%`;
    box.append(first);
  }
  cell.append(box);
  row.append(head, cell, element("td", "number", `${(100 * after).toFixed(1)} %`));
  return row;
}

function showWhy() {
  const [a, b] = chosen;
  byId("row-b").value = String(rows[b]);
  const pair = [tile(a, null, null), tile(b, a, null)];
  pair.forEach((node, which) => node.prepend(element("span", "letter", `sample ${"AB"[which]}`)));
  byId("pair").replaceChildren(...pair);
  byId("split").closest("label").hidden = !matrix;
  const by = matrix ? byId("split").value : "components";
  const split = parts(by);
  const isTable = by === "features" && !data.image;
  if (by === "features") {
    split.names = data.columns.map(([label]) => label);
    split.after = byColumn(split.after);
    split.before = byColumn(split.before);
  }
  const after = sharesOf(split.after);
  const before = split.before ? sharesOf(split.before) : null;
  const order = after.map((_, j) => j).sort((i, j) => Math.abs(after[j]) - Math.abs(after[i]) || i - j);
  const first = order.slice(0, N_PARTS);
  const largest = Math.max(...first.map((j) => Math.max(Math.abs(after[j]), before ? before[j] : 0)), 1e-12);
  const body = byId("parts").tBodies[0];
  body.replaceChildren(...first.map((j) => {
    const values = isTable ? [valueText(j, a), valueText(j, b)] : null;
    return bar(split.names[j], before && before[j], after[j], 100 / largest, values);
  }));
  byId("parts-name").textContent = by === "components" ? "component" : "feature";
  byId("key-before").hidden = !before;
  const rest = order.slice(N_PARTS).reduce((sum, j) => sum + after[j], 0);
  const total = split.after.reduce((sum, x) => sum + x, 0);
  const others = order.length > N_PARTS ? ` ${order.length - N_PARTS} others have ${(100 * rest).toFixed(1)} % together.` : "";
  const signs = first.some((j) => after[j] < 0) ? " Striped bars are negative: such a part brings the two samples nearer." : "";
  const limit = matrix ? "" : ` Only the leading ${learned.width} components are counted.`;
  byId("parts-note").textContent = `Squared learned distance ${total.toPrecision(4)}.${others}${signs}${limit}`;
}

function nextOf(change) {
  for (let step = 1; step <= data.n; step++) {
    const i = (chosen[0] + step) % data.n;
    if (changes[i] === change) return choose(0, i);
  }
  byId("votes").textContent = `No sample of this page is ${CHANGES[change]}.`;
}

function listenToRow(id, which) {
  byId(id).addEventListener("change", (event) => {
    if (event.target.value === "") return;
    const found = placeOfRow.get(Number(event.target.value));
    if (found !== undefined) return choose(which, found);
    byId("votes").textContent = `Row ${event.target.value} is not shown on this page.`;
  });
}

function addPictures() {
  if (!data.image || !table) return;
  for (const button of document.querySelectorAll("button[data-place]")) button.prepend(pictureOf(Number(button.dataset.place)));
  const box = byId("feature-pictures");
  if (!box || !data.importance) return;
  const highest = Math.max(...data.importance.flat());
  ["before", "after"].forEach((name, side) => {
    const node = element("div", "tile");
    const canvas = element("canvas");
    drawPicture(canvas, data.importance[side], 0, highest);
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `shares of the pixels ${name}`);
    node.append(canvas, element("span", "row", `shares of the pixels ${name}`));
    box.append(node);
  });
}

for (const button of document.querySelectorAll("button[data-place]")) {
  button.addEventListener("click", () => {
    choose(0, Number(button.dataset.place));
    byId("neighbours").scrollIntoView();
  });
}
listenToRow("row-a", 0);
listenToRow("row-b", 1);
byId("split").addEventListener("change", showWhy);
byId("next-fixed").addEventListener("click", () => nextOf(2));
byId("next-broken").addEventListener("click", () => nextOf(3));
byId("next-wrong").addEventListener("click", () => nextOf(4));
chooseListeners.push(showNeighbours, showWhy);
addPictures();
showNeighbours();
showWhy();
onTheme(() => {
  showNeighbours();
  showWhy();
});
