// Chapter 3: the likelihood-ratio attack on one image, in both arms, and its place on the ROC curve.
live.mount("one_sample", "The attack on one image of your choice", (panel, data) => {
  const { html, short } = live;
  // The page's own code: sympy wrote the density.
  const logDensity = new Function("phi", "mu", "sigma", `return ${data.density}`);
  const ratio = (arm, phi) =>
    logDensity(phi, arm.in.mu, arm.in.sigma) - logDensity(phi, arm.out.mu, arm.out.sigma);
  const state = {
    sample: 0,
    attacked: "trained",
    rate: data.rates.findIndex((rate) => rate >= 0.05),
  };
  const color = ["arm-bn", "arm-plain"];

  const groups = [...new Set(data.samples.map((sample) => sample.group))].map((group) => {
    const buttons = data.samples.flatMap((sample, key) =>
      sample.group === group
        ? [{ key, face: live.tile(key, data.samples.length), name: sample.title }]
        : [],
    );
    const images = live.choice(group, buttons, (key) => set({ sample: key }));
    return {
      press: images.press,
      box: html("div", {}, html("p", { class: "live-note" }, group), images.box),
    };
  });
  const networks = live.choice(
    "Which network is attacked",
    [
      { key: "trained", face: "trained on it" },
      { key: "other", face: "never saw it" },
    ],
    (key) => set({ attacked: key }),
  );
  const rates = live.slider(
    {
      label: "False-positive rate allowed",
      min: 0,
      max: data.rates.length - 1,
      step: 1,
      text: (k) => `${short(100 * data.rates[k])} %`,
    },
    (rate) => set({ rate }),
  );
  const arms = data.arms.map((arm, k) => ({
    head: html("p", { class: "live-head" }, html("span", { class: `arm ${color[k]}` }, arm.name)),
    chart: html("div", { class: "live-chart" }),
    says: html("p", { role: "status", class: "live-says" }),
  }));
  const curves = html("div", { class: "live-chart" });
  const summary = html("p", { role: "status", class: "live-summary" });
  panel.append(
    html("div", { class: "live-images" }, ...groups.map((group) => group.box)),
    html(
      "div",
      { class: "live-controls" },
      html(
        "div",
        { class: "live-slider" },
        html("span", {}, "Attack the network that"),
        networks.box,
      ),
      rates.box,
    ),
    summary,
    html(
      "div",
      { class: "live-thirds" },
      ...arms.map((arm) => html("div", {}, arm.head, arm.chart, arm.says)),
      html("div", {}, html("p", { class: "live-head" }, "ROC of this network"), curves),
    ),
  );

  // What is known of the chosen image in arm k, and of that arm, for the attacked network.
  const chosen = () => data.samples[state.sample];
  const network = () =>
    state.attacked === "trained" ? chosen().trained_on : 1 - chosen().trained_on;
  const threshold = (k) => data.arms[k].threshold[network()][state.rate];
  const reaches = (k, score) => threshold(k) !== null && score >= threshold(k);

  function tell() {
    summary.textContent = `Image: ${chosen().title} (${chosen().group}).`;
    arms.forEach((arm, k) => {
      const score = chosen().arms[k].score[network()];
      const bar = threshold(k) === null ? "none" : short(threshold(k));
      const called = reaches(k, score);
      const right = called === (state.attacked === "trained") ? "rightly" : "wrongly";
      arm.says.textContent =
        `Score ${short(score)}, threshold ${bar}: ` +
        `called a ${called ? "member" : "non-member"}, ${right}.`;
    });
  }

  function margins(k, span, highest) {
    const arm = chosen().arms[k];
    const plot = live.chart({
      label: `${data.arms[k].name}: shadow margins of this image and the attacked network's`,
      width: arms[k].chart.clientWidth,
      height: 220,
      x: { ...span, label: "margin" },
      y: { from: -0.3 * highest, to: 1.05 * highest, label: "density" },
    });
    const at = (i) => span.from + ((span.to - span.from) * i) / 400;
    const grid = Array.from({ length: 401 }, (_, i) => at(i));
    const called = grid.map((phi) => reaches(k, ratio(arm, phi)));
    const starts = grid.filter((_, i) => called[i] && !called[i - 1]);
    const ends = grid.filter((_, i) => called[i] && !called[i + 1]);
    starts.forEach((start, i) => plot.band(start, ends[i]));
    plot.line("rule", [span.from, 0], [span.to, 0]);
    const looks = { in: ["dot", "", -0.1], out: ["ring", " dashed", -0.2] };
    for (const [side, [mark, dashes, row]] of Object.entries(looks)) {
      const { mu, sigma } = arm[side];
      const curve = grid.map((phi) => [phi, Math.exp(logDensity(phi, mu, sigma))]);
      plot.line(`${color[k]} curve${dashes}`, ...curve);
      for (const phi of arm[side].margins) {
        plot.circle(`${color[k]} ${mark}`, phi, row * highest, 4);
      }
    }
    plot.upright(arm.phi[network()]);
    arms[k].chart.replaceChildren(plot.root);
  }

  function roc() {
    const [lowest] = data.rates;
    const inside = (value) => Math.max(value, lowest); // zero has no place on a log axis
    const axis = { from: lowest / 1.8, to: 1.6, log: true }; // room for marks at the ends
    const plot = live.chart({
      label: "ROC curves of the attacked network in both arms, on logarithmic axes",
      width: curves.clientWidth,
      height: 220,
      x: { ...axis, label: "false-positive rate" },
      y: { ...axis, label: "true-positive rate" },
    });
    plot.line("rule dotted", [axis.from, axis.from], [1, 1]);
    data.arms.forEach((arm, k) => {
      const tpr = arm.tpr[network()];
      const curve = data.rates.map((rate, i) => [rate, inside(tpr[i])]);
      plot.line(`${color[k]} curve${k ? " dashed" : ""}`, ...curve);
      plot.circle(`${color[k]} dot`, ...curve[state.rate]);
      plot.circle(`${color[k]} ring`, ...chosen().arms[k].place[network()].map(inside), 8);
    });
    curves.replaceChildren(plot.root);
  }

  function render() {
    tell();
    const both = chosen().arms;
    const all = both.flatMap((arm) => [...arm.in.margins, ...arm.out.margins, ...arm.phi]);
    const [least, most] = [Math.min(...all), Math.max(...all)];
    const room = 0.12 * (most - least);
    const narrowest = Math.min(...both.flatMap((arm) => [arm.in.sigma, arm.out.sigma]));
    const highest = Math.exp(logDensity(0, 0, narrowest));
    // The same axes for both arms.
    arms.forEach((_, k) => margins(k, { from: least - room, to: most + room }, highest));
    roc();
  }

  function set(changes) {
    Object.assign(state, changes);
    groups.forEach((group) => group.press(state.sample));
    networks.press(state.attacked);
    rates.set(state.rate);
    render();
  }
  set({});
  return render;
});
