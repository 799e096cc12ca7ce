// Chapter 4: move gamma, sigma, z and m; see the growth with fixed and with moving statistics.
live.mount("explorer", "Growth of one sample's margin, to be moved", (panel, data) => {
  const { html, short } = live;
  const LEVELS = [1.25, 2.5, 5, 10, 25, 50, 100, 250];
  // The page's own code: sympy wrote these expressions from the lines that were proved.
  const compiled = Object.entries(data.formulas).map(([name, code]) => [
    name,
    new Function(...data.names, `return ${code}`),
  ]);
  const formulas = Object.fromEntries(compiled);
  const state = { ...data.start };
  const growth = (name, z = state.z) => formulas[name](state.gamma, state.sigma, z, state.m);

  const signs = { gamma: "\u03b3", sigma: "\u03c3", z: "|z|", m: "m" };
  const sliders = {};
  for (const [name, [min, max, step]] of Object.entries(data.ranges)) {
    sliders[name] = live.slider({ label: signs[name], min, max, step, text: short }, (value) => {
      state[name] = value;
      render();
    });
  }
  const [low, high] = data.powers;
  sliders.m = live.slider(
    { label: signs.m, min: low, max: high, step: 1, text: (power) => String(2 ** power) },
    (power) => {
      state.m = 2 ** power;
      render();
    },
  );

  const show = () => {
    for (const name of Object.keys(data.ranges)) sliders[name].set(state[name]);
    sliders.m.set(Math.log2(state.m));
    render();
  };
  const buttons = data.presets.map((preset, key) => ({ key, face: preset.title }));
  const presets = live.choice(
    "Samples of the trained network, at their medians",
    buttons,
    (key) => {
      for (const name of data.names) state[name] = data.presets[key][name];
      show();
    },
  );

  const picture = html("div", { class: "live-chart" });
  const summary = html("p", { role: "status", class: "live-summary" });
  const [back, moving] = [html("li"), html("li")];
  const legend = html(
    "p",
    { class: "live-legend" },
    html("span", { class: "arm-bn live-solid" }, "BN, moving statistics"),
    html("span", { class: "arm-bn live-dashed" }, "BN, fixed statistics"),
    html("span", { class: "arm-plain live-solid" }, "plain"),
  );
  const controls = html(
    "div",
    { class: "live-controls" },
    ...data.names.map((name) => sliders[name].box),
  );
  const typical = html("p", { class: "live-note" }, "A typical sample of the trained network:");
  panel.append(
    html(
      "div",
      { class: "live-halves" },
      html("div", {}, picture, legend),
      html("div", {}, controls, summary, html("ol", {}, back, moving)),
    ),
    ...(buttons.length ? [typical, presets.box] : []),
  );

  const chosen = () =>
    data.presets.findIndex((preset) => data.names.every((name) => preset[name] === state[name]));

  function tell() {
    const [fixed, left, exact, bound] = ["fixed", "left", "exact", "bound"].map((name) =>
      growth(name),
    );
    const ratio = short(state.gamma / state.sigma);
    const beyond = state.z > bound;
    summary.replaceChildren(
      "Growth, the plain step being 1: ",
      html("b", { "data-growth": "fixed" }, short(fixed)),
      " with fixed statistics, ",
      html("b", { "data-growth": "exact" }, beyond ? "no such sample" : short(exact)),
      " with moving ones.",
    );
    back.textContent =
      `Back, the gradient reaches the weights ${ratio} times as strong; forth, the margin ` +
      `answers ${ratio} times as strongly: ${ratio}\u00b2 = ${short(fixed)}.`;
    moving.textContent = beyond
      ? `Among ${state.m} terms no sample is further out than |z| = ${short(bound)}.`
      : `Moving mean and variance take (1 + z\u00b2)/m = ${short(1 - left)} of that: ` +
        `${short(left)} \u00d7 ${short(fixed)} = ${short(exact)}.`;
    const preset = data.presets[chosen()];
    if (preset) {
      moving.textContent +=
        " Measured there, on inputs with a mean of their own: " +
        `${short(preset.kept[0])} is left where the mean alone moves, ` +
        `${short(preset.kept[1])} where both do.`;
    }
    presets.press(chosen());
  }

  function draw() {
    // Only some ends, so that the axis stands still while a slider moves a little.
    const highest = 1.1 * Math.max(growth("fixed"), 1);
    const to = LEVELS.find((level) => level > highest) ?? highest;
    const furthest = data.ranges.z[1];
    const bound = growth("bound");
    const plot = live.chart({
      label: "Growth of the margin against the size of z",
      width: picture.clientWidth,
      height: 300,
      x: { from: 0, to: furthest, label: "|z| of the sample" },
      y: { from: 0, to, label: "growth, plain step = 1" },
    });
    const end = Math.min(bound, furthest);
    const grid = Array.from({ length: 201 }, (_, k) => (end * k) / 200);
    const level = (value) => [0, furthest].map((z) => [z, value]);
    plot.band(end, furthest); // no sample is there
    plot.line("arm-plain curve", ...level(1));
    plot.line("arm-bn curve dashed", ...level(growth("fixed")));
    plot.line("arm-bn curve", ...grid.map((z) => [z, growth("exact", z)]));
    plot.circle("arm-bn ring", state.z, growth("fixed"));
    if (state.z <= bound) plot.circle("arm-bn dot", state.z, growth("exact"));
    picture.replaceChildren(plot.root);
  }

  function render() {
    tell();
    draw();
  }
  show();
  return render;
});
