// Chapter 1: training played back, corrupted images fitted one by one. Nothing moves until asked to.
live.mount("playback", "Training played back: choose an epoch, or play", (panel, data) => {
  const { html } = live;
  const WHOLE = 8000; // milliseconds from the first to the last epoch, unless that is too fast to see
  const color = ["arm-bn", "arm-plain"];
  const state = { epoch: data.epochs, timer: null };

  const arms = data.arms.map((arm, k) => {
    const tiles = data.titles.map((title, index) => {
      const tile = live.tile(index, data.titles.length);
      tile.title = title;
      return tile;
    });
    const grid = html("div", { class: `live-tiles ${color[k]}`, role: "img" }, ...tiles);
    const count = html("span");
    return {
      tiles,
      grid,
      count,
      box: html(
        "div",
        {},
        html(
          "p",
          { class: "live-head" },
          html("span", { class: `arm ${color[k]}` }, arm.name),
          count,
        ),
        grid,
      ),
    };
  });
  const button = (face, click, name) => {
    const made = html("button", { type: "button", ...(name ? { "aria-label": name } : {}) }, face);
    made.addEventListener("click", click);
    return made;
  };
  const back = button("\u2039", () => step(-1), "One epoch back");
  const play = button("Play", () => (state.timer ? pause() : start()));
  const on = button("\u203a", () => step(1), "One epoch on");
  const epochs = live.slider(
    {
      label: "Epoch",
      min: 0,
      max: data.epochs,
      step: 1,
      text: (epoch) => `${epoch} of ${data.epochs}`,
    },
    (epoch) => {
      pause();
      go(epoch);
    },
  );
  const curves = html("div", { class: "live-chart live-below" });
  const summary = html("p", { role: "status", class: "live-summary" });
  panel.append(
    html(
      "div",
      { class: "live-controls live-player" },
      html("div", { class: "live-choice" }, back, play, on),
      epochs.box,
    ),
    summary,
    html("div", { class: "live-halves" }, ...arms.map((arm) => arm.box)),
    curves,
  );

  function pause() {
    clearInterval(state.timer);
    state.timer = null;
    play.textContent = "Play";
    summary.setAttribute("aria-live", "polite");
  }

  function start() {
    if (state.epoch === data.epochs) go(0);
    summary.setAttribute("aria-live", "off"); // or every epoch would be read out
    play.textContent = "Pause";
    state.timer = setInterval(
      () => {
        if (state.epoch + 1 >= data.epochs) pause();
        go(Math.min(state.epoch + 1, data.epochs));
      },
      Math.max(100, WHOLE / data.epochs),
    );
  }

  function step(by) {
    pause();
    go(Math.max(0, Math.min(data.epochs, state.epoch + by)));
  }

  function go(epoch) {
    state.epoch = epoch;
    epochs.set(epoch);
    render();
  }

  function draw() {
    const plot = live.chart({
      label: "Share of all corrupted samples that each arm has fitted, against epochs",
      width: curves.clientWidth,
      height: 160,
      x: { from: -0.02 * data.epochs, to: 1.02 * data.epochs, label: "epoch" },
      y: { from: -0.05, to: 1.05, label: "share fitted" },
    });
    plot.upright(state.epoch);
    data.arms.forEach((arm, k) => {
      const share = arm.count.map((count, epoch) => [epoch, count / data.samples]);
      plot.line(`${color[k]} curve${k ? " dashed" : ""}`, ...share);
      plot.circle(`${color[k]} dot`, ...share[state.epoch]);
    });
    curves.replaceChildren(plot.root);
  }

  function render() {
    data.arms.forEach((arm, k) => {
      const fitted = arm.fitted[state.epoch];
      arms[k].tiles.forEach((tile, index) =>
        tile.classList.toggle("fitted", fitted[index] === "1"),
      );
      arms[k].count.textContent = ` ${arm.count[state.epoch]} of ${data.samples}`;
      const shown = [...fitted].filter((bit) => bit === "1").length;
      arms[k].grid.setAttribute(
        "aria-label",
        `${arm.name}: ${shown} of the ${fitted.length} images shown are fitted`,
      );
    });
    const counts = data.arms
      .map((arm) => `${arm.name} has fitted ${arm.count[state.epoch]}`)
      .join(", ");
    summary.textContent = `Epoch ${state.epoch}, of ${data.samples} corrupted samples: ${counts}.`;
    draw();
  }
  go(data.epochs);
  return render;
});
