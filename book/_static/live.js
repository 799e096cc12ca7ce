// What the pictures that answer to touch share: their place on the page, sliders, and a plain chart.
window.live = (() => {
  const maker =
    (make) =>
    (tag, attributes = {}, ...children) => {
      const element = make(tag);
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
      element.append(...children);
      return element;
    };
  const html = maker((tag) => document.createElement(tag));
  const svg = maker((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));

  // Put each picture of a kind in the place of its still figure, which stays for print. `draw` fills
  // the panel and returns a function that draws anew what depends on the state or the width.
  function mount(kind, label, draw) {
    for (const source of document.querySelectorAll(`[data-live=${kind}]`)) {
      const figure = document.getElementById(source.dataset.figure);
      const panel = html("div", { class: `live live-${kind}`, role: "group", "aria-label": label });
      figure.prepend(panel);
      figure.classList.add("is-live");
      const data = JSON.parse(source.textContent);
      if (data.sprite) panel.style.setProperty("--sprite", `url(${data.sprite})`);
      const render = draw(panel, data);
      render();
      window.addEventListener("resize", render);
    }
  }

  // Three significant digits, without zeros at the end.
  const short = (value) => String(Number(value.toPrecision(3))).replace("-", "\u2212");

  // A slider with its name and its value as `text` tells it.
  function slider({ label, min, max, step, text }, change) {
    const input = html("input", { type: "range", min, max, step });
    const shown = html("span", { class: "live-value", "aria-hidden": "true" });
    const tell = (value) => {
      shown.textContent = text(value);
      input.setAttribute("aria-valuetext", shown.textContent);
    };
    input.addEventListener("input", () => {
      tell(input.valueAsNumber);
      change(input.valueAsNumber);
    });
    const set = (value) => {
      input.value = value;
      tell(value);
    };
    return {
      box: html("label", { class: "live-slider" }, html("span", {}, label), input, shown),
      set,
    };
  }

  // Buttons of which one is pressed; `buttons` is [{ key, face, name }].
  function choice(label, buttons, change) {
    const made = new Map(
      buttons.map(({ key, face, name }) => {
        const button = html("button", { type: "button" }, face);
        if (name) button.setAttribute("aria-label", name);
        button.addEventListener("click", () => change(key));
        return [key, button];
      }),
    );
    const press = (chosen) =>
      made.forEach((button, key) => button.setAttribute("aria-pressed", String(key === chosen)));
    return {
      box: html(
        "div",
        { class: "live-choice", role: "group", "aria-label": label },
        ...made.values(),
      ),
      press,
    };
  }

  // Image `index` of the `count` that stand side by side in the panel's one picture.
  function tile(index, count) {
    const place = count > 1 ? (100 * index) / (count - 1) : 0;
    return html("span", {
      class: "live-tile",
      style: `background-size: ${100 * count}% 100%; background-position: ${place}% 0`,
    });
  }

  function ticks({ from, to, log }) {
    if (log) {
      const [first, last] = [Math.ceil(Math.log10(from) - 1e-9), Math.floor(Math.log10(to) + 1e-9)];
      return Array.from({ length: last - first + 1 }, (_, k) => Number(`1e${first + k}`));
    }
    const rough = (to - from) / 4;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
    const first = Math.ceil(from / step - 1e-9);
    const count = Math.floor(to / step + 1e-9) - first + 1;
    return Array.from({ length: count }, (_, k) => Number(((first + k) * step).toPrecision(6)));
  }

  let charts = 0;

  // An empty chart: axes are { from, to, log, label }, in pixels so that text keeps its size.
  function chart({ label, width, height, x, y }) {
    const widest = Math.max(...ticks(y).map((t) => short(t).length));
    const [left, right, top, bottom] = [26 + 7 * widest, width - 10, 8, height - 38];
    const along = (axis, start, end) => {
      const of = axis.log ? Math.log10 : (value) => value;
      const [low, high] = [of(axis.from), of(axis.to)];
      const inside = (value) => Math.max(low - 1, Math.min(high + 1, value)); // also for log of 0
      return (value) => start + ((end - start) * (inside(of(value)) - low)) / (high - low);
    };
    const [px, py] = [along(x, left, right), along(y, bottom, top)];
    const clip = `live-clip-${(charts += 1)}`;
    const box = { x: left, y: top, width: right - left, height: bottom - top };
    const marks = [
      ...ticks(x).map((t) =>
        svg("text", { x: px(t), y: bottom + 16, "text-anchor": "middle" }, short(t)),
      ),
      ...ticks(y).map((t) =>
        svg("text", { x: left - 6, y: py(t) + 4, "text-anchor": "end" }, short(t)),
      ),
      ...ticks(y).map((t) =>
        svg("line", { class: "grid", x1: left, x2: right, y1: py(t), y2: py(t) }),
      ),
      svg("text", { x: (left + right) / 2, y: height - 4, "text-anchor": "middle" }, x.label),
      svg(
        "text",
        { transform: `translate(11 ${(top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle" },
        y.label,
      ),
    ];
    const plot = svg("g", { "clip-path": `url(#${clip})` });
    const root = svg(
      "svg",
      { role: "img", "aria-label": label, viewBox: `0 0 ${width} ${height}`, width, height },
      svg("clipPath", { id: clip }, svg("rect", box)),
      ...marks,
      plot,
    );
    const add = (tag, attributes, ...children) => plot.append(svg(tag, attributes, ...children));
    const shift = ([a, b]) => `${px(a).toFixed(1)},${py(b).toFixed(1)}`;
    const line = (look, ...points) =>
      add("polyline", { class: look, points: points.map(shift).join(" ") });
    const circle = (look, a, b, r = 5) => add("circle", { class: look, cx: px(a), cy: py(b), r });
    // Everything from one place to another on the x axis, and one upright line.
    const band = (a, b) =>
      add("rect", { ...box, class: "beyond", x: px(a), width: Math.max(0, px(b) - px(a)) });
    const upright = (a) =>
      add("line", { class: "target", x1: px(a), x2: px(a), y1: top, y2: bottom });
    return { root, line, circle, band, upright };
  }

  return { mount, html, svg, short, slider, choice, tile, chart };
})();
