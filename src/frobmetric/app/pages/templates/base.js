"use strict";
// Common parts of all pages. Text that users gave is set by textContent, never as HTML.

function readData() {
  return JSON.parse(document.getElementById("data").textContent);
}

function byId(id) {
  return document.getElementById(id);
}

function element(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function colourOf(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

const paper = window.matchMedia("print");
let isPrinting = paper.matches;
const themeListeners = [];

// Call a function when the page turns light or dark, and before and after it is printed.
function onTheme(change) {
  themeListeners.push(change);
}

function changeTheme(printing) {
  isPrinting = printing;
  themeListeners.forEach((change) => change());
}

window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => changeTheme(paper.matches));
paper.addEventListener("change", () => changeTheme(paper.matches));
window.addEventListener("beforeprint", () => changeTheme(true));
window.addEventListener("afterprint", () => changeTheme(false));

// Size of a plot as part of its layout: on paper fixed, because a browser lays a page out for paper
// after its scripts have drawn; on the screen that of its box.
function plotSize(plot) {
  if (!isPrinting) return { autosize: true };
  const style = getComputedStyle(plot);
  return { width: parseFloat(style.getPropertyValue("--paper-width")), height: parseFloat(style.getPropertyValue("--paper-height")) };
}
