// Packed arrays: whole numbers in base64, with an offset and a step for each column.

function unpack(packed) {
  const text = atob(packed.data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const kinds = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };
  return new kinds[packed.type](bytes.buffer);
}

function unpackTable(packed) {
  const raw = unpack(packed);
  const [, width] = packed.shape;
  return {
    length: packed.shape[0],
    width: width,
    row(i) {
      const values = new Float64Array(width);
      for (let j = 0; j < width; j++) values[j] = packed.low[j] + packed.step[j] * raw[i * width + j];
      return values;
    },
  };
}

const data = readData();
const rows = unpack(data.rows);
const codes = unpack(data.y);
const changes = unpack(data.change);
const votes = data.votes.map(unpack);
const planes = data.planes.map((plane) => {
  const table = unpackTable(plane);
  const xy = [new Float64Array(data.n), new Float64Array(data.n)];
  for (let i = 0; i < data.n; i++) [xy[0][i], xy[1][i]] = table.row(i);
  return xy;
});
const neighbours = data.neighbors.map(unpack);
const nearCount = data.neighbors[0].shape[1];
const table = data.table ? unpackTable(data.table) : null;
const matrix = data.matrix ? unpackTable(data.matrix) : null;
const learned = data.learned ? unpackTable(data.learned) : null;
const placeOfRow = new Map(Array.from(rows, (row, place) => [row, place]));

// What a sample is called: its name if it has one.
function nameOf(i) {
  return data.names ? data.names[i] : `row ${rows[i]}`;
}

// Value of a column of the table, as a text: exact where the page has it, else of the packed table.
function valueText(j, i) {
  const known = data.caption.columns.indexOf(j);
  if (known >= 0) return data.caption.texts[known][i];
  if (!table) return "";
  const [, places, categories] = data.columns[j];
  const values = table.row(i);
  if (categories) return categories[places.findIndex((place) => values[place] > 0.5)] ?? "–";
  const [value, step] = [values[places[0]], data.table.step[places[0]]];
  if (step === 1) return String(Math.round(value));
  const digits = Math.floor(-Math.log10(step));
  if (digits < 0) return String(Math.round(value / 10 ** -digits) * 10 ** -digits);
  return String(Number(Number(value.toFixed(Math.min(digits, 20))).toPrecision(4)));
}

function isDark() {
  return window.matchMedia("(prefers-color-scheme: dark)").matches && !isPrinting;
}

// Colours that are too dark for a dark page.
const LIGHTER = { "#000000": "#f2f2f2", "#0072B2": "#4aa3df", "#009E73": "#2cc295", "#8C564B": "#bd8578", "#7F7F7F": "#a6a6a6" };

function classColour(code) {
  const n = data.classes.length;
  if (n > data.colours.length) return `hsl(${Math.round((360 * code) / n)} 65% ${isDark() ? 62 : 45}%)`;
  return (isDark() && LIGHTER[data.colours[code]]) || data.colours[code];
}

// Draw a row of numbers as a picture; low and high are black and white.
function drawPicture(canvas, values, low, high) {
  const [height, width, depth] = [data.image[0], data.image[1], data.image[2] || 1];
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  for (let i = 0; i < height * width; i++) {
    for (let c = 0; c < 3; c++) {
      const value = values[i * depth + (depth === 3 ? c : 0)];
      image.data[4 * i + c] = Math.round((255 * (value - low)) / (high - low || 1));
    }
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}

function pictureOf(place) {
  const canvas = element("canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `picture of row ${rows[place]}`);
  drawPicture(canvas, table.row(place), data.range[0], data.range[1]);
  return canvas;
}
