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

// Call a function when the page turns light or dark, and before and after it is printed.
function onTheme(change) {
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", change);
  window.matchMedia("print").addEventListener("change", change);
}
