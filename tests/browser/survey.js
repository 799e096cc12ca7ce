// What one rendered page shows, as plain data. Runs in the page after MathJax has finished.
async () => {
  await window.MathJax?.startup?.promise;
  const article = document.querySelector("article");
  const shown = (element) => element.getClientRects().length > 0;

  const prose = article.cloneNode(true);
  prose.querySelectorAll("pre, code, mjx-container, script, style").forEach((e) => e.remove());

  const figures = [...article.querySelectorAll("img")].map((img) => ({
    source: img.getAttribute("src"),
    width: img.naturalWidth,
    alt: img.getAttribute("alt") ?? "",
    caption: img.closest("figure")?.querySelector("figcaption")?.innerText.trim() ?? "",
  }));

  // The color that stands behind an element: the nearest ancestor that has one.
  const backdrop = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const color = getComputedStyle(e).backgroundColor;
      if (!/, 0\)$/.test(color) && color !== "transparent") return color;
    }
    return "rgb(255, 255, 255)";
  };
  const hasOwnText = (e) =>
    [...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.textContent.trim());
  const texts = [...document.querySelectorAll("main *, #pst-primary-sidebar *")]
    .filter((e) => !e.closest("svg, mjx-container, script, style"))
    .filter((e) => shown(e) && hasOwnText(e) && getComputedStyle(e).visibility === "visible")
    .filter((e) => !e.classList.contains("headerlink"))
    .map((e) => ({
      text: e.textContent.trim().slice(0, 40),
      color: getComputedStyle(e).color,
      behind: backdrop(e),
    }));

  // Elements that stick out of the window, other than inside a box that scrolls or clips.
  const clipped = (element) => {
    for (let e = element.parentElement; e && e !== document.body; e = e.parentElement) {
      if (getComputedStyle(e).overflowX !== "visible") return true;
    }
    return false;
  };
  const sticking = [...article.querySelectorAll("*")]
    .filter((e) => shown(e) && e.getBoundingClientRect().right > innerWidth + 1 && !clipped(e))
    .map((e) => `${e.tagName.toLowerCase()}.${e.className}`);

  return {
    language: document.documentElement.lang,
    theme: document.documentElement.dataset.theme,
    headings: [...document.querySelectorAll("h1")].filter(shown).map((e) => e.innerText.trim()),
    formulas: article.querySelectorAll(".math").length,
    typeset: article.querySelectorAll(".math mjx-container").length,
    // MathJax shows an error in a box of its own, and a macro that it does not know in red.
    broken: [...article.querySelectorAll("[data-mjx-error], mjx-container [fill=red]")].map(
      (e) => e.closest(".math").id || e.closest("p, td, div").textContent.trim().slice(0, 60),
    ),
    prose: prose.textContent,
    figures,
    texts,
    background: backdrop(article),
    width: document.documentElement.scrollWidth,
    sticking,
  };
};
