// Shows what a term means beside it: under a mouse, at keyboard focus, or after a tap.
// Without this script a term is a link to the glossary.
"use strict";

const LINGER = 300; // ms in which a mouse can go from a term to its definition
const GAP = 4; // px between the two
const EDGE = 8; // px to the window's edges
let shown = null;
let leaving;

function hide() {
  clearTimeout(leaving);
  shown?.tip.hidePopover();
  shown = null;
}

function show(link, tip) {
  clearTimeout(leaving);
  if (shown?.link === link) return;
  hide();
  tip.showPopover();
  shown = { link, tip };
  // Below the term with all its lines, or above where there is no room.
  const { left, top, bottom } = link.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  const fits = bottom + GAP + tip.offsetHeight <= clientHeight;
  const down = fits ? bottom + GAP : Math.max(EDGE, top - GAP - tip.offsetHeight);
  const across = Math.max(EDGE, Math.min(left, clientWidth - tip.offsetWidth - EDGE));
  tip.style.top = `${scrollY + down}px`;
  tip.style.left = `${scrollX + across}px`;
}

function leave({ pointerType }) {
  if (pointerType === "touch" || shown?.link.matches(":focus-visible")) return;
  clearTimeout(leaving);
  leaving = setTimeout(hide, LINGER);
}

for (const mark of document.querySelectorAll("a > .std-term")) {
  const link = mark.parentElement;
  const tip = document.getElementById(`${decodeURIComponent(link.hash.slice(1))}-means`);
  if (!tip?.showPopover) continue;
  let touched = false;
  link.setAttribute("aria-describedby", tip.id);
  link.addEventListener("pointerdown", (event) => (touched = event.pointerType === "touch"));
  link.addEventListener("pointerenter", (event) => {
    if (event.pointerType !== "touch") show(link, tip);
  });
  link.addEventListener("pointerleave", leave);
  tip.addEventListener("pointerenter", () => clearTimeout(leaving));
  tip.addEventListener("pointerleave", leave);
  link.addEventListener("focus", () => {
    if (link.matches(":focus-visible")) show(link, tip);
  });
  link.addEventListener("blur", hide);
  link.addEventListener("click", (event) => {
    // The first tap shows the definition; the second follows the link.
    if (!touched || shown?.link === link) return;
    event.preventDefault();
    show(link, tip);
  });
}

document.addEventListener("keydown", ({ key }) => {
  if (key === "Escape") hide();
});
document.addEventListener("pointerdown", ({ target }) => {
  if (shown && !shown.link.contains(target) && !shown.tip.contains(target)) hide();
});
